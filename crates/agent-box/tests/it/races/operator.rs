//! `rm`, `stop`, `restart` and `rm` + `add` while a start is held.
//!
//! Seen red with the check in the launcher's gate taken out: the removed session is started after
//! its `rm` has returned.

use agent_box_session_store::EventKind;
use agent_box_testkit::within;

use super::stage::{IN_LAUNCHER, IN_SUPERVISOR, QUEST, Stage, at_each};

at_every_point_of_a_start! {
    p3_rm_at_every_point_of_a_start_leaves_nothing_live: |stage| stage.remove(QUEST);

    p3_rm_without_a_supervisor_at_every_point_of_a_start_leaves_nothing_live: |stage| {
        stage.kill_supervisor();
        stage.remove(QUEST);
    };

    p3_a_successor_added_at_every_point_of_a_start_gets_nothing_of_its_predecessor: |stage| {
        stage.remove(QUEST);
        stage.add(QUEST);
    };

    p4_stop_at_every_point_of_a_start_leaves_nothing_live_and_restart_brings_one_agent: |stage| {
        stage.run(&["stop", QUEST]).expect_success();
        stage.release();
        stage.settle();
        stage.run(&["restart", QUEST]).expect_success();
    };

    p4_restart_at_every_point_of_a_start_leaves_one_agent_of_the_newest_intent: |stage| {
        stage.run(&["restart", QUEST]).expect_success();
    };

    p4_three_operators_at_every_point_of_a_start_leave_what_the_last_one_asked_for: |stage| {
        stage.run(&["restart", QUEST]).expect_success();
        stage.run(&["stop", QUEST]).expect_success();
        stage.run(&["restart", QUEST]).expect_success();
    };
}

#[test]
fn operators_give_up_on_a_gate_that_is_held_for_too_long_and_change_nothing() {
    let mut stage = Stage::new();
    stage.hold_start("pane.in-gate");
    let holder = stage.held_process().to_string();
    let registry = stage.test_box.read(".config/agent-box/sessions.json");
    let running = ["rm", "stop", "restart"]
        .map(|verb| (verb, stage.test_box.command(&[verb, QUEST]).start()));
    for (verb, command) in running {
        let finished = command.wait().expect_code(1);
        assert!(finished.stderr.contains(&holder), "{verb}: {}", finished.stderr);
    }
    assert_eq!(stage.test_box.read(".config/agent-box/sessions.json"), registry);
    stage.release();
    stage.settle();
    assert_eq!(stage.launches(), 1);
}

#[test]
fn a_launch_that_comes_too_late_says_so_in_the_journal() {
    let mut stage = Stage::new();
    stage.hold_start("supervisor.before-new-session");
    stage.remove(QUEST);
    stage.release();
    within(10).until("the gate refused the launch", || {
        stage.oracle.events().iter().any(|event| event.kind == EventKind::Refusal)
    });
    stage.settle();
}
