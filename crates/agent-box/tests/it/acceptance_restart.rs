//! The reference's acceptance list, 124 to 137 and 226 to 230: stopping, restarting, and the
//! races that were found there.

use std::os::unix::fs::PermissionsExt as _;

use agent_box_testkit::{process, within};

use crate::scene::{
    add_claude, entry, events, quiet_box, say, state, supervised_box, wait_gone, wait_launches,
    wait_mirrored, wait_state,
};

#[test]
fn variables_are_set_listed_without_values_and_removed() {
    let scene = quiet_box();
    say(&scene, &["env", "set", "MY_TOKEN", "sekret"]);
    let file = || scene.read(".config/agent-box/env");
    assert!(file().lines().any(|line| line == "MY_TOKEN=sekret"), "{}", file());
    let mode = std::fs::metadata(scene.config().join("env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let listed = say(&scene, &["env", "ls"]);
    assert!(listed.contains("MY_TOKEN") && !listed.contains("sekret"), "{listed}");
    say(&scene, &["env", "rm", "MY_TOKEN"]);
    assert!(!file().contains("MY_TOKEN"));
}

#[test]
fn restart_all_starts_what_runs_anew_and_leaves_stopped_ones_alone() {
    let (scene, _supervisor) = supervised_box();
    for name in ["one", "two", "parked"] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
        wait_launches(&scene, name, 1);
    }
    say(&scene, &["stop", "parked"]);
    let before = scene.stubs().living();
    assert_eq!(before.len(), 2);
    say(&scene, &["restart", "--all"]);
    for name in ["one", "two"] {
        wait_launches(&scene, name, 2);
        wait_state(&scene, name, "live");
    }
    assert!(before.iter().all(|launch| !launch.is_alive()));
    assert!(state(&scene, "parked").starts_with("stopped"));
    say(&scene, &["restart", "--all", "--include-stopped"]);
    wait_launches(&scene, "parked", 2);
}

#[test]
fn an_agent_that_was_asked_to_quit_stays_stopped() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "quitter", &[]);
    wait_state(&scene, "quitter", "live");
    wait_launches(&scene, "quitter", 1);
    scene.tmux().type_line("quitter", "/exit");
    wait_state(&scene, "quitter", "stopped");
    within(10).until("it is written down", || entry(&scene, "quitter")["stopped"] == true);
    within(10).until("its terminal closes", || scene.tmux().sessions().is_empty());
    within(3).always("it stays stopped", || scene.stubs().launches().len() == 1);
    let listed = say(&scene, &["ls"]);
    let row = listed.lines().find(|line| line.starts_with("quitter")).unwrap();
    assert!(row.contains("claude") && row.contains("stopped"), "{row}");
    assert_eq!(events(&scene, "quitter", "park").len(), 1);
}

#[test]
fn a_stopped_session_stays_listed_and_restart_brings_it_back() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "main", &[]);
    wait_state(&scene, "main", "live");
    let launch = wait_launches(&scene, "main", 1);
    say(&scene, &["stop", "main"]);
    assert_eq!(entry(&scene, "main")["stopped"], true);
    wait_gone(&[launch.pid()]);
    within(3).always("it stays away", || scene.tmux().sessions().is_empty());
    let shown = state(&scene, "main");
    assert!(shown.starts_with("stopped(") && shown.contains("cli"), "{shown}");
    say(&scene, &["restart", "main"]);
    let again = wait_launches(&scene, "main", 2);
    assert_eq!(again.conversation(), launch.conversation());
    assert!(entry(&scene, "main").get("stopped").is_none());
}

#[test]
fn twenty_removals_at_any_moment_of_a_start_leave_nothing() {
    let (scene, _supervisor) = supervised_box();
    for round in 0..20 {
        let name = format!("r{round}");
        add_claude(&scene, &name, &["--prompt", "task"]);
        let pane = || scene.tmux().sessions().contains(&name);
        within(10).until("its terminal is there", pane);
        // 0 to 95 ms later.
        let pause = std::time::Duration::from_millis(5 * round);
        let woken = rustix::event::poll(&mut [], Some(&pause.try_into().unwrap()));
        assert_eq!(woken, Ok(0));
        say(&scene, &["rm", &name]);
        assert!(!pane(), "{name}");
    }
    within(2).always("nothing comes back", || {
        scene.tmux().sessions().is_empty() && scene.stubs().living().is_empty()
    });
    assert_eq!(crate::scene::names(&scene), Vec::<String>::new());
}

#[test]
fn first_starts_are_not_lost_beside_busy_operators() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "parked", &[]);
    wait_state(&scene, "parked", "live");
    std::thread::scope(|threads| {
        let scene = &scene;
        for _ in 0..3 {
            threads.spawn(move || {
                for _ in 0..6 {
                    say(scene, &["stop", "parked"]);
                    say(scene, &["restart", "parked"]);
                }
            });
        }
        for n in 0..12 {
            add_claude(scene, &format!("s{n}"), &["--prompt", &format!("task {n}")]);
        }
    });
    for n in 0..12 {
        let name = format!("s{n}");
        wait_state(&scene, &name, "live");
        let launch = wait_launches(&scene, &name, 1);
        assert_eq!(launch.prompt(), Some(&*format!("task {n}")));
        assert!(process::is_alive(launch.pid()));
        wait_mirrored(&scene, &name);
    }
    wait_state(&scene, "parked", "live");
    assert!(scene.stubs().doubles().is_empty());
}
