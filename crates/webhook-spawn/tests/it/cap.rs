//! The ceiling: who counts, who waits, what is said and kept about it.

use agent_box_session::Agent;
use serde_json::Value;

use crate::scene::{Scene, batch};

fn refusal(scene: &Scene) -> Value {
    let text = scene.test_box.read(".local/state/agent-box/webhook-spawn-refused.json");
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

#[test]
fn ten_at_once_fill_the_cap_and_no_more() {
    let scene = Scene::new();
    let wrappers: Vec<_> =
        (1..=10).map(|number| scene.wrapper(&batch(number), "events").start()).collect();
    let codes: Vec<Option<i32>> = wrappers.into_iter().map(|it| it.wait().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 4, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(75)).count(), 6, "{codes:?}");
    assert_eq!(scene.hooks().len(), 4);
    let claims = scene.registry()["claimedBatches"].as_object().unwrap().len();
    assert_eq!((claims, scene.filters().len()), (4, 4), "what waits left something behind");
}

#[test]
fn refusals_are_told_and_counted_from_the_first() {
    let mut scene = Scene::new();
    scene.add("hook-a", Agent::Shell);
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "1");
    assert_eq!(refusal(&scene), Value::Null);
    let before = std::fs::read(scene.test_box.registry()).unwrap();
    let full = scene.spawn(&batch(7), "events").expect_code(75);
    assert_eq!(full.stdout, "");
    for said in ["1 hook-* sessions are running or queued to start", "at most 1", "wait"] {
        assert!(full.stderr.contains(said), "{said}: {}", full.stderr);
    }
    let first = refusal(&scene);
    assert_eq!((&first["count"], &first["live"], &first["max"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(first["topic"], "github:defangdevs/*");
    assert_eq!(first["key"], "defangdevs/agent-box");
    assert_eq!(first["at"], first["firstAt"]);
    assert_eq!(first["at"].as_str().unwrap().len(), "2026-12-01T00:00:00Z".len());
    scene.spawn(&batch(7), "events").expect_code(75);
    assert_eq!((&refusal(&scene)["count"], &refusal(&scene)["firstAt"]), (&2.into(), &first["at"]));
    assert_eq!(std::fs::read(scene.test_box.registry()).unwrap(), before);
    assert_eq!(scene.filters(), [] as [String; 0]);
    // Below the ceiling again: it starts, and the record stays as it was.
    scene.remove("hook-a");
    scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(refusal(&scene)["count"], 2);
}

#[test]
fn a_stopped_session_does_not_count_unless_it_still_runs() {
    let mut scene = Scene::new();
    scene.add("hook-a", Agent::Shell);
    scene.add("hook-b", Agent::Shell);
    scene.add("main", Agent::Shell);
    scene.stop("hook-a");
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "2");
    // Its terminal is still there.
    scene.test_box.tmux().start("hook-a", &["sleep", "1000"]);
    let full = scene.spawn(&batch(7), "events").expect_code(75);
    assert!(full.stderr.contains("2 hook-* sessions"), "{}", full.stderr);
    scene.test_box.tmux().run(&["kill-session", "-t", "=hook-a"]);
    scene.spawn(&batch(7), "events").expect_success();
    scene.spawn(&batch(8), "events").expect_code(75);
}

#[test]
fn what_runs_unlisted_counts() {
    let mut scene = Scene::new();
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "1");
    scene.test_box.tmux().start("hook-unlisted", &["sleep", "1000"]);
    scene.spawn(&batch(7), "events").expect_code(75);
    assert_eq!(refusal(&scene)["live"], 1);
}

#[test]
fn without_tmux_every_listed_one_counts_and_that_is_said() {
    let mut scene = Scene::new();
    scene.add("hook-a", Agent::Shell);
    scene.add("hook-b", Agent::Shell);
    scene.stop("hook-a");
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "2");
    let without = scene.wrapper(&batch(7), "events").env("AGENT_BOX_TMUX", "/nowhere/tmux").run();
    let without = without.expect_code(75);
    assert!(without.stderr.contains("cannot ask tmux"), "{}", without.stderr);
    assert_eq!(refusal(&scene)["live"], 2);
    scene.spawn(&batch(7), "events").expect_success();
}

#[test]
fn a_tmux_that_does_not_answer_delays_by_a_second_only() {
    let mut scene = Scene::new();
    scene.test_box.tmux().start("main", &["sleep", "1000"]);
    let server = scene.test_box.tmux().server_pid().unwrap();
    agent_box_testkit::process::send(server, rustix::process::Signal::STOP);
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "1");
    scene.spawn(&batch(7), "events").expect_success();
    let full = scene.spawn(&batch(8), "events").expect_code(75);
    assert!(full.stderr.contains("cannot ask tmux"), "{}", full.stderr);
    agent_box_testkit::process::send(server, rustix::process::Signal::CONT);
}

#[test]
fn a_cap_of_nothing_starts_nothing_and_nonsense_means_four() {
    let mut scene = Scene::new();
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "0");
    scene.spawn(&batch(7), "events").expect_code(75);
    assert_eq!(scene.hooks(), [] as [String; 0]);
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "many");
    let done = scene.spawn(&batch(7), "events").expect_success();
    assert!(done.stderr.contains("not a number"), "{}", done.stderr);
    for number in 1..=3 {
        scene.spawn(&batch(number), "events").expect_success();
    }
    scene.spawn(&batch(4), "events").expect_code(75);
}
