//! The command line's own promises: exit codes, JSON, help, history and undo.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use agent_box_testkit::{PrivateTmux, TestBox, process, within};
use serde_json::Value;

use crate::scene::{
    PROGRAM, add_claude, ask, id_of, parse, put_registry, quiet_box, say, state, supervised_box,
    wait_launches, wait_state,
};

#[test]
fn every_answer_for_programs_parses() {
    let (scene, _supervisor) = supervised_box();
    let added = ask(&scene, &["add", "one", "--agent", "claude", "--cwd", "."]);
    assert_eq!(added["name"], "one");
    assert_eq!(added["id"], Value::from(id_of(&scene, "one")));
    wait_state(&scene, "one", "live");
    wait_launches(&scene, "one", 1);
    let listed = ask(&scene, &["ls"]);
    assert_eq!(listed["sessions"][0]["state"]["word"], "live");
    assert_eq!(listed["supervised"], true);
    assert_eq!(ask(&scene, &["show", "one"])["agent"], "claude");
    assert!(ask(&scene, &["show", "one", "--command"]).as_array().is_some_and(|it| it.len() > 2));
    assert_eq!(ask(&scene, &["why", "one"])["state"]["word"], "live");
    let limits = ask(&scene, &["limits", "one", "--memory-max", "2G"]);
    assert_eq!(limits["memoryMax"], 2_147_483_648_u64);
    assert!(ask(&scene, &["env", "ls"]).is_array());
    assert!(ask(&scene, &["history"]).as_array().is_some_and(|it| it.len() >= 2));
    for line in say(&scene, &["log", "--json"]).lines() {
        let event: Value = serde_json::from_str(line).expect("one document a line");
        assert!(event["event"].is_string() && event["at"].is_string(), "{event}");
    }
    assert_eq!(ask(&scene, &["restart", "one"])["name"], "one");
    assert!(ask(&scene, &["restart", "--all"]).is_array());
    assert_eq!(ask(&scene, &["stop", "one"])["already"], false);
    assert_eq!(ask(&scene, &["rm", "one"])["name"], "one");
    assert_eq!(ask(&scene, &["undo"])["restored"], serde_json::json!(["one"]));
    put_registry(&scene, "{");
    let damaged = parse(&scene.run(&["ls", "--json"]).expect_code(3));
    assert!(damaged["damage"].as_str().unwrap().contains("byte"), "{damaged}");
    assert!(ask(&scene, &["repair", "--yes"])["kept"].is_string());
}

#[test]
fn exit_codes_say_done_failed_refused_or_damaged() {
    let scene = quiet_box();
    let refused = [
        &[][..],
        &["no-such-verb"],
        &["ls", "--no-such-option"],
        &["rm"],
        &["rm", "never-known"],
        &["rm", "bad/name"],
        &["stop", "never-known"],
        &["restart", "never-known"],
        &["restart"],
        &["show", "never-known"],
        &["why", "never-known"],
        &["limits", "never-known"],
        &["attach", "never-known"],
        &["attach"],
        &["add", "-x"],
        &["add", "one", "--agent", "no-such-agent"],
        &["add", "one", "--prompt", "a", "--prompt-file", "b"],
        &["undo", "0"],
        &["env", "set", "1BAD", "x"],
        &["env", "rm", "1BAD"],
    ];
    for call in refused {
        let finished = scene.run(call);
        assert_eq!(finished.code, Some(2), "{call:?}: {}{}", finished.stdout, finished.stderr);
        assert!(!finished.stderr.is_empty(), "{call:?} says nothing");
    }
    assert!(scene.run(&["ls"]).expect_success().stderr.is_empty());
    scene.run(&["add", "one", "--agent", "shell", "--prompt-file", "/nonexistent"]).expect_code(1);
    say(&scene, &["add", "one", "--agent", "shell"]);
    scene.run(&["add", "one", "--agent", "shell"]).expect_code(2);
    // Two removers both succeed.
    say(&scene, &["rm", "one"]);
    say(&scene, &["rm", "one"]);
    put_registry(&scene, "{");
    for call in [&["ls"][..], &["rm", "one"], &["add"], &["show", "one"], &["undo"]] {
        scene.run(call).expect_code(3);
    }
    scene.run(&["repair"]).expect_code(2);
}

#[test]
fn help_of_every_verb_shows_how_it_is_used() {
    let scene = quiet_box();
    let help = say(&scene, &["--help"]);
    assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
    for verb in ["add", "rm", "repair"] {
        assert!(help.contains(verb), "{help}");
        let of_verb = say(&scene, &[verb, "--help"]);
        let shows = ["Examples:", "Exit codes:", "--yes"];
        assert!(shows.iter().any(|it| of_verb.contains(it)), "{of_verb}");
    }
    let under_session = say(&scene, &["session", "add", "--help"]);
    assert!(under_session.contains("Examples:"), "{under_session}");
}

/// The program by another name, called with these words.
fn called(scene: &TestBox, name: &str, words: &[&str]) -> Output {
    let link = scene.home().join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(crate::scene::PROGRAM, &link).unwrap();
    }
    let mut command = Command::new(link);
    command.args(words).env_clear().envs(scene.environment()).current_dir(scene.project());
    command.output().expect("run it")
}

#[test]
fn the_older_name_of_the_program_speaks_the_same_grammar() {
    let scene = quiet_box();
    let call = |words: &[&str]| called(&scene, "agent-box-session", words);
    assert!(call(&["add", "helper", "--agent", "codex"]).status.success());
    assert!(String::from_utf8_lossy(&call(&["ls"]).stdout).contains("helper"));
    assert_eq!(call(&["nonsense"]).status.code(), Some(2));
    assert_eq!(call(&[]).status.code(), Some(2));
    assert!(call(&["rm", "helper"]).status.success());
}

#[test]
fn the_webhook_programs_are_names_of_this_one() {
    let mut scene = quiet_box();
    scene.set("LOCAL_WEBHOOK_SELF", "my-login");
    let who = called(&scene, "agent-box-webhook-self", &["--throttled"]);
    assert_eq!(String::from_utf8_lossy(&who.stdout), "my-login\n");
    let subscribed = called(&scene, "agent-box-webhook", &["subscribe", "o/r"]);
    assert!(subscribed.status.success(), "{}", String::from_utf8_lossy(&subscribed.stderr));
    let list = called(&scene, "agent-box-webhook", &["ls"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("github:o/r"));
}

#[test]
fn a_secret_from_stdin_is_on_no_command_line_and_the_file_keeps_what_people_wrote() {
    let scene = quiet_box();
    scene.put(".config/agent-box/env", "# mine\nOLD=1\n\nnot a variable\nLAST=2");
    scene.command(&["env", "set", "TOKEN", "-"]).stdin("s3cret\n").run().expect_success();
    say(&scene, &["env", "rm", "OLD"]);
    let file = scene.read(".config/agent-box/env");
    assert_eq!(file, "# mine\n\nnot a variable\nLAST=2\nTOKEN=s3cret\n");
    let mode = std::fs::metadata(scene.config().join("env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(say(&scene, &["env", "ls"]), "LAST\nTOKEN\n");
}

#[test]
fn every_state_can_be_explained() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan(r#"{"fails": {"print": "out of ideas", "exit": 9}}"#);
    add_claude(&scene, "fails", &[]);
    wait_state(&scene, "fails", "post-mortem");
    let why = say(&scene, &["why", "fails"]);
    assert!(why.contains('9') && why.contains("out of ideas"), "{why}");
    say(&scene, &["stop", "fails"]);
    let why = say(&scene, &["why", "fails"]);
    assert!(why.contains("stopped") && why.contains("restart"), "{why}");
    say(&scene, &["rm", "fails"]);
    let why = say(&scene, &["why", "fails"]);
    assert!(why.contains("removed"), "{why}");
    assert_eq!(state(&scene, "fails"), "");
}

#[test]
fn attach_says_what_to_do_instead_when_there_is_no_terminal() {
    let scene = quiet_box();
    say(&scene, &["add", "main", "--agent", "shell"]);
    say(&scene, &["stop", "main"]);
    let stopped = scene.run(&["attach", "main"]).expect_code(2).stderr;
    assert!(stopped.contains("agent-box-session restart main"), "{stopped}");
    assert!(!stopped.contains("add main"), "{stopped}");
    let unknown = scene.run(&["attach", "ghost"]).expect_code(2).stderr;
    assert!(unknown.contains("agent-box-session add ghost"), "{unknown}");
}

#[test]
fn up_ends_at_ctrl_c_and_leaves_its_sessions_to_the_next_one() {
    let mut scene = quiet_box();
    let mut up = scene.supervise(&["up"]);
    up.wait_ready();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1);
    process::send(up.pid(), rustix::process::Signal::INT);
    assert_eq!(up.wait().code, Some(0));
    assert!(agent.is_alive());
    let mut up = scene.supervise(&["up"]);
    up.wait_ready();
    within(1).always("it is taken over", || agent.is_alive());
    assert_eq!(scene.stubs().launches().len(), 1);
    assert_eq!(state(&scene, "one"), "live");
}

#[test]
fn a_prompt_that_would_slow_the_list_down_is_refused_and_says_what_to_do() {
    let scene = quiet_box();
    let add = ["add", "big", "--agent", "claude", "--prompt-file", "-"];
    let longest = scene.command(&add).stdin("x".repeat(4 << 20)).run();
    longest.expect_success();
    let refused = scene.command(&["add", "bigger", "--agent", "claude", "--prompt-file", "-"]);
    let refused = refused.stdin("x".repeat((4 << 20) + 1)).run().expect_code(2);
    assert!(refused.stderr.contains("put it into a file"), "{}", refused.stderr);
    assert!(refused.stderr.len() < 500);
}

#[test]
fn the_log_of_a_name_is_that_of_the_session_that_has_it_now() {
    let scene = quiet_box();
    for _ in 0..2 {
        add_claude(&scene, "one", &[]);
        say(&scene, &["stop", "one"]);
        say(&scene, &["rm", "one"]);
    }
    let both = scene.run(&["log", "one"]).expect_success();
    assert!(both.stderr.contains("2 sessions had the name `one`"), "{}", both.stderr);
    add_claude(&scene, "one", &[]);
    let id = id_of(&scene, "one");
    let log = say(&scene, &["log", "one", "--json"]);
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!events.is_empty() && events.iter().all(|event| event["id"] == id.as_str()), "{log}");
}

#[test]
fn a_list_on_a_narrow_terminal_is_readable_and_cuts_no_name() {
    let scene = quiet_box();
    let name = "hook-an-organisation-with-a-repository-0a1b";
    add_claude(&scene, name, &[]);
    say(&scene, &["stop", name]);
    let list = format!("stty cols 40; {PROGRAM} ls; exec sleep 1000");
    let variables = scene.environment().iter();
    let words = variables.map(|(key, value)| format!("{}={}", key.display(), value.display()));
    let words: Vec<String> = ["env".to_owned()].into_iter().chain(words).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.extend(["sh", "-c", &list]);
    let tmux = PrivateTmux::new(scene.home().join("run/outer"), scene.home());
    tmux.start("view", &words);
    within(10).until("the list is there", || tmux.screen("view").contains("stopped"));
    let screen = tmux.screen("view");
    let lines: Vec<&str> = screen.lines().filter(|line| !line.is_empty()).collect();
    let expected = ["NAME", "  AGENT  STATE", name, "  claude  stopped(by cli)"];
    assert_eq!(lines[..4], expected, "{screen}");
}
