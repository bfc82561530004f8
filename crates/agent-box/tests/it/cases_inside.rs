//! The verbs from inside the session they are about, and without a supervisor.

use agent_box_testkit::{TestBox, process, within};

use crate::scene::{
    PROGRAM, add_claude, ask, entry, quiet_box, say, state, supervise, supervised_box, wait_gone,
    wait_launches, wait_state,
};

/// A live shell session that can call the program as `box`.
fn add_shell(scene: &TestBox, name: &str) {
    let link = scene.home().join("bin/box");
    if !link.exists() {
        std::os::unix::fs::symlink(PROGRAM, link).unwrap();
    }
    say(scene, &["add", name, "--agent", "shell", "--cwd", "."]);
    wait_state(scene, name, "live");
}

/// Types a call of the program into a shell session; its exit code ends up in a file.
fn type_call(scene: &TestBox, session: &str, call: &str) {
    // The shell was given the list of the user's variables only, so the socket is named again.
    let runtime = scene.home().join("run");
    let line = format!(
        "AGENT_BOX_RUNTIME_DIR={} {} {call}; echo $? > {}/code-{session}",
        runtime.display(),
        scene.home().join("bin/box").display(),
        scene.home().display(),
    );
    scene.tmux().type_line(session, &line);
}

#[test]
fn a_session_can_remove_stop_and_restart_itself() {
    let (scene, _supervisor) = supervised_box();
    for (verb, name) in [("rm", "removed"), ("stop", "stopped"), ("restart", "restarted")] {
        add_shell(&scene, name);
        let pane = scene.tmux().pane_pid(name).unwrap();
        type_call(&scene, name, &format!("{verb} {name}"));
        wait_gone(&[pane]);
    }
    within(10).until("it is off the list", || state(&scene, "removed").is_empty());
    wait_state(&scene, "stopped", "stopped");
    wait_state(&scene, "restarted", "live");
    assert!(scene.tmux().sessions().iter().all(|name| name == "restarted"));
}

#[test]
fn without_a_supervisor_a_session_does_not_end_itself_halfway() {
    let (scene, supervisor) = supervised_box();
    add_shell(&scene, "one");
    let pane = scene.tmux().pane_pid("one").unwrap();
    supervisor.kill();
    type_call(&scene, "one", "rm one");
    let code = within(10).for_some("the call was refused", || {
        let code = scene.read("code-one");
        code.ends_with('\n').then_some(code)
    });
    assert_eq!(code.trim(), "2");
    assert!(process::is_alive(pane));
    assert!(entry(&scene, "one").is_object());
    assert!(scene.tmux().screen("one").contains("agent-box up"));
}

#[test]
fn from_inside_one_session_another_one_is_removed_at_once() {
    let (scene, supervisor) = supervised_box();
    add_shell(&scene, "one");
    add_shell(&scene, "two");
    let pane = scene.tmux().pane_pid("two").unwrap();
    supervisor.kill();
    type_call(&scene, "one", "rm two");
    within(10).until("it succeeded", || scene.read("code-one").trim() == "0");
    assert!(!process::is_alive(pane));
    assert_eq!(scene.tmux().sessions(), ["one"]);
}

#[test]
fn removing_and_stopping_need_no_supervisor_and_starting_says_that_it_does() {
    let mut scene = quiet_box();
    let supervisor = supervise(&mut scene);
    for name in ["one", "two", "three"] {
        say(&scene, &["add", name, "--agent", "generic", "--cwd", "."]);
        wait_state(&scene, name, "live");
    }
    supervisor.kill();
    within(5).until("all wrote that they run", || scene.stubs().living().len() == 3);
    say(&scene, &["rm", "one"]);
    say(&scene, &["stop", "two"]);
    let restarted = say(&scene, &["restart", "three"]);
    assert!(restarted.contains("agent-box up"), "{restarted}");
    assert!(scene.stubs().living().is_empty());
    assert!(!ask(&scene, &["ls"])["supervised"].as_bool().unwrap());
    let added = scene.run(&["add", "four", "--agent", "generic"]).expect_success();
    assert!(added.stderr.contains("agent-box up"), "{}", added.stderr);

    let _supervisor = supervise(&mut scene);
    wait_state(&scene, "three", "live");
    wait_state(&scene, "four", "live");
    assert_eq!(scene.stubs().launches_of("one").len(), 1);
    assert_eq!(scene.stubs().launches_of("two").len(), 1);
}

#[test]
fn a_supervisor_is_not_started_inside_a_session_that_would_end_it() {
    let (scene, supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    let launch = wait_launches(&scene, "one", 1);
    let id = launch.variable("AGENT_BOX_LAUNCH_ID").unwrap().to_owned();
    supervisor.kill();
    let inside = scene.command(&["supervise"]).env("AGENT_BOX_LAUNCH_ID", &id).run();
    let inside = inside.expect_code(1);
    assert!(inside.stderr.contains("from another terminal"), "{}", inside.stderr);
    assert!(launch.is_alive());
}
