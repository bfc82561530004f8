//! Cases C21 to C29: tmux's own traps.

use std::fs;

use agent_box_testkit::{PrivateTmux, TestBox, process, within};
use rustix::process::Signal;
use serde_json::Value;

use crate::scene::{
    PROGRAM, add_claude, ask, edit_registry, id_of, quiet_box, record, say, state, supervise,
    supervised_box, wait_launches, wait_mirrored, wait_state,
};

#[test]
fn c21_removing_a_name_twice_leaves_longer_names_alive() {
    let (scene, _supervisor) = supervised_box();
    for name in ["a", "a-1", "a-10"] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
    }
    scene.run(&["add", "a*", "--agent", "claude"]).expect_code(2);
    say(&scene, &["rm", "a"]);
    say(&scene, &["rm", "a"]);
    scene.run(&["rm", "a*"]).expect_code(2);
    assert_eq!(state(&scene, "a"), "");
    for name in ["a-1", "a-10"] {
        assert_eq!(state(&scene, name), "live");
        assert_eq!(scene.stubs().launches_of(name).len(), 1);
    }
    let mut sessions = scene.tmux().sessions();
    sessions.sort();
    assert_eq!(sessions, ["a-1", "a-10"]);
}

#[test]
fn c23_without_any_locale_wide_characters_go_round_byte_for_byte() {
    const WORDS: &str = "협업 🚀 проект é";
    let (scene, _supervisor) = supervised_box();
    assert!(scene.environment().keys().all(|key| key != "LANG" && key != "LC_ALL"));
    scene.stubs().plan_every(&format!(r#"{{"print": "{WORDS}"}}"#));
    let directory = scene.home().join(WORDS);
    fs::create_dir(&directory).unwrap();
    let place = directory.to_str().unwrap();
    // A label is plain ASCII by contract.
    scene.run(&["add", "협업", "--agent", "claude"]).expect_code(2);
    say(&scene, &["add", "wide", "--agent", "claude", "--cwd", place, "--prompt", WORDS]);
    wait_state(&scene, "wide", "live");
    let launch = wait_launches(&scene, "wide", 1);
    assert_eq!(launch.text("/cwd"), Some(place));
    assert_eq!(launch.prompt(), Some(WORDS));
    assert_eq!(ask(&scene, &["ls"])["sessions"][0]["directory"], place);
    within(5).until("the screen shows it", || scene.tmux().screen("wide").contains(WORDS));
    assert_eq!(scene.tmux().format("wide", "#{pane_current_path}"), place);
    // Its transcript is found again.
    scene.tmux().kill_server();
    let again = wait_launches(&scene, "wide", 2);
    assert!(again.is_resumed());
    assert_eq!(again.conversation(), launch.conversation());
}

/// What the agent was told: the prompt itself, or the file that a short prompt names.
fn told(launch: &agent_box_testkit::Launch, prompt: &str) -> bool {
    if launch.has_prompt(prompt) {
        return true;
    }
    let words = launch.prompt().unwrap_or_default().split(|c: char| "`'\" \n".contains(c));
    let paths = words.filter(|word| word.starts_with('/'));
    paths
        .map(|path| path.trim_end_matches(['.', ',', ':']))
        .any(|path| fs::read_to_string(path).is_ok_and(|text| text == prompt))
}

#[test]
fn c24_prompts_of_any_size_and_content_reach_the_agent_byte_for_byte() {
    let (scene, _supervisor) = supervised_box();
    let megabyte = "0123456789abcde\n".repeat(65_536);
    let wide = "漢字".repeat(34_000);
    let hostile = "'\"$(touch pwned)`touch pwned`\n\t; \\; #{pane_id} %1 {} \u{1b}[0m \\";
    for (name, prompt) in [("big", &*megabyte), ("wide", &*wide), ("hostile", hostile)] {
        let add = ["add", name, "--agent", "claude", "--cwd", ".", "--prompt-file", "-"];
        scene.command(&add).stdin(prompt).run().expect_success();
        wait_state(&scene, name, "live");
        assert!(told(&wait_launches(&scene, name, 1), prompt), "{name}");
    }
    assert!(!scene.project().join("pwned").exists());
    for text in [&b"a\0b"[..], b"\xff\xfe"] {
        let add = ["add", "refused", "--agent", "claude", "--prompt-file", "-"];
        let refused = scene.command(&add).stdin(text).run().expect_code(2);
        assert!(refused.stderr.contains("prompt"), "{}", refused.stderr);
    }
    assert_eq!(state(&scene, "refused"), "");
}

#[test]
fn c24_a_start_that_cannot_work_is_shown_with_its_reason() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "much", &[]);
    wait_launches(&scene, "much", 1);
    wait_mirrored(&scene, "much");
    // Linux takes no argument word of more than 128 KiB.
    edit_registry(&scene, |document| {
        document["sessions"]["much"]["extraArgs"] = vec!["w".repeat(140_000)].into();
    });
    say(&scene, &["restart", "much"]);
    wait_state(&scene, "much", "error");
    assert_eq!(scene.stubs().launches_of("much").len(), 1);
    let why = say(&scene, &["why", "much"]);
    assert!(why.contains("argument"), "{why}");
    edit_registry(&scene, |document| {
        document["sessions"]["much"]["extraArgs"] = vec!["w".repeat(100_000)].into();
    });
    say(&scene, &["restart", "much"]);
    wait_state(&scene, "much", "live");
    let launch = wait_launches(&scene, "much", 2);
    assert_eq!(launch.value()["argv_digests"].as_array().unwrap().last().unwrap()["len"], 100_000);
}

#[test]
fn c25_prompts_are_never_typed_so_a_deaf_terminal_loses_none() {
    const SESSIONS: usize = 24;
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan_every(r#"{"deaf_ms": 10000}"#);
    for n in 0..SESSIONS {
        add_claude(&scene, &format!("s{n}"), &["--prompt", &format!("task {n}")]);
    }
    within(25).until("all were launched", || scene.stubs().launches().len() >= SESSIONS);
    for n in 0..SESSIONS {
        let launches = scene.stubs().launches_of(&format!("s{n}"));
        assert_eq!(launches.len(), 1, "s{n}");
        assert_eq!(launches[0].prompt(), Some(&*format!("task {n}")));
    }
}

#[test]
fn c27_a_directory_that_is_gone_starts_nothing_elsewhere() {
    let (scene, _supervisor) = supervised_box();
    let place = scene.home().join("place");
    fs::create_dir(&place).unwrap();
    let text = place.to_str().unwrap();
    say(&scene, &["add", "one", "--agent", "claude", "--cwd", text]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1);
    fs::remove_dir_all(&place).unwrap();
    process::send(agent.pid(), Signal::KILL);
    wait_state(&scene, "one", "error");
    assert!(state(&scene, "one").contains(text), "{}", state(&scene, "one"));
    std::os::unix::fs::symlink(&place, &place).unwrap();
    say(&scene, &["restart", "one"]);
    wait_state(&scene, "one", "error");
    assert_eq!(scene.stubs().launches_of("one").len(), 1);
    // Once it is there again, so is the session.
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert_eq!(wait_launches(&scene, "one", 2).text("/cwd"), Some(text));
    wait_state(&scene, "one", "live");

    let none = scene.home().join("none");
    for refused in [none.to_str().unwrap(), "/etc/passwd"] {
        let add = ["add", "two", "--agent", "claude", "--cwd", refused];
        scene.run(&add).expect_code(2);
    }
}

#[test]
fn c29_a_users_own_tmux_and_another_box_are_not_touched() {
    let mut scene = quiet_box();
    let mut other = TestBox::new(PROGRAM);
    // Both boxes on one tmux server, and a server of the user's own.
    let runtime = scene.environment()[&*std::ffi::OsString::from("AGENT_BOX_RUNTIME_DIR")].clone();
    other.set("AGENT_BOX_RUNTIME_DIR", runtime);
    let own = PrivateTmux::new(scene.home().join("run/own"), scene.home());
    assert!(own.start("mine", &["sleep", "600"]).status.success());
    let supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    add_claude(&scene, "shared", &[]);
    wait_state(&scene, "one", "live");
    wait_state(&scene, "shared", "live");
    assert!(scene.tmux().start("by-hand", &["sleep", "600"]).status.success());

    // The other one's supervisor is refused: one per socket.
    let refused = other.run(&["supervise"]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("supervisor"), "{}", refused.stderr);
    drop(supervisor);
    let _supervisor = supervise(&mut other);
    add_claude(&other, "two", &[]);
    wait_state(&other, "two", "live");
    add_claude(&other, "shared", &[]);
    wait_state(&other, "shared", "error");
    say(&other, &["rm", "shared"]);
    say(&other, &["rm", "two"]);
    say(&other, &["restart", "--all", "--include-stopped"]);
    for name in ["one", "shared"] {
        assert_eq!(scene.stubs().launches_of(name).len(), 1);
        assert!(scene.stubs().launches_of(name)[0].is_alive());
    }
    assert_eq!(own.sessions(), ["mine"]);
    assert!(scene.tmux().sessions().contains(&"by-hand".to_owned()));
    assert_eq!(state(&scene, "by-hand"), "unmanaged");
    scene.run(&["rm", "by-hand"]).expect_code(2);
    let foreign: Value = record(&other, &id_of(&scene, "one"));
    assert!(foreign.is_null(), "the homes share nothing");
}
