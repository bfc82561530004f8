//! The agent on its terminal: interrupts, stops, window sizes, background reads.

use agent_box_session::{LaunchState, SessionId};

use crate::test_box::{TestBox, is_alive, process_state, send};
use crate::wait;

fn is_suspended(test_box: &TestBox, id: SessionId) -> bool {
    matches!(test_box.record(id).state, LaunchState::Starting { suspended: true, .. })
}

#[test]
fn ctrl_c_reaches_the_agent_and_not_the_launcher() {
    let test_box = TestBox::new();
    let script = "trap 'echo int >> out' INT; echo > ready; while :; do sleep 0.05; done";
    let record = test_box.prepare_script(script);
    let pane = test_box.start_in_pane(&record);
    test_box.read_when_written("ready");
    let (launcher, agent) = test_box.wait_for_agent(record.session);
    pane.press(&["C-c"]);
    assert_eq!(test_box.read_when_written("out"), "int\n");
    assert!(is_alive(launcher) && is_alive(agent));
}

#[test]
fn ctrl_z_offers_to_continue_and_enter_does() {
    let test_box = TestBox::new();
    let script = "trap 'echo again >> out' CONT; echo > ready; while :; do sleep 0.05; done";
    let record = test_box.prepare_script(script);
    let pane = test_box.start_in_pane(&record);
    test_box.read_when_written("ready");
    let (_, agent) = test_box.wait_for_agent(record.session);
    for round in 1..=2 {
        pane.press(&["C-z"]);
        wait::until_true("the stop on record", || is_suspended(&test_box, record.session));
        assert_eq!(process_state(agent), Some('T'));
        wait::until_true("the offer", || {
            pane.screen().matches("suspended: Enter continues").count() == round
        });
        pane.press(&["x", "C-c", "Enter"]);
        wait::until_true("the agent to go on", || !is_suspended(&test_box, record.session));
        wait::until_true("its CONT", || test_box.read("out").lines().count() == round);
    }
    // It has the terminal again: an interrupt ends it.
    pane.press(&["C-c"]);
    let record = test_box.wait_for_end(record.session);
    assert!(matches!(record.state, LaunchState::Ended { .. }));
}

#[test]
fn an_agent_that_somebody_else_continues_has_its_terminal_back() {
    let test_box = TestBox::new();
    let record =
        test_box.prepare_script("echo > ready; while read line; do echo $line > out; done");
    let pane = test_box.start_in_pane(&record);
    test_box.read_when_written("ready");
    let (_, agent) = test_box.wait_for_agent(record.session);
    send("STOP", agent);
    wait::until_true("the stop on record", || is_suspended(&test_box, record.session));
    send("CONT", agent);
    wait::until_true("the agent to go on", || !is_suspended(&test_box, record.session));
    pane.press(&["hello", "Enter"]);
    assert_eq!(test_box.read_when_written("out"), "hello\n");
}

#[test]
fn the_agent_sees_a_new_window_size() {
    let test_box = TestBox::new();
    let script = "trap 'stty size > out' WINCH; echo > ready; while :; do sleep 0.05; done";
    let record = test_box.prepare_script(script);
    let _pane = test_box.start_in_pane(&record);
    test_box.read_when_written("ready");
    test_box.tmux_says(&["resize-window", "-t", "=main:", "-x", "77", "-y", "22"]);
    assert_eq!(test_box.read_when_written("out"), "22 77\n");
}

#[test]
fn a_background_child_that_reads_the_terminal_stops() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("set -m; cat & echo $! > out; wait; exec sleep 1000");
    let pane = test_box.start_in_pane(&record);
    let child: i32 = test_box.read_when_written("out").trim().parse().unwrap();
    wait::until_true("the child to stop", || process_state(child) == Some('T'));
    pane.close();
    test_box.wait_for_end(record.session);
    assert!(!is_alive(child));
}
