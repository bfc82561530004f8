//! Messages that the daemon pushes, and those that are asked for. The daemon's side is played
//! here, line by line, so that each moment at which something may break can be chosen.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use agent_box_testkit::{process, within};
use agent_box_webhook::peers::wire::{FromPeer, Hello, Message, Role, ToPeer};
use serde_json::json;

use crate::mcp::Client;
use crate::verbs::Scene;

/// The daemon's socket.
struct Daemon(UnixListener);

/// A connection to it.
struct Peer {
    hello: Hello,
    lines: BufReader<UnixStream>,
}

impl Daemon {
    fn at(scene: &Scene) -> Self {
        let socket = scene.paths().peers();
        std::fs::create_dir_all(scene.paths().state()).unwrap();
        let _ = std::fs::remove_file(&socket);
        Self(UnixListener::bind(socket).unwrap())
    }

    /// The next peer, not welcomed yet.
    fn accept(&self) -> Peer {
        self.0.set_nonblocking(true).unwrap();
        let stream = within(30).for_some("a peer connects", || self.0.accept().ok()).0;
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut lines = BufReader::new(stream);
        let FromPeer::Hello(hello) = hear(&mut lines) else { panic!("no hello") };
        Peer { hello, lines }
    }

    /// The next peer, welcomed.
    fn welcome(&self) -> Peer {
        let mut peer = self.accept();
        peer.say(&ToPeer::Welcome { version: 1 });
        peer
    }

    fn has_nobody(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        self.0.accept().is_err()
    }
}

fn hear(lines: &mut BufReader<UnixStream>) -> FromPeer {
    let mut line = String::new();
    assert!(lines.read_line(&mut line).unwrap() > 0, "the peer left");
    serde_json::from_str(&line).unwrap()
}

impl Peer {
    fn say(&mut self, what: &ToPeer) {
        self.lines.get_mut().write_all(&what.line()).unwrap();
    }

    fn hear(&mut self) -> FromPeer {
        hear(&mut self.lines)
    }
}

fn message(seq: u64, repeated: bool) -> Message {
    let meta = [("event", "push"), ("bad-name", "x")];
    Message {
        seq,
        delivery: format!("github/{seq}"),
        repeated,
        content: format!("event {seq}\nsecond line\n"),
        meta: meta.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    }
}

fn channel_client(scene: &mut Scene) -> Client {
    scene.set("AGENT_BOX_CHANNEL", "1");
    scene.set("AGENT_BOX_SESSION_UUID", "0193-uuid");
    Client::initialized(scene, &json!({}))
}

#[test]
fn a_pushed_message_reaches_the_client_before_it_is_acknowledged() {
    let mut scene = Scene::in_session();
    let daemon = Daemon::at(&scene);
    let mut client = channel_client(&mut scene);
    let mut peer = daemon.welcome();
    assert_eq!((peer.hello.key.as_str(), peer.hello.role), ("alice-main", Role::Channel));
    assert_eq!(peer.hello.session_id.as_deref(), Some("0193-uuid"));
    assert_eq!((i32::try_from(peer.hello.pid).unwrap(), peer.hello.after), (client.pid(), None));
    peer.say(&ToPeer::Ping(3));
    assert_eq!(peer.hear(), FromPeer::Pong(3));
    peer.say(&ToPeer::Message(message(12, false)));
    let pushed = client.hear();
    assert_eq!(pushed["method"], "notifications/claude/channel");
    assert_eq!(pushed.get("id"), None, "it is a notification");
    assert_eq!(pushed["params"]["content"], "event 12\nsecond line");
    let meta = json!({"event": "push", "delivery": "github/12"});
    assert_eq!(pushed["params"]["meta"], meta, "only names that claude keeps");
    assert_eq!(peer.hear(), FromPeer::Ack(12));
    peer.say(&ToPeer::Message(message(13, true)));
    let pushed = client.hear();
    assert_eq!(pushed["params"]["meta"]["repeated"], "true");
    assert!(pushed["params"]["content"].as_str().unwrap().contains("sent before"));
    assert_eq!(peer.hear(), FromPeer::Ack(13));
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}), "tools work beside it");
    client.end();
}

#[test]
fn a_client_that_is_not_running_acknowledges_nothing() {
    let mut scene = Scene::in_session();
    let daemon = Daemon::at(&scene);
    let mut client = channel_client(&mut scene);
    let mut peer = daemon.welcome();
    process::send(client.pid(), rustix::process::Signal::STOP);
    peer.say(&ToPeer::Message(message(1, false)));
    let stream = peer.lines.get_ref();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut line = String::new();
    assert!(peer.lines.read_line(&mut line).is_err(), "{line}");
    assert_eq!(client.hears_within(Duration::from_millis(10)), None);
    peer.lines.get_ref().set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    process::send(client.pid(), rustix::process::Signal::CONT);
    assert_eq!(client.hear()["params"]["meta"]["delivery"], "github/1");
    assert_eq!(peer.hear(), FromPeer::Ack(1));
}

#[test]
fn a_daemon_that_starts_anew_is_found_and_told_what_was_taken() {
    let mut scene = Scene::in_session();
    let mut client = channel_client(&mut scene);
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}), "without a daemon, too");
    let daemon = Daemon::at(&scene);
    let mut peer = daemon.welcome();
    peer.say(&ToPeer::Message(message(5, false)));
    client.hear();
    assert_eq!(peer.hear(), FromPeer::Ack(5));
    drop((peer, daemon));
    let daemon = Daemon::at(&scene);
    let mut peer = daemon.welcome();
    assert_eq!(peer.hello.after, Some(5));
    peer.say(&ToPeer::Message(message(6, false)));
    assert_eq!(client.hear()["params"]["meta"]["delivery"], "github/6");
    client.end();
}

#[test]
fn nothing_is_pushed_to_a_client_that_does_not_take_it() {
    let scene = Scene::in_session();
    let daemon = Daemon::at(&scene);
    let mut client = Client::initialized(&scene, &json!({"roots": {}}));
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    // It would have connected before it answered the second time.
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    assert!(daemon.has_nobody());
    client.end();
    let mut client = Client::initialized(&scene, &json!({"experimental": {"claude/channel": {}}}));
    let mut peer = daemon.welcome();
    peer.say(&ToPeer::Message(message(1, false)));
    assert_eq!(client.hear()["method"], "notifications/claude/channel", "this one declares it");
}

#[test]
fn a_client_that_was_not_initialized_is_not_pushed_to() {
    let mut scene = Scene::in_session();
    scene.set("AGENT_BOX_CHANNEL", "1");
    let daemon = Daemon::at(&scene);
    let mut client = Client::start(&scene);
    client.ask("initialize", &json!({}));
    client.ask("ping", &json!({}));
    assert!(daemon.has_nobody());
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    daemon.welcome();
}

#[test]
fn what_waits_is_read_and_acknowledged_once_the_client_has_it() {
    let scene = Scene::in_session();
    let daemon = Daemon::at(&scene);
    let mut client = Client::initialized(&scene, &json!({}));
    client.say(
        &json!({"jsonrpc": "2.0", "id": "r", "method": "tools/call",
                "params": {"name": "webhook_read", "arguments": {"max": 2}}})
        .to_string(),
    );
    let mut peer = daemon.welcome();
    assert_eq!(peer.hello.role, Role::Reader);
    assert_eq!(peer.hear(), FromPeer::Read { max: 2 });
    peer.say(&ToPeer::Message(message(1, false)));
    peer.say(&ToPeer::Message(message(2, true)));
    peer.say(&ToPeer::End { waiting: 3, left_out: 1 });
    let answer = client.hear();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    for expected in
        ["event 1\n", "sent before", "event 2\n", "3 more events wait", "1 more event was left out"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(peer.hear(), FromPeer::Ack(2));
    // It asks once more, to be sure that the acknowledgement was taken in.
    assert_eq!(peer.hear(), FromPeer::Read { max: 0 });
    peer.say(&ToPeer::End { waiting: 3, left_out: 0 });
    client.end();
}

#[test]
fn a_client_that_reads_no_more_acknowledges_nothing() {
    let mut scene = Scene::in_session();
    scene.set("AGENT_BOX_CHANNEL", "1");
    let daemon = Daemon::at(&scene);
    let mut client = Client::initialized(&scene, &json!({}));
    let mut peer = daemon.welcome();
    client.stop_listening();
    peer.say(&ToPeer::Message(message(1, false)));
    let mut line = String::new();
    assert_eq!(peer.lines.read_line(&mut line).unwrap(), 0, "{line}");
    client.end();
}

#[test]
fn what_the_client_says_meanwhile_does_not_break_a_connection_in_the_making() {
    let mut scene = Scene::in_session();
    let daemon = Daemon::at(&scene);
    let mut client = channel_client(&mut scene);
    let mut peer = daemon.accept();
    for _ in 0..3 {
        assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    }
    peer.say(&ToPeer::Welcome { version: 1 });
    peer.say(&ToPeer::Message(message(1, false)));
    client.hear();
    assert_eq!(peer.hear(), FromPeer::Ack(1));
    assert!(daemon.has_nobody());
}
