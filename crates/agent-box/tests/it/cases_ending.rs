//! Cases C10 to C20: deleting, dying and coming back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use agent_box_testkit::{TestBox, process, within};
use rustix::process::Signal;

use crate::scene::{
    add_claude, ask, edit_registry, entry, events, names, quiet_box, say, state, supervise,
    supervised_box, wait_gone, wait_launches, wait_mirrored, wait_state,
};

/// A tmux in front of the real one that runs `script` first; its own directory is `$0`'s.
fn wrap_tmux(scene: &mut TestBox, script: &str) -> PathBuf {
    let real = std::env::split_paths(&scene.environment()[&*std::ffi::OsString::from("PATH")])
        .map(|directory| directory.join("tmux"))
        .find(|program| program.exists())
        .expect("tmux is installed");
    scene.put("wrap/tmux", &format!("#!/bin/sh\n{script}\nexec {} \"$@\"\n", real.display()));
    let wrapper = scene.home().join("wrap/tmux");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    scene.set("AGENT_BOX_TMUX", &wrapper);
    wrapper
}

#[test]
fn c10_a_removal_ends_the_agent_although_tmux_gives_no_answer() {
    let mut scene = quiet_box();
    // Fails once for each file in `fail`, else passes the call on.
    let one_failure = "for it in \"${0%/*}\"/fail/*; do\n\
        [ -e \"$it\" ] && rm \"$it\" && { echo 'lost server' >&2; exit 1; }\ndone";
    wrap_tmux(&mut scene, one_failure);
    let _supervisor = supervise(&mut scene);
    for (name, failures) in [("once", 1), ("always", 50)] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
        let agent = wait_launches(&scene, name, 1).pid();
        for n in 0..failures {
            scene.put(format!("wrap/fail/{n}"), "");
        }
        say(&scene, &["rm", name]);
        assert!(!process::is_alive(agent), "{name}");
        let _ = fs::remove_dir_all(scene.home().join("wrap/fail"));
        within(10).until("its terminal is gone", || scene.tmux().sessions().is_empty());
        // Removing again is success: the session is gone.
        say(&scene, &["rm", name]);
    }
}

#[test]
fn c13_a_finished_agent_is_not_started_again_and_the_list_follows_the_file() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan(r#"{"done": {"exit": 0, "after_ms": 400}}"#);
    for name in ["done", "works"] {
        say(&scene, &["add", name, "--agent", "generic", "--cwd", "."]);
    }
    wait_state(&scene, "done", "stopped");
    wait_mirrored(&scene, "works");
    let works = wait_launches(&scene, "works", 1).pid();
    within(10).until("it is written down", || entry(&scene, "done")["stopped"] == true);
    edit_registry(&scene, |document| {
        let sessions = document["sessions"].as_object_mut().unwrap();
        sessions.remove("done");
        sessions.remove("works");
    });
    wait_gone(&[works]);
    within(3).always("nothing is started again", || scene.stubs().launches().len() == 2);
    assert_eq!(state(&scene, "done"), "");
    assert_eq!(state(&scene, "works"), "");
}

#[test]
fn c14_ten_starts_disturb_nobody_and_every_death_is_in_the_journal_with_its_cause() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan_every(r#"{"write_pid_every_second": true}"#);
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    for name in &names {
        say(&scene, &["add", name, "--agent", "generic", "--cwd", "."]);
    }
    within(25).until("each wrote its pid twice", || {
        names.iter().all(|name| scene.stubs().pids(name).len() >= 2)
    });
    for name in &names {
        let mut pids = scene.stubs().pids(name);
        pids.dedup();
        assert_eq!(pids.len(), 1, "{name}");
        assert_eq!(scene.stubs().launches_of(name).len(), 1, "{name}");
    }

    let pid = |name: &str| scene.stubs().launches_of(name)[0].pid();
    let cause = |name: &str| {
        let what = format!("the end of {name} is in the journal");
        let exit = within(10).for_some(&what, || events(&scene, name, "exit").first().cloned());
        exit["details"].clone()
    };
    scene.tmux().type_line("s0", "exit 7");
    assert_eq!(cause("s0")["code"], "7");
    process::send(pid("s1"), Signal::KILL);
    assert_eq!(cause("s1")["signal"], "9");
    say(&scene, &["rm", "s2"]);
    assert_eq!(cause("s2")["asked"], "true");
    let removed = events(&scene, "s2", "removed");
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0]["by"], "cli");
}

#[test]
fn c17_a_silent_or_missing_tmux_restarts_nothing_and_recovers_by_itself() {
    let mut scene = quiet_box();
    let wrapper = wrap_tmux(&mut scene, "");
    let supervisor = supervise(&mut scene);
    for name in ["one", "two"] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
    }
    let agents = ["one", "two"].map(|name| wait_launches(&scene, name, 1));
    wait_mirrored(&scene, "one");
    wait_mirrored(&scene, "two");
    let undisturbed = |scene: &TestBox| {
        let launched_once = |name| scene.stubs().launches_of(name).len() == 1;
        agents.iter().all(agent_box_testkit::Launch::is_alive)
            && launched_once("one")
            && launched_once("two")
    };
    let touch = |scene: &TestBox, n: u64| {
        edit_registry(scene, |document| document["touched"] = n.into());
    };

    let server = scene.tmux().server_pid().expect("a tmux server runs");
    process::send(server, Signal::STOP);
    touch(&scene, 1);
    let shown = state(&scene, "one");
    assert!(shown == "live" || shown.starts_with("unknown"), "{shown}");
    let listed = ask(&scene, &["ls"]);
    assert!(listed["tmux"].as_str().is_some_and(|text| text.contains("tmux")), "{listed}");
    add_claude(&scene, "three", &[]);
    within(3).always("no agent is disturbed", || undisturbed(&scene));
    assert!(supervisor.output().contains("tmux gives no answer"), "{}", supervisor.output());
    process::send(server, Signal::CONT);
    within(5).until("what waited for tmux runs", || state(&scene, "three") == "live");

    let aside = wrapper.with_extension("aside");
    fs::hard_link(&wrapper, &aside).unwrap();
    fs::remove_file(&wrapper).unwrap();
    touch(&scene, 2);
    let shown = state(&scene, "one");
    assert!(shown == "live" || shown.starts_with("unknown"), "{shown}");
    within(3).always("no agent is disturbed", || undisturbed(&scene));
    fs::hard_link(&aside, &wrapper).unwrap();

    touch(&scene, 3);
    add_claude(&scene, "four", &[]);
    wait_state(&scene, "four", "live");
    assert_eq!(state(&scene, "one"), "live");
    assert!(agents.iter().all(agent_box_testkit::Launch::is_alive));
}

#[test]
fn c19_an_agent_that_dies_at_once_is_held_as_crash_looping_over_a_supervisor_restart() {
    let (mut scene, supervisor) = supervised_box();
    scene.stubs().plan(r#"{"dies": {"print": "the last line", "signal": 11}}"#);
    add_claude(&scene, "well", &[]);
    wait_state(&scene, "well", "live");
    add_claude(&scene, "dies", &[]);
    say(&scene, &["add", "shell", "--agent", "shell", "--", "-c", "exit 3"]);
    wait_launches(&scene, "dies", 2);
    wait_state(&scene, "dies", "backing-off");
    supervisor.kill();
    let _supervisor = supervise(&mut scene);
    // 1 + 2 + 4 + 8 seconds between five deaths.
    for name in ["dies", "shell"] {
        within(28).until(name, || state(&scene, name).starts_with("crash-looping(5"));
        assert_eq!(events(&scene, name, "exit").len(), 5, "{name}");
    }
    within(2).always("nothing more is started", || scene.stubs().launches_of("dies").len() == 5);
    assert_eq!(scene.stubs().launches_of("well").len(), 1);
    let why = say(&scene, &["why", "dies"]);
    assert!(why.contains("the last line") && why.contains("restart"), "{why}");

    scene.stubs().plan("{}");
    say(&scene, &["restart", "dies"]);
    wait_launches(&scene, "dies", 6);
    wait_state(&scene, "dies", "live");
}

#[test]
fn c19_a_missing_program_is_said_and_tried_again_until_it_is_there() {
    let mut scene = quiet_box();
    let program = scene.stubs().program("generic");
    let target = fs::read_link(&program).unwrap();
    add_claude(&scene, "well", &[]);
    say(&scene, &["add", "lost", "--agent", "generic", "--cwd", "."]);
    fs::remove_file(&program).unwrap();
    let _supervisor = supervise(&mut scene);
    wait_state(&scene, "lost", "error");
    wait_state(&scene, "well", "live");
    let shown = state(&scene, "lost");
    assert!(shown.contains("generic"), "{shown}");
    std::os::unix::fs::symlink(target, &program).unwrap();
    wait_state(&scene, "lost", "live");
    assert_eq!(scene.stubs().launches_of("well").len(), 1);
}

#[test]
fn c20_an_expired_login_holds_its_own_session_only() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan(r#"{"out": {"login_error": true}, "codex-out": {"login_error": true}}"#);
    add_claude(&scene, "well", &[]);
    add_claude(&scene, "out", &[]);
    say(&scene, &["add", "codex-out", "--agent", "codex", "--cwd", "."]);
    wait_state(&scene, "out", "needs-login");
    wait_state(&scene, "codex-out", "needs-login");
    wait_launches(&scene, "well", 1);
    within(3).always("nothing is started again", || scene.stubs().launches().len() == 3);
    scene.stubs().plan("{}");
    say(&scene, &["restart", "out"]);
    wait_state(&scene, "out", "live");
    assert_eq!(names(&scene).len(), 3);
}
