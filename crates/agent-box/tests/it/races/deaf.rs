//! Agents that ignore HUP and TERM and leave a process in a kernel session of its own.
//!
//! Seen red with an ending that ends only the launcher (what the agent left behind lives when `rm`
//! returns), and with neither the lifetime lock nor the proof that the old launch is gone (a
//! killed launcher's leftovers live beside the next launch; without the parent-death signal, too,
//! its agent).

use agent_box_testkit::{process, within};
use rustix::process::Signal;

use super::stage::{QUEST, Stage};

/// A box in which such an agent runs, with what it left behind.
fn with_a_deaf_agent() -> Stage {
    let mut stage = Stage::new();
    stage.test_box.stubs().plan_every(r#"{"ignore_hup": true, "fork_setsid": true}"#);
    stage.add(QUEST);
    stage.settle();
    within(10).until("it left a process behind", || living_descendants(&stage) == 1);
    stage
}

fn living_descendants(stage: &Stage) -> usize {
    let descendants = stage.test_box.stubs().descendants();
    descendants.into_iter().filter(|&pid| process::is_alive(pid)).count()
}

#[test]
fn p3_rm_of_a_deaf_agent_returns_when_its_last_descendant_is_gone() {
    let mut stage = with_a_deaf_agent();
    stage.remove(QUEST);
    assert_eq!(living_descendants(&stage), 0);
    stage.settle();
}

#[test]
fn p3_rm_of_a_deaf_agent_whose_launcher_stands_still_returns_when_all_is_gone() {
    let mut stage = with_a_deaf_agent();
    let launcher = stage.test_box.tmux().pane_pid(QUEST).unwrap();
    process::send(launcher, Signal::STOP);
    stage.remove(QUEST);
    assert_eq!(living_descendants(&stage), 0);
    stage.settle();
}

#[test]
fn p3_a_deaf_agent_outlives_neither_its_deleter_nor_its_supervisor() {
    let mut stage = with_a_deaf_agent();
    let deleter = stage.test_box.command(&["rm", QUEST]).start();
    within(10).until("the rm is committed", || {
        stage.oracle.store.read().unwrap().registry.entries().len() == 0
    });
    stage.kill_supervisor();
    deleter.kill();
    stage.settle();
    assert_eq!(living_descendants(&stage), 0);
}

#[test]
fn p4_a_deaf_agent_whose_launcher_is_killed_is_never_doubled() {
    let mut stage = with_a_deaf_agent();
    for _ in 0..2 {
        let launches = stage.launches();
        let launcher = stage.test_box.tmux().pane_pid(QUEST).unwrap();
        process::send(launcher, Signal::KILL);
        within(20).until("another launch", || stage.launches() > launches);
        stage.settle();
    }
}

#[test]
fn p4_a_deaf_agent_whose_tmux_server_is_killed_is_never_doubled() {
    let mut stage = with_a_deaf_agent();
    for _ in 0..2 {
        let launches = stage.launches();
        stage.test_box.tmux().kill_server();
        within(20).until("another launch", || stage.launches() > launches);
        stage.settle();
    }
}
