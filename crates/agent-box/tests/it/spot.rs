//! The last two minutes of a spot machine, with a metadata service on loopback and a stand-in for
//! systemctl that notes what it was asked.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use agent_box_testkit::{Running, TestBox, within};

use crate::scene::PROGRAM;

/// What the metadata service has been asked, and what it says.
struct Cloud {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    takes_back: Arc<AtomicBool>,
}

impl Cloud {
    fn new(life_cycle: &'static str, token: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let cloud = Self {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            takes_back: Arc::default(),
        };
        let (asked, takes_back) = (cloud.asked.clone(), cloud.takes_back.clone());
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = &stream.unwrap();
                answer(stream, life_cycle, token, &asked, takes_back.load(Ordering::SeqCst));
            }
        });
        cloud
    }

    fn was_asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|line| line.contains(path)).count()
    }
}

/// As EC2 does with its older protocol switched off: every question needs the token.
fn answer(
    stream: &TcpStream,
    life_cycle: &str,
    token: &str,
    asked: &Mutex<Vec<String>>,
    takes_back: bool,
) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let question = lines.next().unwrap();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    asked.lock().unwrap().push(format!("{question} {}", headers.join(" ")));
    let words: Vec<&str> = question.split(' ').collect();
    let has = |header: String| headers.iter().any(|line| line.eq_ignore_ascii_case(&header));
    let (status, body) = match words[..] {
        ["PUT", "/latest/api/token", _]
            if has("x-aws-ec2-metadata-token-ttl-seconds: 300".to_owned()) =>
        {
            (200, token)
        }
        _ if !has(format!("x-aws-ec2-metadata-token: {token}")) => (401, ""),
        ["GET", "/latest/meta-data/instance-life-cycle", _] => (200, life_cycle),
        ["GET", "/latest/meta-data/spot/instance-action", _] if takes_back => (200, "{}"),
        _ => (404, "<html>none</html>"),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n");
    // The program may have gone.
    let _ = (&*stream).write_all(format!("{head}{body}").as_bytes());
}

/// Starts the monitor; `systemctl` notes its words in the home.
fn monitor(scene: &TestBox, metadata: SocketAddr, message: &str) -> Running {
    let programs = scene.home().join("stand-ins");
    scene.put("stand-ins/systemctl", "#!/bin/sh\necho \"$*\" >> \"${0%/*}/asked\"\n");
    let systemctl = programs.join("systemctl");
    fs::set_permissions(systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    let path = scene.environment().get(OsStr::new("PATH")).unwrap().to_str().unwrap();
    let runtime = scene.home().join("run").into_os_string().into_string().unwrap();
    let metadata = metadata.to_string();
    let words = [
        "spot-monitor",
        "--runtime",
        &runtime,
        "--runtime",
        "/nonexistent",
        "--unit",
        "a.service",
        "--unit",
        "b.service",
        "--message",
        message,
        "--grace",
        "0",
        "--poll",
        "1",
        "--metadata",
        &metadata,
    ];
    let command = scene.command(&words).env("PATH", format!("{}:{path}", programs.display()));
    command.env("AGENT_BOX_LOG", "debug").start()
}

/// Somebody who looks at a session, through a client that prints what it is told.
struct Looker {
    client: Child,
}

impl Looker {
    fn at(scene: &TestBox, session: &str) -> Self {
        assert!(scene.tmux().start(session, &["sleep", "100000"]).status.success());
        let mut tmux = Command::new("tmux");
        tmux.env_clear().envs(scene.environment()).arg("-S").arg(scene.tmux().socket());
        tmux.args(["-u", "-C", "attach-session", "-t", &format!("={session}")]);
        let client = tmux.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        within(10).until("the client is attached", || {
            !scene.tmux().ask(&["list-clients", "-F", "#{client_name}"]).is_empty()
        });
        Self { client }
    }

    /// Whether it was shown exactly this line, after which it goes. tmux notes it in its log, or,
    /// from 3.4 on, prints it to a client like this.
    fn was_shown(mut self, scene: &TestBox, line: &str) -> bool {
        let noted = scene.tmux().ask(&["show-messages"]);
        drop(self.client.stdin.take());
        let mut printed = String::new();
        self.client.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.client.wait().unwrap();
        noted.lines().any(|it| it.ends_with(&format!(" message: {line}")))
            || printed.lines().any(|it| it == format!("%message {line}"))
    }
}

#[test]
fn sessions_are_told_and_the_supervisors_stopped_and_nothing_else() {
    let scene = TestBox::new(PROGRAM);
    let looker = Looker::at(&scene, "main");
    let cloud = Cloud::new("spot", "AQAEA-token==");
    let message = "⚠️ gone in 100%d: #{host} #(touch $HOME/ran); commit";
    let mut running = monitor(&scene, cloud.address, message);
    within(10).until("it has looked twice", || cloud.was_asked("instance-action") >= 2);
    assert!(!running.has_ended());
    assert_eq!(scene.read("stand-ins/asked"), "", "nobody takes it back yet");

    cloud.takes_back.store(true, Ordering::SeqCst);
    let ended = running.wait().expect_success();
    assert!(looker.was_shown(&scene, message));
    assert!(!scene.home().join("ran").exists(), "the message was taken for a format");
    assert_eq!(scene.read("stand-ins/asked"), "stop -- a.service b.service\n");
    assert!(ended.stderr.contains("/nonexistent"), "who cannot be told is named: {}", ended.stderr);
}

#[test]
fn a_machine_that_is_no_spot_machine_is_left_alone() {
    let scene = TestBox::new(PROGRAM);
    let cloud = Cloud::new("on-demand", "token");
    let ended = monitor(&scene, cloud.address, "gone").wait().expect_success();
    assert!(ended.stderr.contains("no spot machine"), "{}", ended.stderr);
    assert_eq!(cloud.was_asked("instance-life-cycle"), 1);

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ended = monitor(&scene, nobody, "gone").wait().expect_success();
    assert!(ended.stderr.contains("no cloud answers"), "{}", ended.stderr);
    assert_eq!(scene.read("stand-ins/asked"), "");
}

#[test]
fn a_token_that_is_no_token_is_not_sent() {
    let scene = TestBox::new(PROGRAM);
    let cloud = Cloud::new("spot", "token\r\nX-Evil: 1");
    monitor(&scene, cloud.address, "gone").wait().expect_success();
    assert_eq!(cloud.was_asked("api/token"), 3, "one question a look");
    assert_eq!(cloud.was_asked("X-Evil") + cloud.was_asked("life-cycle"), 0);
}

#[test]
fn an_announcement_is_shown_as_it_is_and_runs_nothing() {
    let scene = TestBox::new(PROGRAM);
    scene.run(&["announce", "x"]).expect_code(1);
    let looker = Looker::at(&scene, "main");
    let text = "-d #(touch $HOME/ran) #{pid} 10 %H %% ; \\; $HOME";
    let shown = scene.run(&["announce", "--", &format!("{text}\u{1b}\n")]);
    assert_eq!(shown.expect_success().stdout, "1 person's terminal shows it\n");
    assert!(looker.was_shown(&scene, &format!("{text}  ")));
    assert!(!scene.home().join("ran").exists());
}
