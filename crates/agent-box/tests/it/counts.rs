//! What the program costs, as counts: tmux clients, passes, forks. Wall time is the benchmark's.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use agent_box_testkit::{Supervisor, TestBox, within};

use crate::scene::{
    add_claude, edit_registry, quiet_box, say, supervise, wait_launches, wait_state,
};

/// Makes every tmux client leave a line, wherever it is started.
fn counted_tmux(scene: &mut TestBox) {
    let log = scene.home().join("clients.log");
    let program = scene.home().join("counted-tmux");
    let text = format!("#!/bin/sh\necho client >> '{}'\nexec tmux \"$@\"\n", log.display());
    scene.put("counted-tmux", &text);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    scene.set("AGENT_BOX_TMUX", program);
}

fn clients(scene: &TestBox) -> usize {
    fs::read_to_string(scene.home().join("clients.log")).unwrap_or_default().lines().count()
}

/// The round trips of each pass so far.
fn passes(supervisor: &Supervisor) -> Vec<String> {
    let log = supervisor.output();
    let trips = log.lines().filter_map(|line| line.split_once("round_trips="));
    trips.map(|(_, count)| count.chars().take_while(char::is_ascii_digit).collect()).collect()
}

/// Waits until no pass happened for half a second, and returns how many there were.
fn settled(supervisor: &Supervisor) -> usize {
    within(20).for_some("the supervisor comes to rest", || {
        let before = passes(supervisor).len();
        let is_quiet = !within(1).becomes(|| passes(supervisor).len() > before);
        is_quiet.then_some(before)
    })
}

#[test]
fn a_pass_over_many_sessions_is_one_tmux_round_trip_and_a_quiet_box_makes_none() {
    let mut scene = quiet_box();
    scene.set("AGENT_BOX_LOG", "debug");
    let supervisor = supervise(&mut scene);
    for n in 0..12 {
        add_claude(&scene, &format!("s{n}"), &[]);
    }
    within(20).until("all run", || scene.stubs().launches().len() == 12);
    let before = settled(&supervisor);
    // Only the safety tick (30 s) may look now.
    within(3).always("nothing is looked at", || passes(&supervisor).len() <= before + 1);
    let before = passes(&supervisor).len();
    edit_registry(&scene, |document| document["note"] = "by hand".into());
    within(5).until("the edit is seen", || passes(&supervisor).len() > before);
    settled(&supervisor);
    let passes = passes(&supervisor);
    assert!(passes[before..].iter().all(|trips| trips == "1"), "{:?}", &passes[before..]);
}

#[test]
fn a_list_costs_one_tmux_client_and_a_removal_at_most_two() {
    let mut scene = quiet_box();
    counted_tmux(&mut scene);
    let supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    wait_launches(&scene, "one", 1);
    wait_state(&scene, "one", "live");
    // Without the supervisor, so that only the command's own clients are counted.
    supervisor.kill();
    let before = clients(&scene);
    say(&scene, &["ls"]);
    assert_eq!(clients(&scene) - before, 1);
    let before = clients(&scene);
    say(&scene, &["rm", "one"]);
    assert!(clients(&scene) - before <= 2, "{}", clients(&scene) - before);
    assert_eq!(scene.stubs().living().len(), 0);
}
