//! Telling one session.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use agent_box_session::{Agent, SessionId};
use agent_box_testkit::{PrivateTmux, within};
use serde_json::{Value, json};

use crate::scene::{PROGRAM, Scene};

fn deliver(scene: &Scene, session: SessionId, message: &str) -> Value {
    let words = ["deliver", "--session-id", &session.to_string()];
    let done = scene.test_box.command(&words).stdin(message).run().expect_success();
    serde_json::from_str(&done.stdout).expect("an answer")
}

#[test]
fn each_kind_of_session_is_answered_for() {
    let scene = Scene::new();
    let claude = scene.add("a", Agent::Claude);
    let shell = scene.add("b", Agent::Shell);
    let gone = scene.add("d", Agent::Codex);
    scene.remove("d");
    let reason = |told: Value| {
        assert_eq!(told["told"], "waiting", "{told}");
        told["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(deliver(&scene, gone, "hello"), json!({"told": "gone"}));
    assert!(reason(deliver(&scene, claude, "hello")).contains("hook"));
    assert!(reason(deliver(&scene, shell, "hello")).contains("agent-box webhook read"));
    let words = ["deliver", "--session-id", &shell.to_string()];
    scene.test_box.command(&words).stdin("").run().expect_code(1);
    scene.test_box.run(&["deliver", "--session-id", "nonsense"]).expect_code(2);
    scene.test_box.put(".config/agent-box/sessions.json", "{");
    let damaged = scene.test_box.command(&words).stdin("hello").run().expect_code(1);
    assert_eq!(damaged.stdout, "");
}

/// What was answered for is not offered again, and who is stopped has heard of nothing.
#[test]
fn who_is_stopped_is_not_answered_for() {
    let (_directory, scene) = beside("exec cat >$HOME/heard");
    let mut session = scene.add("a", Agent::Shell);
    for (name, agent) in [("b", Agent::Claude), ("c", Agent::Codex)] {
        session = scene.add(name, agent);
        scene.stop(name);
        let words = ["deliver", "--session-id", &session.to_string()];
        let later = scene.test_box.command(&words).stdin("hello").run().expect_code(1);
        assert_eq!((later.stdout.as_str(), scene.test_box.read("heard").as_str()), ("", ""));
        assert!(later.stderr.contains(&format!("agent-box restart {name}")), "{}", later.stderr);
    }
    scene.restart("c");
    assert_eq!(deliver(&scene, session, "hello"), json!({"told": "delivered"}));
    assert_eq!(scene.test_box.read("heard"), "hello");
}

/// A scene whose wrapper has an `agent-box` beside it that keeps what it was given.
fn beside(script: &str) -> (tempfile::TempDir, Scene) {
    let directory = tempfile::tempdir().expect("a directory");
    let program: PathBuf = directory.path().join("agent-box-webhook-spawn");
    fs::copy(PROGRAM, &program).expect("a copy of the wrapper");
    let agent_box = directory.path().join("agent-box");
    let mut file = File::create(&agent_box).expect("a program beside it");
    writeln!(file, "#!/bin/sh\n{script}").expect("write it");
    file.set_permissions(fs::Permissions::from_mode(0o755)).expect("make it a program");
    (directory, Scene::with(program))
}

#[test]
fn codex_is_told_by_the_program_that_knows_how() {
    let (_directory, scene) = beside("echo \"$@\" >$HOME/called; exec cat >$HOME/heard");
    let session = scene.add("a", Agent::Codex);
    let message = format!("{}\nlast line\n", "협업 $(id) ".repeat(20_000));
    assert_eq!(deliver(&scene, session, &message), json!({"told": "delivered"}));
    assert_eq!(scene.test_box.read("called"), format!("hook tell --session-id {session}\n"));
    assert!(scene.test_box.read("heard") == message, "the message was changed");
}

#[test]
fn why_codex_was_not_told_is_passed_on() {
    let script = |code: u8| format!("echo 'a warning' >&2; echo 'no good' >&2; exit {code}");
    let (_directory, scene) = beside(&script(2));
    let session = scene.add("a", Agent::Codex);
    let waits = deliver(&scene, session, "hello");
    assert_eq!(waits, json!({"told": "waiting", "reason": "no good"}));
    // What may work later is no answer: the caller tries again.
    let (_directory, scene) = beside(&script(1));
    let session = scene.add("a", Agent::Codex);
    let words = ["deliver", "--session-id", &session.to_string()];
    let later = scene.test_box.command(&words).stdin("hello").run().expect_code(1);
    assert_eq!(later.stdout, "");
    assert!(later.stderr.contains("cannot tell session `a` now: no good"), "{}", later.stderr);
}

#[test]
fn a_notice_is_shown_and_nothing_is_typed() {
    let scene = Scene::new();
    let session = scene.add("b", Agent::Shell);
    let tmux = scene.test_box.tmux();
    tmux.start("b", &["sh", "-c", "cat >$HOME/typed"]);
    let tag = |name: &str, value: &str| {
        let set = tmux.run(&["set-option", "-t", "=b:", name, value]);
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    };
    tag("@agent_box_store", &scene.store.store_id().to_string());
    tag("@agent_box_id", &session.to_string());
    // Somebody looks at it, in a terminal that another server gives.
    let outer = PrivateTmux::new(scene.test_box.home().join("run/outer"), scene.test_box.home());
    let socket = tmux.socket().to_str().unwrap().to_owned();
    outer.start("view", &["tmux", "-S", &socket, "attach-session", "-t", "=b"]);
    within(10).until("somebody is attached", || {
        tmux.ask(&["list-clients", "-t", "=b", "-F", "x"]) == "x"
    });
    deliver(&scene, session, "an event");
    within(10).until("the notice is seen", || {
        outer.screen("view").contains("webhook events are waiting")
    });
    assert!(!tmux.screen("b").contains("webhook"), "it reached the pane");
    assert_eq!(scene.test_box.read("typed"), "");
}
