//! What reaches the agent: its words, its environment, its signals, its directory.

use agent_box_session::{Agent, Ending, Exit, LaunchState};
use agent_box_session_store::EventKind;

use crate::test_box::{TestBox, send};

const PRINT_WORDS: &str = "for word in \"$@\"; do printf '%s\\0' \"$word\"; done > words";

#[test]
fn words_reach_the_agent_byte_for_byte() {
    let long = "協業 🚀 ".repeat(100 * 1024 / "協業 🚀 ".len());
    let words = [
        "two\nlines\n",
        "'single' \"double\" `tick` $(touch bad) ${HOME} $((1+1))",
        "backslash at the end \\",
        "",
        ";",
        "{{x}} #{pane_id} #(touch bad) %s %n",
        "\u{1b}[31mred\u{7}\t",
        "--looks-like=an option",
        &long,
    ];
    let test_box = TestBox::new();
    let argv = [["/bin/sh", "-c", PRINT_WORDS, "sh"].as_slice(), &words].concat();
    let record = test_box.prepare(Agent::Claude, &argv);
    let _pane = test_box.start_in_pane(&record);
    test_box.wait_for_end(record.session);
    let seen = test_box.read("words");
    let seen: Vec<&str> = seen.strip_suffix('\0').unwrap().split('\0').collect();
    assert_eq!(seen, words);
    assert!(!test_box.file("bad").exists());
}

/// What an agent in a pane sees when server and client carry 200 variables of their own.
fn environment_in_poisoned_tmux(test_box: &TestBox) -> Vec<String> {
    let poison: Vec<(String, String)> = (0..200)
        .map(|n| (format!("POISON_{n}"), "leak".to_owned()))
        .chain([("LD_PRELOAD".to_owned(), String::new()), ("HOME".to_owned(), "/bad".to_owned())])
        .collect();
    let out = test_box.path("environ");
    let mut record = test_box.prepare(Agent::Claude, &["/bin/cp", "/proc/self/environ", &out]);
    record.environment.push(("HOME".to_owned(), test_box.path("")));
    record.environment.push(("FROM_RECORD".to_owned(), "line one\nline two".to_owned()));
    test_box.store.write_launch(&record).unwrap();
    let _pane = test_box.tmux_with(&poison, &record);
    test_box.wait_for_end(record.session);
    let launch = format!("AGENT_BOX_LAUNCH_ID={}", record.launch);
    let environment: Vec<String> =
        test_box.read("environ").split_terminator('\0').map(str::to_owned).collect();
    assert!(environment.contains(&launch), "{environment:?}");
    environment
}

#[test]
fn nothing_of_the_tmux_server_s_environment_reaches_the_agent() {
    let test_box = TestBox::new();
    let environment = environment_in_poisoned_tmux(&test_box);
    let mut names: Vec<&str> =
        environment.iter().map(|variable| variable.split_once('=').unwrap().0).collect();
    names.sort_unstable();
    let own = ["AGENT_BOX_LAUNCH_ID", "FROM_RECORD", "HOME", "PATH"];
    let terminal = ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE"];
    assert_eq!(names, [own.as_slice(), &terminal].concat());
    assert!(environment.contains(&"FROM_RECORD=line one\nline two".to_owned()));
    assert!(environment.contains(&format!("HOME={}", test_box.path(""))));
}

#[test]
fn the_env_file_is_read_at_each_start_and_wins_except_over_the_launch_id() {
    let test_box = TestBox::new();
    let file = "# mine\nFROM_RECORD=\"changed\"\nKEY=from file\nAGENT_BOX_LAUNCH_ID=forged\n";
    test_box.write(".config/agent-box/env", file);
    let environment = environment_in_poisoned_tmux(&test_box);
    assert!(environment.contains(&"FROM_RECORD=changed".to_owned()), "{environment:?}");
    assert!(environment.contains(&"KEY=from file".to_owned()), "{environment:?}");
}

#[test]
fn an_env_file_that_cannot_be_read_starts_nothing_and_says_so() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started > out");
    std::fs::create_dir(test_box.file(".config/agent-box/env")).unwrap();
    let output = test_box.run(&record);
    let LaunchState::Ended { exit: Exit::NotStarted(why), ending: Ending::Respawn, .. } =
        test_box.record(record.session).state
    else {
        panic!("{output:?}")
    };
    assert!(why.contains("agent-box/env"), "{why}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("agent-box/env"));
    assert_eq!(test_box.read("out"), "");
}

#[test]
fn a_missing_program_is_not_started_and_named() {
    let test_box = TestBox::new();
    let record = test_box.prepare(Agent::Claude, &["/nonexistent/claude", "--x"]);
    test_box.run(&record);
    let record = test_box.record(record.session);
    let LaunchState::Ended { exit: Exit::NotStarted(why), .. } = &record.state else {
        panic!("{:?}", record.state)
    };
    assert!(why.contains("cannot run /nonexistent/claude: No such file"), "{why}");
    assert_eq!(record.quick_deaths, 1);
    let exits = test_box.events(EventKind::Exit);
    assert!(exits[0].text.contains("/nonexistent/claude"), "{exits:?}");
}

#[test]
fn a_directory_that_cannot_be_entered_starts_nothing_and_is_named() {
    for directory in ["gone", "loop", "file"] {
        let test_box = TestBox::new();
        std::os::unix::fs::symlink("loop", test_box.file("loop")).unwrap();
        test_box.write("file", "");
        let mut record = test_box.prepare_script("echo started > /dev/null");
        record.directory = test_box.path(directory);
        record.carries_prompt = true;
        test_box.store.write_launch(&record).unwrap();
        test_box.run(&record);
        let record = test_box.record(record.session);
        let LaunchState::Ended { exit: Exit::NotStarted(why), .. } = &record.state else {
            panic!("{directory}: {:?}", record.state)
        };
        assert!(why.contains(&record.directory), "{why}");
        assert_eq!(record.prompt_handed, 0, "a prompt that nobody got was not handed over");
    }
}

#[test]
fn an_agent_without_transcripts_counts_as_told_before_it_runs_unless_it_never_ran() {
    let test_box = TestBox::new();
    let kind = || Agent::parse("other").unwrap();
    let mut record = test_box.prepare(kind(), &["/bin/cp", "to be known", "seen.json"]);
    let path = test_box.store.paths().launch(record.session);
    record.argv[1] = path.to_str().unwrap().to_owned();
    record.argv[2] = test_box.path("seen.json");
    record.carries_prompt = true;
    test_box.store.write_launch(&record).unwrap();
    test_box.run(&record);
    assert!(
        test_box.read("seen.json").contains(r#""prompt_handed": 1"#),
        "{}",
        test_box.read("seen.json")
    );
    assert_eq!(test_box.record(record.session).prompt_handed, 1);

    let test_box = TestBox::new();
    let mut record = test_box.prepare(kind(), &["/nonexistent/other"]);
    record.carries_prompt = true;
    test_box.store.write_launch(&record).unwrap();
    test_box.run(&record);
    assert_eq!(test_box.record(record.session).prompt_handed, 0);
}

/// A set of signals from `/proc/PID/status`.
fn mask(status: &str, name: &str) -> u64 {
    let hex = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(hex.trim(), 16).unwrap()
}

#[test]
fn the_agent_runs_in_its_directory_with_every_signal_at_its_default() {
    let test_box = TestBox::new();
    std::fs::create_dir(test_box.file("проект é #{x}")).unwrap();
    let script = "pwd -P > ../where; exec sleep 1000";
    let mut record = test_box.prepare_script(script);
    record.directory = test_box.path("проект é #{x}");
    test_box.store.write_launch(&record).unwrap();
    let _pane = test_box.start_in_pane(&record);
    let (launcher, agent) = test_box.wait_for_agent(record.session);
    assert_eq!(test_box.read_when_written("where").trim_end(), record.directory);
    let status = std::fs::read_to_string(format!("/proc/{agent}/status")).unwrap();
    // Above 31 are the C library's own and real-time signals, which nobody uses by default.
    assert_eq!(mask(&status, "SigBlk:") & 0x7fff_ffff, 0, "{status}");
    assert_eq!(mask(&status, "SigIgn:") & 0x7fff_ffff, 0, "{status}");
    assert_ne!(launcher, agent);
    send("TERM", launcher);
    test_box.wait_for_end(record.session);
}

#[test]
fn a_pane_starts_with_ttou_ignored() {
    // Where this does not hold, the launcher starts itself again through a shell's `trap`.
    let test_box = TestBox::new();
    let record = test_box.prepare_script("exec sleep 1000");
    let _pane = test_box.start_in_pane(&record);
    let out = test_box.path("status");
    test_box.tmux_says(&["new-session", "-d", "-s", "x", "/bin/cp", "/proc/self/status", &out]);
    crate::wait::until_true("the status", || test_box.read("status").contains("Mems_allowed"));
    let ignored = mask(&test_box.read("status"), "SigIgn:");
    assert_eq!(ignored >> 20 & 0b11, 0b11, "TTIN and TTOU: {ignored:x}");
}

#[test]
fn notes_are_shown_before_the_agent_starts() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("echo hello");
    record.notes = vec!["a fresh conversation was started".to_owned()];
    test_box.store.write_launch(&record).unwrap();
    let output = test_box.run(&record);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let note = said.find("a fresh conversation").unwrap();
    assert!(note < said.find("hello").unwrap(), "{said}");
}

#[test]
fn a_waiting_launcher_does_not_keep_a_big_prompt_in_memory() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("exec sleep 1000");
    record.prompt = Some("協業 ".repeat(150_000));
    record.carries_prompt = true;
    test_box.store.write_launch(&record).unwrap();
    let _pane = test_box.start_in_pane(&record);
    let (launcher, _) = test_box.wait_for_agent(record.session);
    // The journal's line is the last thing that it writes before it waits.
    crate::wait::until_true("the journal", || !test_box.events(EventKind::Started).is_empty());
    let status = std::fs::read_to_string(format!("/proc/{launcher}/status")).unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let own: u64 = own.trim().trim_end_matches(" kB").parse().unwrap();
    // Its code is shared by all launchers; the benchmark measures the whole.
    assert!(own <= 1 << 10, "{status}");
}

#[test]
fn an_agent_is_killed_before_its_launcher_when_memory_runs_out() {
    let test_box = TestBox::new();
    let out = test_box.path("score");
    let record = test_box.prepare(Agent::Claude, &["/bin/cp", "/proc/self/oom_score_adj", &out]);
    let _pane = test_box.start_in_pane(&record);
    test_box.wait_for_end(record.session);
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let own: i32 = own.trim().parse().unwrap();
    assert_eq!(test_box.read("score").trim(), own.max(500).to_string());
}
