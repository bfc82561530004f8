//! A request for a session that outlives its sender: the tmux server stands still meanwhile.

use agent_box_session_store::EventKind;
use agent_box_testkit::{process, within};
use rustix::process::Signal;

use super::stage::{QUEST, Stage};

/// Freezes the server while a start asks it for a session, kills the sender of the request, lets
/// `act` do its worst, and lets the server go on before a new supervisor comes.
fn with_a_request_under_way(act: impl Fn(&mut Stage)) -> Stage {
    let mut stage = Stage::new();
    stage.add("anchor");
    stage.settle();
    let server = stage.test_box.tmux().server_pid().unwrap();
    stage.hold_start("supervisor.before-new-session");
    process::send(server, Signal::STOP);
    within(5).until("the server is stopped", || process::is_stopped(server));
    stage.release();
    // The driver gives up after a second and kills its client; the request is in the socket.
    within(10)
        .until("the request has timed out", || stage.supervisor_output().contains("start failed"));
    stage.kill_supervisor();
    act(&mut stage);
    process::send(server, Signal::CONT);
    stage.settle();
    stage
}

fn refusals(stage: &Stage) -> usize {
    let events = stage.oracle.events();
    let by_gate = events.iter().filter(|it| it.by.as_deref() == Some("launcher"));
    by_gate.filter(|event| event.kind == EventKind::Refusal).count()
}

#[test]
fn p3_a_request_that_outlives_its_sender_and_its_session_starts_nothing() {
    let stage = with_a_request_under_way(|stage| stage.remove(QUEST));
    assert_eq!(refusals(&stage), 1, "the request came through");
}

#[test]
fn p3_a_request_that_outlives_its_session_starts_nothing_for_its_successor() {
    let stage = with_a_request_under_way(|stage| {
        stage.remove(QUEST);
        stage.add(QUEST);
    });
    assert_eq!((refusals(&stage), stage.launches()), (1, 1));
}

#[test]
fn p4_a_request_that_outlives_a_stop_starts_nothing() {
    let stage = with_a_request_under_way(|stage| {
        stage.run(&["stop", QUEST]).expect_success();
    });
    assert_eq!((refusals(&stage), stage.launches()), (1, 0));
}

#[test]
fn p4_a_request_that_outlives_a_restart_starts_one_agent() {
    let stage = with_a_request_under_way(|stage| {
        stage.run(&["restart", QUEST]).expect_success();
    });
    assert_eq!((refusals(&stage), stage.launches()), (1, 1));
}

#[test]
fn p4_a_request_that_outlives_its_sender_alone_starts_one_agent() {
    let stage = with_a_request_under_way(|_| {});
    assert_eq!((refusals(&stage), stage.launches()), (0, 1));
}
