//! A wrapper that is killed at any point, and its rerun: one session, one answer.

use std::fs;
use std::process::{Child, Command};

use agent_box_event::contract::{Asker, Request};
use agent_box_session::{Agent, env};

use crate::scene::{Scene, batch};

/// A box that has sessions already.
fn lived_in() -> Scene {
    let scene = Scene::new();
    scene.add("main", Agent::Shell);
    scene
}

/// The wrapper's own points, and those of the store around the moment that counts.
const POINTS: [&str; 7] = [
    "spawn.locked",
    "store.after-fsync",
    "store.before-rename",
    "store.after-rename",
    "store.before-unlock",
    "spawn.written",
    "spawn.printed",
];

#[test]
fn a_killed_wrapper_and_its_rerun_make_one_session() {
    for point in POINTS {
        let scene = lived_in();
        scene.test_box.points().arm(point, "kill-once");
        let killed = scene.spawn(&batch(7), "events");
        assert_eq!(killed.code, None, "{point}: it was not killed: {killed:?}");
        let again = scene.spawn(&batch(7), "events").expect_success();
        let (id, name) = Scene::answer(&again);
        assert_eq!(scene.hooks(), std::slice::from_ref(&name), "{point}");
        assert_eq!(scene.entry(&name)["id"], id, "{point}");
        let filter = format!("filter.{}-{name}.json", scene.user());
        assert_eq!(scene.filters(), [filter], "{point}");
        if !killed.stdout.is_empty() {
            assert_eq!(killed.stdout, again.stdout, "{point}");
        }
        let third = scene.spawn(&batch(7), "events").expect_success();
        assert_eq!(third.stdout, again.stdout, "{point}");
    }
}

#[test]
fn an_orphaned_wrapper_beside_its_rerun_makes_one_session() {
    let scene = Scene::new();
    scene.test_box.points().arm("spawn.written", "pause-once");
    let orphan = scene.wrapper(&batch(7), "events").start();
    scene.test_box.points().wait_reached("spawn.written");
    let again = scene.spawn(&batch(7), "events").expect_success();
    scene.test_box.points().release("spawn.written");
    assert_eq!(orphan.wait().expect_success().stdout, again.stdout);
    assert_eq!(scene.hooks().len(), 1);
}

/// The receiver is killed and its wrapper lives on; the next receiver is told that the box is full
/// and puts the events into a new batch. Red once without the look at the asker: two sessions.
#[test]
fn a_wrapper_whose_receiver_is_gone_changes_nothing() {
    let mut scene = Scene::new();
    scene.set(env::HOOK_SESSION_MAX, "1");
    scene.add("hook-busy", Agent::Shell);
    let mut receiver = receiver();
    let stat = fs::read_to_string(format!("/proc/{}/stat", receiver.id())).unwrap();
    let asked = |number, asker| Request { asker, ..batch(number) };
    let first = Asker::of_stat(&stat);
    assert!(first.is_some(), "{stat}");

    scene.test_box.points().arm("spawn.ready", "pause-once");
    let orphan = scene.wrapper(&asked(7, first), "events").start();
    scene.test_box.points().wait_reached("spawn.ready");
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    let next = Asker::of_stat(&fs::read_to_string("/proc/self/stat").unwrap());
    scene.spawn(&asked(7, next), "events").expect_code(75);
    scene.remove("hook-busy");
    scene.test_box.points().release("spawn.ready");
    let told = orphan.wait().expect_code(74);
    assert!(told.stderr.contains("receiver that asked"), "{}", told.stderr);
    assert!(scene.hooks().is_empty() && scene.filters().is_empty());
    scene.spawn(&asked(8, next), "events").expect_success();
    assert_eq!(scene.hooks().len(), 1);
}

/// Something that lives until it is killed.
fn receiver() -> Child {
    Command::new("sleep").arg("60").spawn().expect("sleep is everywhere")
}

#[test]
fn an_add_that_fails_takes_its_subscription_back() {
    let scene = lived_in();
    for point in ["store.before-fsync", "store.before-rename"] {
        scene.test_box.points().arm(point, "fail");
        let failed = scene.spawn(&batch(7), "events").expect_code(74);
        assert!(failed.stderr.contains("fault injected"), "{point}: {}", failed.stderr);
        assert_eq!(scene.hooks(), [] as [String; 0], "{point}");
        assert_eq!(scene.filters(), [] as [String; 0], "{point}");
        scene.test_box.points().release(point);
    }
    scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(scene.hooks().len(), 1);
}
