//! Which rollout of codex continues: only one that begins with our stamp.

use crate::scratch::{A, B, Scratch, put};

const FIRST: &str = "01a230bc-0000-7000-8000-000000000001";
const SECOND: &str = "01a230bc-0000-7000-8000-000000000002";

fn stamped(id: &str, text: &str) -> String {
    format!("[agent-box session {id}] {text}")
}

/// Codex's own id on the command line, if it is resumed.
fn resumed(scratch: &Scratch, id: &str) -> Option<String> {
    let prepared = scratch.prepare(&scratch.ask("codex").conversation(id));
    let at = prepared.argv.iter().position(|word| word == "--")?;
    assert_eq!(prepared.argv[1], "resume");
    Some(prepared.argv[at + 1].clone())
}

#[test]
fn the_newest_rollout_with_our_stamp_is_resumed() {
    let scratch = Scratch::new();
    scratch.rollout("2026/11/30", FIRST, &[("user", &stamped(A, "p")), ("assistant", "PONG")]);
    scratch.rollout("2026/12/01", SECOND, &[("user", &stamped(B, "p"))]);
    assert_eq!(resumed(&scratch, A).as_deref(), Some(FIRST));
    assert_eq!(resumed(&scratch, B).as_deref(), Some(SECOND));
    scratch.rollout("2026/12/01", SECOND, &[("user", &stamped(A, "p"))]);
    assert_eq!(resumed(&scratch, A).as_deref(), Some(SECOND));
}

#[test]
fn a_stamp_anywhere_else_proves_nothing() {
    let scratch = Scratch::new();
    let stamp = stamped(A, "p");
    for messages in [
        vec![("user", stamped(B, "p")), ("assistant", stamp.clone())],
        vec![
            ("user", "look at ps".to_owned()),
            ("assistant", "ok".to_owned()),
            ("user", stamp.clone()),
        ],
        vec![("user", format!("what is {stamp}"))],
    ] {
        let messages: Vec<(&str, &str)> =
            messages.iter().map(|(role, text)| (*role, text.as_str())).collect();
        scratch.rollout("2026/12/01", FIRST, &messages);
        assert_eq!(resumed(&scratch, A), None, "{messages:?}");
    }
    // A helper's rollout starts with a copy of the conversation.
    let path = scratch.rollout("2026/12/01", FIRST, &[("user", &stamp)]);
    assert_eq!(resumed(&scratch, A).as_deref(), Some(FIRST));
    let text = std::fs::read_to_string(&path).unwrap();
    put(&path, &text.replace(r#""source":"cli""#, r#""source":{"subagent":"review"}"#));
    assert_eq!(resumed(&scratch, A), None);
}

#[test]
fn a_session_without_a_prompt_is_found_by_its_mark() {
    let scratch = Scratch::new();
    let ask = scratch.ask("codex").conversation(A);
    let first = scratch.prepare(&ask);
    let mark = format!("[agent-box session {A}]");
    assert_eq!(*first.argv.last().unwrap(), format!("developer_instructions=\"{mark}\""));
    scratch.rollout("2026/12/01", FIRST, &[("developer", &mark), ("user", "hello")]);
    let ask = ask.after(first, true);
    let second = scratch.prepare(&ask);
    assert!(second.resumed && second.notes.is_empty());
    assert!(second.argv.last().unwrap().contains(&format!("(agent-box session {A})")));
}

#[test]
fn instructions_of_the_user_are_not_replaced_and_the_fresh_start_is_said() {
    let scratch = Scratch::new();
    put(&scratch.home().join(".codex/config.toml"), "developer_instructions = \"be kind\"\n");
    let ask = scratch.ask("codex").conversation(A);
    let first = scratch.prepare(&ask);
    assert!(!first.argv.iter().any(|word| word.contains("developer_instructions")));
    scratch.rollout("2026/12/01", FIRST, &[("developer", "be kind"), ("user", "hello")]);
    let second = scratch.prepare(&ask.after(first, true));
    assert!(!second.resumed);
    assert!(second.notes[0].contains("provably"), "{:?}", second.notes);
}

#[test]
fn a_prompt_is_proven_by_its_rollout() {
    let scratch = Scratch::new();
    let ask = scratch.ask("codex").conversation(A).prompt("one\r\ntwo");
    let first = scratch.prepare(&ask);
    let ask = ask.after(first, true);
    let again = scratch.prepare(&ask);
    assert!(again.carries_prompt && !again.resumed);
    scratch.rollout("2026/12/01", FIRST, &[("user", &stamped(A, "one\ntwo"))]);
    let proven = scratch.prepare(&ask);
    assert!(proven.prompt_proven && proven.resumed && !proven.carries_prompt);
}

#[test]
fn a_rollout_with_our_id_among_another_sessions_is_not_ours() {
    let scratch = Scratch::new();
    scratch.rollout("2026/12/01", FIRST, &[("user", &stamped(A, "p"))]);
    let mut ask = scratch.ask("codex").conversation(A);
    ask.others = vec![A.to_owned()];
    let prepared = scratch.prepare(&ask);
    assert!(!prepared.resumed && prepared.conversation.as_deref() != Some(A));
}
