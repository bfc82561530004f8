//! Files of ours that cannot be used, and processes that cannot be caught: nothing that was asked
//! for is said to be done when it is not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use agent_box_testkit::{TestBox, process, within};
use rustix::process::Signal;

use crate::scene::{
    add_claude, id_of, record, say, state, supervise, supervised_box, wait_conversation,
    wait_launches, wait_mirrored, wait_state,
};

const STATE: &str = ".local/state/agent-box";

/// Cuts a session's launch record short, as a failing disk would: once the agent is
/// live and mirrored, for launcher and supervisor would replace the damaged bytes with whole ones.
fn damage_record(scene: &TestBox, name: &str) {
    let id = id_of(scene, name);
    wait_mirrored(scene, name);
    scene.put(format!("{STATE}/launches/{id}.json"), "{\"version\": 1,\n");
}

#[test]
fn a_session_whose_record_is_damaged_is_ended_all_the_same() {
    let (scene, supervisor) = supervised_box();
    for name in ["stopped", "removed"] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
    }
    let pids = ["stopped", "removed"].map(|name| wait_launches(&scene, name, 1).pid());
    supervisor.kill();
    for name in ["stopped", "removed"] {
        damage_record(&scene, name);
    }
    say(&scene, &["stop", "stopped"]);
    say(&scene, &["rm", "removed"]);
    assert_eq!(pids.map(process::is_alive), [false, false]);
}

#[test]
fn a_damaged_record_explains_itself_and_has_a_way_out() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    damage_record(&scene, "one");
    let why = say(&scene, &["why", "one"]);
    assert!(why.contains("is damaged at byte") && why.contains("move the file away"), "{why}");
    // Not "the supervisor brings it back": with this record it does not.
    let restart = scene.run(&["restart", "one"]).expect_code(1).stdout;
    for said in ["was ended and does not start again", "is damaged at byte", "move the file away"] {
        assert!(restart.contains(said), "{restart}");
    }
    // The way that it names.
    say(&scene, &["stop", "one"]);
    let id = id_of(&scene, "one");
    fs::remove_file(scene.home().join(STATE).join(format!("launches/{id}.json"))).unwrap();
    say(&scene, &["restart", "one"]);
    wait_launches(&scene, "one", 2);
    wait_state(&scene, "one", "live");
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn a_journal_that_cannot_be_written_stops_no_start_and_no_end() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    let pid = wait_launches(&scene, "one", 1).pid();
    let journal = scene.home().join(STATE).join("journal.jsonl");
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    let removal = scene.run(&["rm", "one"]).expect_code(1);
    assert!(removal.stderr.contains("journal.jsonl"), "{}", removal.stderr);
    assert!(!process::is_alive(pid));
    scene.run(&["add", "two", "--agent", "claude", "--cwd", "."]).expect_code(1);
    wait_launches(&scene, "two", 1);
}

#[test]
fn processes_that_fork_and_exit_all_the_time_are_ended_too() {
    let (mut scene, supervisor) = supervised_box();
    let program = scene.stubs().program("generic");
    fs::remove_file(&program).unwrap();
    let beat = scene.home().join("beat");
    // In a kernel session of its own each time, so that only its mark tells whose it is.
    let script = format!(
        "#!/bin/sh\ntrap '' HUP TERM\n[ -e {0}.end ] && exit\n: > {0}\n\
         case $1 in hop) setsid \"$0\" hop & exit;; esac\n\
         for i in 1 2 3; do setsid \"$0\" hop & done\nsleep 60\n",
        beat.display()
    );
    scene.put("bin/generic", &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for round in 0..3 {
        let name = format!("hopper-{round}");
        say(&scene, &["add", &name, "--agent", "generic", "--cwd", "."]);
        within(10).until("it hops", || beat.exists());
        if round == 1 {
            // Without the launcher nobody sees them end.
            let pane = scene.tmux().pane_pid(&name).unwrap();
            process::send(pane, Signal::STOP);
        }
        say(&scene, &["rm", &name]);
        let _ = fs::remove_file(&beat);
        within(1).always("nothing of it runs", || !beat.exists());
    }
    scene.put("beat.end", "");
    supervisor.kill();
    supervise(&mut scene);
}

#[test]
fn a_launcher_that_was_killed_beside_a_split_pane_is_missed() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    wait_launches(&scene, "one", 1);
    scene.tmux().run(&["split-window", "-t", "=one:", "sleep 1000"]);
    let launcher = record(&scene, &id_of(&scene, "one"))["state"]["launcher"]["pid"].clone();
    process::send(i32::try_from(launcher.as_i64().unwrap()).unwrap(), Signal::KILL);
    wait_launches(&scene, "one", 2);
    wait_state(&scene, "one", "live");
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn a_name_that_a_renamed_terminal_holds_is_said_and_free_again_later() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    scene.tmux().run(&["rename-session", "-t", "=one", "two"]);
    add_claude(&scene, "two", &[]);
    wait_state(&scene, "two", "error");
    let told = state(&scene, "two");
    assert!(told.contains("session `one`") && told.contains("rename"), "{told}");
    scene.tmux().run(&["rename-session", "-t", "=two", "one"]);
    wait_state(&scene, "two", "live");
    assert_eq!(scene.stubs().launches_of("one").len(), 1);
}

/// Red once with `Store::rotation(..).ok()` in the start.
#[test]
fn what_a_start_could_not_read_is_said_and_stops_nothing() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    let first = wait_conversation(&scene, "one", 1);
    wait_mirrored(&scene, "one");
    let rotation = scene.home().join(STATE).join("live-session-id").join(first.conversation());
    within(10).until("its hook has noted the conversation", || rotation.exists());
    fs::remove_file(&rotation).unwrap();
    fs::create_dir(&rotation).unwrap();
    scene.put(".config/agent-box/env", "export TOKEN=secret\n# fine\nGOOD=1\n");
    say(&scene, &["restart", "one"]);
    let again = wait_launches(&scene, "one", 2);
    assert_eq!(again.conversation(), first.conversation());
    let why = say(&scene, &["why", "one"]);
    assert!(why.contains("where the conversation moved on to is not known"), "{why}");
    assert!(why.contains("env line 1 is no KEY=value") && !why.contains("secret"), "{why}");
}

#[test]
fn status_says_what_somebody_should_mend() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    assert_eq!(status(&scene)["concerns"], serde_json::json!([]));
    let config = scene.config();
    fs::set_permissions(&config, fs::Permissions::from_mode(0o777)).unwrap();
    scene.put(".config/agent-box/env", "no variable\n");
    scene.put(format!("{STATE}/identities.json"), "{\"version\": 1,\n");
    let concerns = status(&scene)["concerns"].to_string();
    fs::set_permissions(&config, fs::Permissions::from_mode(0o700)).unwrap();
    for expected in ["chmod go-w", "env line 1", "identities.json"] {
        assert!(concerns.contains(expected), "{expected}: {concerns}");
    }
}

fn status(scene: &TestBox) -> serde_json::Value {
    serde_json::from_str(&say(scene, &["status", "--json"])).unwrap()
}
