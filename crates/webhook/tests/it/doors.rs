//! A receiver's doors, as a process of its own: who is kept out by whom, and what is said of it.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;

use agent_box_testkit::within;
use agent_box_webhook::cli::{self, Context};
use agent_box_webhook::ingress::Limits;
use serde_json::json;

use crate::beside::Beside;
use crate::daemon::Daemon;
use crate::ingress::raw_http::Post;
use crate::ingress::rig::connect;
use crate::receiver::Receiver;
use crate::verbs::{Done, Scene, read_json};

/// Seen red with seats that both sockets share: the verb was told 503.
#[test]
fn strangers_at_the_door_keep_no_verb_of_this_machine_out() {
    let mut scene = Scene::new();
    let door = scene.home().join("door.sock");
    scene.set("LOCAL_WEBHOOK_HTTP_SOCK", &door);
    scene.set("LOCAL_WEBHOOK_SPAWN_CMD", "exit 75");
    let command = scene.command(&["serve"]);
    let daemon = Daemon::of(scene, command);
    // Each body is announced and never sent.
    let post = Post::unsigned("x").with("X-Hub-Signature-256", &format!("sha256={:064}", 0));
    let strangers = Limits::default().connections;
    let crowd: Vec<UnixStream> = (0..strangers)
        .map(|_| {
            let mut stream = connect(&door);
            stream.write_all(&post.head()).unwrap();
            stream
        })
        .collect();
    within(5).until("every seat is taken", || post.over(connect(&door)).status == 503);
    daemon.scene.run(&["emit", "github", "{}", "--event", "ping"]).expect(0);
    drop(crowd);
}

/// Seen red with a file that is written at the start alone.
#[test]
fn what_is_said_of_the_wrapper_is_true_when_it_comes_and_goes() {
    let mut scene = Scene::new();
    scene.set("LOCAL_WEBHOOK_PORT", "0");
    let beside = Beside::new(&scene);
    let wrapper = scene.home().join("programs/agent-box-webhook-spawn");
    let command = beside.command(&scene, &["serve"]);
    let daemon = Daemon::of(scene, command);
    let said = daemon.scene.paths().receiver();
    let begun = read_json(&said)["startedAt"].clone();
    for _ in 0..2 {
        within(5).until("it is missed", || read_json(&said)["spawn"] == false);
        beside.answer(&json!({}));
        within(5).until("it is seen", || read_json(&said)["spawn"] == true);
        fs::remove_file(&wrapper).unwrap();
    }
    assert_eq!(read_json(&said)["startedAt"], begun, "the receiver is the same");
}

#[test]
fn a_service_whose_port_is_busy_does_not_start_and_says_what_to_do() {
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let mut scene = Scene::new();
    scene.set("LOCAL_WEBHOOK_PORT", port.to_string());
    let done = scene.run(&["serve"]).expect(1);
    let expected = format!("another program listens on 127.0.0.1:{port}; end it, or set");
    assert!(done.stderr.contains(&expected), "{}", done.stderr);
}

/// Seen red with a door that the log alone tells of.
#[test]
fn a_door_that_somebody_else_has_is_a_concern_while_the_receiver_runs() {
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let mut receiver = Receiver::stopped();
    let context = Context::new(receiver.home().to_owned(), "alice".to_owned(), []);
    let kept_out = |concern: &String| {
        concern.contains("from this machine only")
            && concern.contains(&format!("another program listens on 127.0.0.1:{port}; end it"))
    };
    receiver.set_port(port);
    receiver.start();
    let concerns = cli::concerns(&context);
    assert!(concerns.len() == 1 && kept_out(&concerns[0]), "{concerns:?}");
    receiver.stop().unwrap();
    drop(other);
    receiver.start();
    assert_eq!(cli::concerns(&context), [""; 0]);
}

/// What refuses is the receiver: every mode on the way lets the other user in.
///
/// Seen red with a receiver that does not ask who connects, and with a client that says that the
/// connection broke when it was refused before it had said anything.
#[test]
fn another_user_who_can_reach_the_peers_socket_is_refused() {
    if !rustix::process::getuid().is_root() {
        println!("did not run: only root can start a program as another user");
        return;
    }
    let daemon = Daemon::start();
    let scene = &daemon.scene;
    let beside = Beside::new(scene);
    let peers = scene.paths().peers();
    for path in peers.ancestors().take_while(|it| it.starts_with(scene.home())) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let read = |uid: u32| {
        let mut command = beside.command(scene, &["read", "--session", "main"]);
        Done::of(command.uid(uid).gid(uid).output().unwrap())
    };
    assert_eq!(read(0).expect(0).stdout, "no events wait\n");
    let refused = read(65_534).expect(1).stderr;
    assert!(refused.contains("this receiver serves its own user only"), "{refused}");
}
