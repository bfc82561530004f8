//! Servers that hang or die, and a tmux that is not there.

use std::path::Path;
use std::time::Duration;

use agent_box_tmux_driver::{Server, StartPolicy, Tmux, TmuxError};
use rustix::process::{Signal, kill_process};

use crate::rig::{Rig, Stopped, time, wait};

#[test]
fn a_stopped_server_times_out_and_answers_again_later() {
    let rig = Rig::started();
    let before = children();
    let stopped = Stopped::new(rig.server_pid());
    let took = time(|| {
        assert!(matches!(rig.tmux.snapshot(), Err(TmuxError::TimedOut { .. })));
    });
    assert!((900..2500).contains(&took.as_millis()), "{took:?}");
    assert!(matches!(rig.tmux.nudge(), Err(TmuxError::TimedOut { .. })));
    assert_eq!(children(), before, "a client was left behind");
    drop(stopped);
    wait(|| rig.tmux.snapshot().is_ok());
}

#[test]
fn a_request_outlives_its_client() {
    let rig = Rig::started();
    let stopped = Stopped::new(rig.server_pid());
    assert!(matches!(rig.run("late", &["sleep", "1000000"]), Err(TmuxError::TimedOut { .. })));
    drop(stopped);
    wait(|| rig.names() == ["late"]);
}

#[test]
fn a_killed_server_is_no_server_and_the_next_create_starts_one() {
    let rig = Rig::new();
    rig.idle("s");
    let first = rig.server_pid();
    kill_process(first, Signal::KILL).unwrap();
    wait(|| matches!(rig.tmux.snapshot(), Err(TmuxError::NoServer { .. })));
    assert!(rig.tmux.socket().exists(), "the stale socket is what this test is about");
    rig.idle("s");
    assert_ne!(rig.server_pid(), first);
}

#[test]
fn a_server_that_dies_during_a_request_is_no_server() {
    let rig = Rig::started();
    let server = rig.server_pid();
    let stopped = Stopped::new(server);
    let tmux = rig.tmux.clone().with_deadline(Duration::from_secs(9));
    std::thread::scope(|scope| {
        let asked = tmux.round_trips();
        let request = scope.spawn(|| tmux.snapshot());
        wait(|| tmux.round_trips() > asked);
        kill_process(server, Signal::KILL).unwrap();
        assert!(matches!(request.join().unwrap(), Err(TmuxError::NoServer { .. })));
    });
    drop(stopped);
}

#[test]
fn a_missing_program_cannot_be_run() {
    let rig = Rig::new();
    let tmux = Tmux::new(Server {
        binary: "/nonexistent/tmux".into(),
        socket: rig.tmux.socket().to_owned(),
        start: StartPolicy::Start,
        environment: vec![],
    });
    let missing = |result| match result {
        Err(TmuxError::NotRunnable { binary, .. }) => binary == Path::new("/nonexistent/tmux"),
        _ => false,
    };
    assert!(missing(tmux.snapshot().map(drop)));
    assert!(missing(tmux.start_server()));
}

#[test]
fn a_flood_of_output_is_read_without_blocking() {
    let rig = Rig::new();
    // 10,000 lines of 100 columns fill a pipe many times over.
    let script = "i=0; while [ $i -lt 10000 ]; do printf '%0100d\\n' $i; i=$((i+1)); done; \
        printf end; exec sleep 1000000";
    rig.run("s", &["sh", "-c", script]).unwrap();
    let target = crate::rig::name("s");
    wait(|| rig.tmux.capture(&target, 1).unwrap() == "end");
    assert!(rig.tmux.capture(&target, 20_000).unwrap().len() > 1_000_000);
}

/// The children that this thread, and so this test alone, has left, ended or not.
fn children() -> String {
    let thread = rustix::thread::gettid().as_raw_nonzero();
    std::fs::read_to_string(format!("/proc/self/task/{thread}/children")).unwrap()
}
