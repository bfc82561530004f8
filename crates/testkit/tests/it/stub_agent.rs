//! The stub agent does what its plan says, and says what it saw.

use std::process::Command;

use agent_box_testkit::{TestBox, process, within};

/// A box without a program under test; its sessions are started by plain tmux.
fn test_box() -> TestBox {
    let test_box = TestBox::new("/bin/true");
    let project = test_box.project();
    test_box.put(
        ".claude.json",
        &agent_box_testkit::mock_model::MockModel::claude_files(&project.to_string_lossy()),
    );
    test_box
}

fn start(test_box: &TestBox, session: &str, kind: &str, arguments: &[&str]) {
    let project = test_box.project().to_string_lossy().into_owned();
    let program = test_box.stubs().program(kind).to_string_lossy().into_owned();
    let name = format!("AGENT_BOX_SESSION_NAME={session}");
    let mut words = vec!["env", "-C", &project, &name, &program];
    words.extend(arguments);
    let output = test_box.tmux().start(session, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn shows(test_box: &TestBox, session: &str, words: &str) {
    within(10).until(&format!("{session} shows {words:?}"), || {
        test_box.tmux().screen(session).contains(words)
    });
}

/// Status and signal of a dead pane.
fn ended(test_box: &TestBox, session: &str) -> String {
    within(10).for_some(&format!("{session} ended"), || {
        test_box.tmux().run(&["run-shell", "-b", "true"]);
        let ended =
            test_box.tmux().format(session, "#{pane_dead}/#{pane_dead_status}/#{pane_dead_signal}");
        // A server that lost the exit says neither status nor signal until the nudge helps.
        ended.strip_prefix("1/").filter(|end| *end != "/").map(str::to_owned)
    })
}

#[test]
fn a_launch_notes_what_the_agent_was_given() {
    let test_box = test_box();
    let prompt = "line one\n\"two\" $(three) `four` \\ 협업 🚀\n";
    start(&test_box, "quest", "claude", &["--name=x", "--", prompt]);
    shows(&test_box, "quest", "stub claude");
    let launches = test_box.stubs().launches_of("quest");
    let [launch] = launches.as_slice() else { panic!("one launch: {launches:?}") };
    assert_eq!(launch.prompt(), Some(prompt));
    assert!(launch.has_prompt(prompt));
    assert_eq!(launch.argv()[1..], ["--name=x", "--", prompt]);
    assert_eq!(launch.text("/cwd"), test_box.project().to_str());
    assert_eq!(launch.variable("HOME"), test_box.home().to_str());
    assert_eq!(launch.text("/signals/HUP"), Some("default"));
    assert_eq!(launch.value()["terminal"]["stdin"], true);
    assert_eq!(launch.value()["terminal"]["foreground"], true);
    assert!(launch.is_alive());
    assert_eq!(test_box.tmux().pane_pid("quest"), Some(launch.pid()));
    let threads = std::fs::read_dir(format!("/proc/{}/task", launch.pid())).unwrap().count();
    assert!(threads > 8, "{threads} threads");
}

#[test]
fn a_plan_scripts_each_launch_of_each_session() {
    let test_box = test_box();
    test_box
        .stubs()
        .plan(r#"{"a": [{"exit": 3, "print": "first words"}, {"signal": 11}], "*": {"exit": 7}}"#);
    start(&test_box, "a", "generic", &[]);
    assert_eq!(ended(&test_box, "a"), "3/");
    start(&test_box, "b", "generic", &[]);
    assert_eq!(ended(&test_box, "b"), "7/");
    for expected in ["/11", "alive"] {
        let program = test_box.stubs().program("generic").to_string_lossy().into_owned();
        let again =
            ["respawn-pane", "-k", "-t", "=a:", "env", "AGENT_BOX_SESSION_NAME=a", &program];
        test_box.tmux().run(&again);
        if expected == "alive" {
            within(10).until("the third", || test_box.stubs().launches_of("a").len() == 3);
            assert!(test_box.stubs().launches_of("a")[2].is_alive());
        } else {
            assert_eq!(ended(&test_box, "a"), expected);
        }
    }
}

#[test]
fn a_wrong_plan_is_said_and_not_guessed() {
    let test_box = test_box();
    test_box.stubs().plan_every(r#"{"exti": 1}"#);
    start(&test_box, "a", "generic", &[]);
    assert_eq!(ended(&test_box, "a"), "70/");
}

#[test]
fn hang_ups_are_ignored_or_answered_as_planned() {
    let test_box = test_box();
    test_box.stubs().plan(r#"{"deaf": {"ignore_hup": true}, "polite": {"polite_hup": true}}"#);
    for session in ["deaf", "polite", "plain"] {
        start(&test_box, session, "codex", &["--no-daemon"]);
        shows(&test_box, session, "stub codex");
    }
    let pid = |session| test_box.tmux().pane_pid(session).unwrap();
    for session in ["deaf", "polite", "plain"] {
        process::send(pid(session), rustix::process::Signal::HUP);
    }
    assert_eq!(ended(&test_box, "polite"), "0/");
    assert_eq!(ended(&test_box, "plain"), "/1");
    process::send(pid("deaf"), rustix::process::Signal::TERM);
    test_box.tmux().type_line("deaf", "hello");
    shows(&test_box, "deaf", "PONG");
}

#[test]
fn a_hidden_descendant_outlives_its_agent_until_the_box_is_dropped() {
    let test_box = test_box();
    test_box.stubs().plan_every(r#"{"fork_child": true, "fork_setsid": true}"#);
    start(&test_box, "a", "generic", &[]);
    shows(&test_box, "a", "stub generic");
    let agent = test_box.tmux().pane_pid("a").unwrap();
    let descendants = test_box.stubs().descendants();
    let [child, hidden] = descendants[..] else { panic!("two descendants: {descendants:?}") };
    assert_eq!(process::parent(child), Some(agent));
    assert_eq!(process::group(child), process::group(agent));
    assert_eq!(process::group(hidden), Some(hidden));

    process::send(agent, rustix::process::Signal::KILL);
    // The kernel hangs up the group of a terminal whose leader ended.
    within(10).until("the plain child is gone", || !process::is_alive(child));
    for signal in [rustix::process::Signal::HUP, rustix::process::Signal::TERM] {
        process::send(hidden, signal);
    }
    within(1).always("the hidden one lives", || process::is_alive(hidden));
    assert_eq!(process::variable(hidden, "HOME").as_deref(), test_box.home().to_str());
    let server = test_box.tmux().server_pid().unwrap();
    drop(test_box);
    assert!(!process::is_alive(server) && !process::is_alive(hidden));
}

#[test]
fn two_living_agents_on_one_conversation_are_noted() {
    let test_box = test_box();
    let id = agent_box_testkit::conformance::ID;
    start(&test_box, "a", "claude", &[&format!("--session-id={id}"), "--", "P1"]);
    shows(&test_box, "a", "stub claude");
    assert!(test_box.stubs().doubles().is_empty());
    start(&test_box, "b", "claude", &[&format!("--resume={id}")]);
    shows(&test_box, "b", "stub claude");
    let doubles = test_box.stubs().doubles();
    assert_eq!(doubles.len(), 1, "{doubles:?}");
    assert_eq!(doubles[0]["key"], id);

    // Once the first is gone the conversation is free, and a kill leaves no claim behind.
    for session in ["a", "b"] {
        let pid = test_box.tmux().pane_pid(session).unwrap();
        process::send(pid, rustix::process::Signal::KILL);
        within(10).until("it is gone", || !process::is_alive(pid));
    }
    start(&test_box, "c", "claude", &[&format!("--resume={id}")]);
    shows(&test_box, "c", "stub claude");
    assert_eq!(test_box.stubs().doubles().len(), 1);
}

#[test]
fn clear_moves_claude_to_a_new_conversation_and_tells_the_hook() {
    let test_box = test_box();
    let heard = test_box.home().join("heard");
    let settings = format!(
        r#"--settings={{"hooks":{{"SessionStart":[{{"hooks":[{{"type":"command","command":"cat >>{}; echo >>{}"}}]}}]}}}}"#,
        heard.display(),
        heard.display()
    );
    start(&test_box, "a", "claude", &[&settings, "--", "P1"]);
    shows(&test_box, "a", "stub claude");
    test_box.tmux().type_line("a", "/clear");
    within(10).until("the hook ran twice", || test_box.read("heard").lines().count() == 2);
    let ids: Vec<String> = test_box
        .read("heard")
        .lines()
        .map(|line| {
            let payload: serde_json::Value = serde_json::from_str(line).unwrap();
            payload["session_id"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids[0], test_box.stubs().launches()[0].conversation());
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_missing_login_is_said_in_the_vendors_words() {
    let test_box = test_box();
    test_box.stubs().plan_every(r#"{"login_error": true}"#);
    start(&test_box, "a", "claude", &["--", "P1"]);
    assert_eq!(ended(&test_box, "a"), "1/");
}

#[test]
fn the_pid_is_written_every_second_and_deaf_agents_lose_what_is_typed() {
    let test_box = test_box();
    test_box.stubs().plan_every(r#"{"write_pid_every_second": true, "deaf_ms": 300}"#);
    start(&test_box, "a", "generic", &[]);
    shows(&test_box, "a", "stub generic");
    test_box.tmux().type_line("a", "exit 5");
    within(10).until("two pids", || test_box.stubs().pids("a").len() >= 2);
    let pids = test_box.stubs().pids("a");
    assert!(pids.iter().all(|&pid| Some(pid) == test_box.tmux().pane_pid("a")), "{pids:?}");
    test_box.tmux().type_line("a", "exit 6");
    assert_eq!(ended(&test_box, "a"), "6/");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test measures time")]
fn the_stub_starts_quickly() {
    let test_box = test_box();
    let program = test_box.stubs().program("claude");
    let started = std::time::Instant::now();
    for _ in 0..20 {
        let version = Command::new(&program).arg("--version").output().unwrap();
        assert_eq!(version.stdout, b"2.1.332 (Claude Code)\n");
    }
    // The promise is 5 ms; the bound is wide, since other tests share the machine.
    let each = started.elapsed() / 20;
    assert!(each.as_millis() < 50, "{each:?}");
}
