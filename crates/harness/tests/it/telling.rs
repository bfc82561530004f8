//! How a running agent is told, as a command.

use agent_box_harness::TellError;

use crate::scratch::{A, Scratch};

const THREAD: &str = "01a230bc-1592-7701-8f1e-378a1b7cf922";

#[test]
fn codex_is_told_under_its_own_id_with_its_own_variables() {
    let scratch = Scratch::new();
    let mut ask = scratch.ask("codex").conversation(A).prompt("p");
    let prepared = scratch.prepare(&ask);
    ask = ask.after(prepared, true);
    let record = ask.record.as_ref().unwrap();
    let tell = |variables: &[(String, String)], message: &str| {
        scratch.harness().telling(record, variables, message)
    };
    assert_eq!(tell(&[], "hello"), Err(TellError::NotBegun));
    let stamp = format!("[agent-box session {A}] p");
    scratch.rollout("2026/12/01", THREAD, &[("user", &stamp)]);
    let given = [("USER".to_owned(), "other".to_owned())];
    let telling = tell(&given, "--help\nme").unwrap();
    let program = scratch.home().join("bin/codex").to_str().unwrap().to_owned();
    let thread = format!("--thread={THREAD}");
    assert_eq!(telling.argv, [&program, "queue", &thread, "--message=--help\nme"]);
    assert_eq!(telling.directory, scratch.work());
    let values = |key: &str| -> Vec<&str> {
        let all = telling.environment.iter().filter(|(name, _)| name == key);
        all.map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(values("HOME"), [scratch.home().to_str().unwrap()]);
    assert_eq!(values("USER"), ["other"], "the env file counts, as for the agent");
    let longest = 100 * 1024;
    assert!(tell(&[], &"x".repeat(longest)).is_ok());
    assert_eq!(tell(&[], &"x".repeat(longest + 1)), Err(TellError::TooLong(longest + 1)));
    let moved = [("CODEX_HOME".to_owned(), "/nowhere".to_owned())];
    assert_eq!(tell(&moved, "hello"), Err(TellError::NotBegun));
}

#[test]
fn nobody_else_is_told_from_outside() {
    let scratch = Scratch::new();
    for agent in ["claude", "shell", "other"] {
        let ask = scratch.ask(agent);
        let prepared = scratch.prepare(&ask);
        let ask = ask.after(prepared, false);
        let told = scratch.harness().telling(ask.record.as_ref().unwrap(), &[], "hello");
        let error = told.unwrap_err().to_string();
        assert!(error.contains("agent-box webhook read"), "{error}");
    }
}
