//! Cases C40 to C42: what an agent sees, and what nobody else may see.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

use agent_box_testkit::{TestBox, process};

use crate::scene::{add_claude, ask, quiet_box, say, state, supervise, wait_launches, wait_state};

/// What an agent may have: what the box says of itself, and what only its terminal knows.
const ALLOWED: &[&str] = &[
    "AGENT_BOX_LAUNCH_ID",
    "AGENT_BOX_SESSION_ID",
    "AGENT_BOX_SESSION_NAME",
    "AGENT_BOX_SESSION_UUID",
    "COLORTERM",
    "HOME",
    "IS_SANDBOX",
    "LANG",
    "LOCAL_WEBHOOK_PORT",
    "LOCAL_WEBHOOK_SESSION",
    "LOCAL_WEBHOOK_STATE_DIR",
    "LOGNAME",
    "MY_TOKEN",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "USER",
];

fn poison(scene: &mut TestBox) {
    for n in 0..195 {
        scene.set(format!("POISON_{n}"), format!("poison-{n}"));
    }
    for (key, value) in [
        ("CLAUDECODE", "poison"),
        ("ANTHROPIC_BASE_URL", "http://poison"),
        ("LOCAL_WEBHOOK_SECRET", "poison"),
        ("TMUX", "/poison,1,2"),
        ("TMUX_TMPDIR", "/poison"),
    ] {
        scene.set(key, value);
    }
}

#[test]
fn c40_of_two_hundred_variables_around_the_box_none_reaches_an_agent() {
    let mut scene = quiet_box();
    poison(&mut scene);
    say(&scene, &["env", "set", "MY_TOKEN", "mine"]);
    let _supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    say(&scene, &["add", "two", "--agent", "generic", "--cwd", "."]);
    let allowed: BTreeSet<&str> = ALLOWED.iter().copied().collect();
    for name in ["one", "two"] {
        wait_state(&scene, name, "live");
        let launch = wait_launches(&scene, name, 1);
        let extra: Vec<&str> =
            launch.variables().into_iter().filter(|it| !allowed.contains(it)).collect();
        assert_eq!(extra, Vec::<&str>::new(), "{name}");
        assert_eq!(launch.variable("MY_TOKEN"), Some("mine"));
        let poisoned =
            |word: &std::ffi::OsString| word.as_bytes().windows(6).any(|bytes| bytes == b"poison");
        let pid = launch.pid();
        assert!(!process::environment(pid).iter().any(poisoned), "{name}");
        // Nor the launcher above it, nor the tmux server: later panes start from theirs.
        let launcher = process::parent(pid).unwrap();
        for above in [launcher, scene.tmux().server_pid().unwrap()] {
            assert!(!process::environment(above).iter().any(poisoned), "{name}: {above}");
        }
    }
    // The poison points at another tmux; ours was used all the same.
    assert_eq!(scene.tmux().sessions().len(), 2);
    say(&scene, &["rm", "one"]);
    assert_eq!(scene.tmux().sessions(), ["two"]);
}

#[test]
fn c42_values_arrive_exactly_and_are_seen_nowhere() {
    let mut scene = quiet_box();
    let json = r#"{"a": "b's \"c\"", "d": "$HOME `id` = \\ #"}"#;
    for (key, value) in [("JSON", json), ("SPACES", "  two  "), ("EQUALS", "a=b==")] {
        let set = scene.command(&["env", "set", key, "-"]).stdin(format!("{value}\n")).run();
        set.expect_success();
    }
    let _supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let launch = wait_launches(&scene, "one", 1);
    assert_eq!(launch.variable("JSON"), Some(json));
    assert_eq!(launch.variable("SPACES"), Some("  two  "));
    assert_eq!(launch.variable("EQUALS"), Some("a=b=="));
    for pid in scene.processes() {
        for word in process::arguments(pid) {
            assert!(!word.to_string_lossy().contains("b's"), "{pid}: {}", word.display());
        }
    }
    let told = [
        say(&scene, &["env", "ls"]),
        say(&scene, &["log"]),
        say(&scene, &["why", "one"]),
        say(&scene, &["show", "one"]),
        say(&scene, &["show", "one", "--command"]),
        scene.read(".local/state/agent-box/journal.jsonl"),
    ];
    assert!(told.iter().all(|text| !text.contains("b's") && !text.contains("a=b==")));
    assert_eq!(ask(&scene, &["env", "ls"]), serde_json::json!(["EQUALS", "JSON", "SPACES"]));

    let add = scene.command(&["env", "set", "LINES", "-"]).stdin("a\nb\n").run();
    add.expect_code(2);
    scene.run(&["env", "set", "1BAD", "x"]).expect_code(2);
    assert_eq!(state(&scene, "one"), "live");
}

#[test]
fn a_value_that_no_program_can_get_is_refused_before_it_is_written() {
    let scene = quiet_box();
    let set =
        |length: usize| scene.command(&["env", "set", "BIG", "-"]).stdin("x".repeat(length)).run();
    let refused = set(128 * 1024 - 4).expect_code(2).stderr;
    assert!(refused.contains("BIG has 131068 bytes") && refused.contains("a file"), "{refused}");
    assert_eq!(scene.read(".config/agent-box/env"), "");
    set(128 * 1024 - 5).expect_success();
}
