//! The supervisor, the launcher or the tmux server killed while a start is held.
//!
//! Seen red with a harness that finds no prompt in any transcript: it arrives twice.

use std::time::Duration;

use agent_box_testkit::{Deadline, process};
use rustix::process::Signal;

use super::stage::{IN_LAUNCHER, IN_SUPERVISOR, Stage, at_each};

at_every_point_of_a_start! {
    p4_a_supervisor_killed_at_every_point_of_a_start_leaves_one_agent: |stage| {
        stage.kill_supervisor();
        // The successor finds the start half done, and then it goes on.
        stage.supervise();
    };
}

#[test]
fn p4_a_start_that_goes_on_while_the_supervisor_is_down_leaves_one_agent() {
    at_each(IN_LAUNCHER, |stage| {
        stage.kill_supervisor();
        stage.release();
    });
}

#[test]
fn p5_a_launcher_killed_at_every_point_of_a_start_delivers_the_prompt_once() {
    at_each(IN_LAUNCHER, |stage| {
        process::send(stage.held_process(), Signal::KILL);
    });
}

at_every_point_of_a_start! {
    p5_a_tmux_server_killed_at_every_point_of_a_start_delivers_the_prompt_once: |stage| {
        stage.test_box.tmux().kill_server();
    };

    p5_everything_killed_at_every_point_of_a_start_delivers_the_prompt_once: |stage| {
        let held = stage.held_process();
        stage.kill_supervisor();
        stage.test_box.tmux().kill_server();
        process::send(held, Signal::KILL);
    };
}

/// Seen red with a supervisor that watched only the launchers on record: it slept until its tick.
#[test]
fn a_launcher_killed_before_its_gate_is_noticed_while_other_sessions_live() {
    let mut stage = Stage::new();
    // Without it the tmux server would end with its only session, and that wakes the supervisor.
    stage.add("anchor");
    stage.settle();
    stage.hold_start("pane.before-gate");
    let launcher = stage.held_process();
    // The supervisor has seen the new terminal by then and has nothing left to wait for.
    Deadline::after(Duration::from_millis(500))
        .always("the launcher stands still", || process::is_alive(launcher));
    process::send(launcher, Signal::KILL);
    stage.release();
    stage.settle();
    assert_eq!(stage.launches(), 1);
}
