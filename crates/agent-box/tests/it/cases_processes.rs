//! Cases C48 to C54: what agents leave behind, numbers that are reused, and starts that hang.

use agent_box_testkit::{process, within};

use crate::scene::{
    add_claude, ask, quiet_box, say, state, supervise, supervised_box, wait_launches, wait_state,
};

#[test]
fn c48_a_removal_returns_only_when_hidden_deaf_descendants_are_gone() {
    let (scene, _supervisor) = supervised_box();
    let leaves = r#"{"ignore_hup": true, "fork_child": true, "fork_setsid": true}"#;
    scene.stubs().plan_every(leaves);
    for (verb, name) in [("rm", "removed"), ("stop", "stopped"), ("restart", "restarted")] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
        let agent = wait_launches(&scene, name, 1).pid();
        let mut all = within(10).for_some("both are left behind", || {
            let mut all = scene.stubs().descendants();
            all.retain(|&pid| process::is_alive(pid) && belongs_to(pid, agent));
            (all.len() == 2).then_some(all)
        });
        all.push(agent);
        say(&scene, &[verb, name]);
        let left: Vec<i32> = all.into_iter().filter(|&pid| process::is_alive(pid)).collect();
        assert_eq!(left, Vec::<i32>::new(), "{verb}");
    }
}

/// Whether two processes carry the same launch.
fn belongs_to(pid: i32, agent: i32) -> bool {
    let launch = |pid| process::variable(pid, "AGENT_BOX_LAUNCH_ID");
    launch(agent).is_some() && launch(pid) == launch(agent)
}

#[test]
fn c50_a_failed_agent_leaves_a_post_mortem_and_no_shell() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan_every(r#"{"print": "my last words", "exit": 3}"#);
    let names: Vec<String> = (0..12).map(|n| format!("s{n}")).collect();
    for name in &names {
        add_claude(&scene, name, &[]);
    }
    for name in &names {
        wait_state(&scene, name, "post-mortem");
        assert_eq!(state(&scene, name), "post-mortem(3)");
        let pane = scene.tmux().pane_pid(name).expect("its pane is there");
        within(5).until("nothing but the launcher is left", || process::children(pane).is_empty());
        let arguments = process::arguments(pane);
        assert!(arguments.iter().any(|word| word == "pane"), "{arguments:?}");
    }
    assert!(scene.tmux().screen("s0").contains("my last words"));
    let why = ask(&scene, &["why", "s0"]);
    assert!(why["lastWords"].as_str().unwrap().contains("my last words"), "{why}");
    // The words are on file: a new pane shows them again.
    scene.tmux().kill_server();
    within(20).until("it is shown again", || scene.tmux().screen("s0").contains("my last words"));
    assert_eq!(scene.stubs().launches().len(), names.len());
}

#[test]
fn the_keys_of_a_post_mortem_restart_and_park_the_session() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan(r#"{"one": [{"exit": 3}, {"exit": 4}]}"#);
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "post-mortem(3)");
    // It is there once its help is; keys before that were meant for the agent.
    let shown = |code: &str| {
        let screen = scene.tmux().screen("one");
        screen.contains(&format!("exit code {code}")) && screen.contains("park the session")
    };
    within(10).until("the help is shown", || shown("3"));
    scene.tmux().run(&["send-keys", "-t", "=one:", "r"]);
    wait_state(&scene, "one", "post-mortem(4)");
    within(10).until("the help is shown", || shown("4"));
    scene.tmux().run(&["send-keys", "-t", "=one:", "q"]);
    wait_state(&scene, "one", "stopped");
    within(10).until("its pane closes", || scene.tmux().sessions().is_empty());
    assert_eq!(scene.stubs().launches().len(), 2);
    say(&scene, &["restart", "one"]);
    wait_launches(&scene, "one", 3);
    wait_state(&scene, "one", "live");
}

#[test]
fn c51_a_lock_is_a_held_file_and_never_a_number_in_one() {
    let mut scene = quiet_box();
    for file in ["supervisor.lock", "supervisor.pid"] {
        scene.put(format!(".local/state/agent-box/{file}"), &format!("{}\n", std::process::id()));
    }
    let supervisor = supervise(&mut scene);
    let second = scene.run(&["supervise"]);
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains(&supervisor.pid().to_string()), "{}", second.stderr);
    assert!(ask(&scene, &["ls"])["supervised"].as_bool().unwrap());
    supervisor.kill();
    assert!(!ask(&scene, &["ls"])["supervised"].as_bool().unwrap());
    supervise(&mut scene);
}

#[test]
#[cfg(feature = "testpoints")]
fn c54_a_start_that_hangs_delays_nobody_else() {
    let (scene, _supervisor) = supervised_box();
    scene.points().arm("supervisor.after-planning", "pause-once");
    add_claude(&scene, "hangs", &[]);
    scene.points().wait_reached("supervisor.after-planning");
    add_claude(&scene, "goes", &[]);
    wait_state(&scene, "goes", "live");
    assert_eq!(state(&scene, "hangs"), "starting");
    say(&scene, &["stop", "goes"]);
    say(&scene, &["rm", "hangs"]);
    assert_eq!(state(&scene, "hangs"), "");
    scene.points().release("supervisor.after-planning");
    within(2).always("it never appears", || scene.stubs().launches_of("hangs").is_empty());
}
