//! The pane of an agent that failed: what it shows and what its keys do.

use agent_box_session::{LaunchRecord, LaunchState};

use crate::test_box::{Pane, TestBox, is_alive, send};
use crate::wait;

/// An agent that fails in a pane, up to the post-mortem.
fn fail<'a>(test_box: &'a TestBox, script: &str) -> (LaunchRecord, Pane<'a>) {
    let mut record = test_box.prepare_script(script);
    record.environment.push(("SHELL".to_owned(), "/bin/sh".to_owned()));
    record.environment.push(("PS1".to_owned(), "prompt> ".to_owned()));
    record.notes = vec!["a note".to_owned()];
    record.login_hints = vec!["Please run /login".to_owned()];
    test_box.store.write_launch(&record).unwrap();
    let pane = test_box.start_in_pane(&record);
    let record = test_box.wait_for_end(record.session);
    pane.wait_for_screen("park the session");
    (record, pane)
}

fn entry(test_box: &TestBox, record: &LaunchRecord) -> agent_box_session::Entry {
    let document = test_box.store.read().unwrap();
    document.registry.by_id(record.session).unwrap().1.clone()
}

#[test]
fn it_says_what_ran_and_how_it_ended_and_holds_no_lock() {
    let test_box = TestBox::new();
    let (record, pane) = fail(&test_box, "echo a secret; exit 4");
    let screen = pane.screen();
    for text in ["session `main` failed", "/bin/sh -c", "exit code 4 after 0.", "note   a note"] {
        assert!(screen.contains(text), "{screen}");
    }
    let below = screen.split_once("failed").unwrap().1;
    assert!(!below.contains("secret"), "the script is a value, not an option: {screen}");
    assert!(test_box.store.lifetime_is_free(record.session).unwrap());
}

#[test]
fn enter_opens_a_shell_in_the_agent_s_environment_and_returns() {
    let test_box = TestBox::new();
    let (record, pane) = fail(&test_box, "exit 4");
    pane.press(&["Enter"]);
    pane.wait_for_screen("prompt>");
    pane.press(&["echo $AGENT_BOX_LAUNCH_ID $PWD $$ > out", "Enter"]);
    let line = test_box.read_when_written("out");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], record.launch.to_string());
    assert_eq!(words[1], record.directory.trim_end_matches('/'));
    pane.press(&["sleep 1000 & exit", "Enter"]);
    wait::until_true("the post-mortem again", || {
        pane.screen().matches("park the session").count() == 2
    });
    assert!(!is_alive(words[2].parse().unwrap()));
    // Its end is not the agent's.
    assert_eq!(test_box.record(record.session), record);
}

#[test]
fn r_asks_for_a_new_launch_and_says_when_nobody_answers() {
    let test_box = TestBox::new();
    let (record, pane) = fail(&test_box, "exit 4");
    pane.press(&["r"]);
    pane.wait_for_screen("restarting");
    let entry = entry(&test_box, &record);
    assert!(entry.generation > record.generation && !entry.stopped);
    pane.wait_for_screen("no supervisor seems to run");
    assert!(pane.is_open());
}

#[test]
fn q_parks_the_session() {
    let test_box = TestBox::new();
    let (record, pane) = fail(&test_box, "exit 4");
    pane.press(&["q"]);
    pane.wait_for_screen("parked");
    let entry = entry(&test_box, &record);
    assert!(entry.stopped && entry.generation > record.generation);
    assert_eq!(entry.stopped_by.as_deref(), Some("post-mortem"));
}

#[test]
fn it_ends_with_its_pane_or_at_a_request() {
    let test_box = TestBox::new();
    let (_, pane) = fail(&test_box, "echo $PPID > launcher; exit 4");
    let launcher: i32 = test_box.read_when_written("launcher").trim().parse().unwrap();
    assert!(is_alive(launcher));
    send("TERM", launcher);
    wait::until_true("the launcher to go", || !is_alive(launcher));
    wait::until_true("the pane to close", || !pane.is_open());
}

#[test]
fn last_words_hold_the_last_line_of_a_long_output() {
    let test_box = TestBox::new();
    let (record, _pane) = fail(&test_box, "seq 1 20000; echo the very last line; exit 1");
    let file = test_box.store.paths().last_words(record.session);
    let words = std::fs::read_to_string(file).unwrap();
    assert!(words.ends_with("20000\nthe very last line"), "{words}");
    assert!(words.lines().count() <= 50);
}

#[test]
fn it_is_shown_again_in_a_fresh_pane_with_the_last_words() {
    let test_box = TestBox::new();
    let (record, pane) = fail(&test_box, "echo run >> runs; echo famous last words; exit 1");
    pane.close();
    wait::until_true("the pane to close", || !pane.is_open());
    drop(pane);
    let pane = test_box.start_in_pane(&record);
    let screen = pane.wait_for_screen("park the session");
    assert!(screen.contains("famous last words") && screen.contains("exit code 1"), "{screen}");
    assert_eq!(test_box.read("runs"), "run\n", "shown again, not run again");
    assert_eq!(test_box.record(record.session), record);
}

#[test]
fn an_agent_that_asks_to_sign_in_is_marked() {
    let test_box = TestBox::new();
    let (record, pane) = fail(&test_box, "echo 'API Error: 401. please RUN /login'; exit 1");
    assert!(matches!(record.state, LaunchState::Ended { needs_login: true, .. }));
    assert!(pane.screen().contains("not signed in"));
}

#[test]
fn an_agent_that_only_talked_about_signing_in_is_not_marked() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("echo Please run /login; kill -9 $$");
    record.login_hints = vec!["Please run /login".to_owned()];
    test_box.store.write_launch(&record).unwrap();
    let _pane = test_box.start_in_pane(&record);
    let record = test_box.wait_for_end(record.session);
    assert!(matches!(record.state, LaunchState::Ended { needs_login: false, .. }));
}

#[test]
fn the_terminal_is_usable_after_an_agent_that_died_in_raw_mode() {
    let test_box = TestBox::new();
    let script = "printf '\\033[?1049h\\033[?25l\\033[?2004h'; stty raw -echo; exit 1";
    let (_, pane) = fail(&test_box, script);
    let flags = "#{alternate_on}#{cursor_flag}";
    assert_eq!(test_box.tmux_says(&["display-message", "-p", "-t", "=main:", flags]), "01");
    pane.press(&["Enter"]);
    pane.wait_for_screen("prompt>");
    pane.press(&["stty -a > out", "Enter"]);
    let modes = test_box.read_when_written("out");
    assert!(modes.contains(" icanon") && modes.contains(" echo "), "{modes}");
}

#[test]
fn keys_that_were_meant_for_the_agent_mean_nothing() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo > ready; read line; exit 4");
    let pane = test_box.start_in_pane(&record);
    test_box.read_when_written("ready");
    // The rest of the sentence comes while the agent is already gone.
    pane.press(&["x", "Enter", "quite", "right", "Enter"]);
    test_box.wait_for_end(record.session);
    pane.press(&["q", "r", "Enter"]);
    let screen = pane.wait_for_screen("park the session");
    assert!(!screen.contains("no shell") && !screen.contains("restarting"), "{screen}");
    assert_eq!(entry(&test_box, &record).generation, record.generation);
}
