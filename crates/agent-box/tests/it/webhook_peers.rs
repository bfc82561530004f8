//! Running sessions that are told, through the MCP server that their agents start.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use agent_box_testkit::{process, within};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{PROGRAM, id_of};
use crate::webhook_box::{WebhookBox, issue, marker};

/// A session's MCP server, and what it has said so far.
struct Mcp {
    child: Child,
    said: Arc<Mutex<Vec<Value>>>,
}

impl Mcp {
    /// Starts it as the session's agent would, taking channel messages.
    fn start(the_box: &WebhookBox, session: &str) -> Self {
        let mut child = Command::new(PROGRAM)
            .arg("mcp")
            .env_clear()
            .envs(the_box.scene.environment())
            .env("AGENT_BOX_CHANNEL", "1")
            .env("AGENT_BOX_SESSION_UUID", id_of(&the_box.scene, session))
            .env("LOCAL_WEBHOOK_SESSION", the_box.key(session))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}});
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        write!(stdin, "{initialize}\n{initialized}\n").unwrap();
        // Its end would be the server's.
        child.stdin = Some(stdin);
        let said = Arc::new(Mutex::new(Vec::new()));
        let (lines, heard) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&said));
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                heard.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, said }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The texts of the channel messages so far.
    fn told(&self) -> Vec<String> {
        let said = self.said.lock().unwrap();
        let messages = said.iter().filter(|it| it["method"] == "notifications/claude/channel");
        messages.map(|it| it["params"]["content"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a sender waits is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Fifty deliveries, forty of them while the peer is stopped: none is lost, none comes twice, and
/// no sender waits. Seen red with a channel that drops what finds no room.
#[test]
fn a_paused_peer_loses_nothing_and_delays_nobody() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    for name in ["paused", "awake"] {
        the_box.scene.run(&["add", name, "--agent", "shell"]).expect_success();
        the_box.scene.run(&["webhook", "subscribe", "o/r", "--session", name]).expect_success();
    }
    let (paused, awake) = (Mcp::start(&the_box, "paused"), Mcp::start(&the_box, "awake"));
    let send = |number: u64| {
        let begun = now();
        let answer = the_box.send("issues", &format!("d-{number}"), &issue("o/r", number));
        assert_eq!(answer, Some(200));
        begun.elapsed()
    };
    send(0);
    within(20).until("both are told", || paused.told().len() == 1 && awake.told().len() == 1);
    process::send(paused.pid(), Signal::STOP);
    within(5).until("it is stopped", || process::is_stopped(paused.pid()));
    let slowest = (1..40).map(send).max().unwrap();
    assert!(slowest < Duration::from_secs(4), "a sender waited {slowest:?}");
    within(20).until("the other is told meanwhile", || awake.told().len() == 40);
    process::send(paused.pid(), Signal::CONT);
    for number in 40..50 {
        send(number);
    }
    for peer in [&paused, &awake] {
        within(20).until("all fifty are there", || peer.told().len() >= 50);
        let told = peer.told();
        for number in 0..50 {
            let count = told.iter().filter(|text| text.contains(&marker(number))).count();
            assert_eq!(count, 1, "event {number}");
        }
    }
    within(20).until("all are delivered", || {
        the_box.deliveries().iter().all(|it| it.state.as_str() == "delivered")
    });
}

/// Seen red with messages that are acknowledged when they are sent.
#[test]
fn a_peer_that_dies_before_it_acknowledges_is_told_again_and_the_event_is_marked() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    the_box.scene.run(&["add", "x", "--agent", "shell"]).expect_success();
    the_box.scene.run(&["webhook", "subscribe", "o/r", "--session", "x"]).expect_success();
    let first = Mcp::start(&the_box, "x");
    assert_eq!(the_box.send("issues", "d-0", &issue("o/r", 0)), Some(200));
    within(20).until("it is told", || first.told().len() == 1);
    process::send(first.pid(), Signal::STOP);
    within(5).until("it is stopped", || process::is_stopped(first.pid()));
    assert_eq!(the_box.send("issues", "d-1", &issue("o/r", 1)), Some(200));
    let told = || {
        let told = the_box.inbox().look(|look| look.messages_of(2)).unwrap();
        told.first().is_some_and(|it| it.times == 1)
    };
    within(20).until("it was sent", told);
    drop(first);
    let read = ["webhook", "read", "--session", "x"];
    let text = the_box.scene.run(&read).expect_success().stdout;
    assert!(text.contains(&marker(1)) && !text.contains(&marker(0)), "{text}");
    assert!(text.contains("was sent before"), "{text}");
}
