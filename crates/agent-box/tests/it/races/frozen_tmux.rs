//! A request for a session that outlives its sender: the tmux server stands still meanwhile.
//!
//! The operator's own request to close the terminal waits in the same queue, so the launcher that
//! comes too late is either refused by its gate or ended before it. Seen red with the check in the
//! gate taken out, for the successor and for `restart`.

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

/// How many sessions the server has ever made: its ids are counted up and never used again.
fn made(stage: &Stage) -> usize {
    let id = stage.test_box.tmux().ask(&["new-session", "-d", "-P", "-F", "#{session_id}"]);
    id.trim_start_matches('$').parse().unwrap()
}

#[test]
fn p3_a_request_that_outlives_its_sender_and_its_session_starts_nothing() {
    let stage = with_a_request_under_way(|stage| stage.remove(QUEST));
    // The anchor and the session that came too late, whose launcher was refused or ended.
    assert_eq!(made(&stage), 2);
}

#[test]
fn p3_a_request_that_outlives_its_session_starts_nothing_for_its_successor() {
    let stage = with_a_request_under_way(|stage| {
        stage.remove(QUEST);
        stage.add(QUEST);
    });
    assert_eq!((made(&stage), stage.launches()), (3, 1));
}

#[test]
fn p4_a_request_that_outlives_a_stop_starts_nothing() {
    let stage = with_a_request_under_way(|stage| {
        stage.run(&["stop", QUEST]).expect_success();
    });
    assert_eq!((made(&stage), stage.launches()), (2, 0));
}

#[test]
fn p4_a_request_that_outlives_a_restart_starts_one_agent() {
    let stage = with_a_request_under_way(|stage| {
        stage.run(&["restart", QUEST]).expect_success();
    });
    assert_eq!((made(&stage), stage.launches()), (3, 1));
}

#[test]
fn p4_a_request_that_outlives_its_sender_alone_starts_one_agent() {
    let stage = with_a_request_under_way(|_| {});
    // Its sender's successor waited for it.
    assert_eq!((made(&stage), stage.launches()), (2, 1));
}
