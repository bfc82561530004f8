//! A kickoff prompt: handed over until a transcript holds it, exactly as written.

use std::os::unix::fs::PermissionsExt as _;

use agent_box_session::Ending;

use crate::scratch::{A, B, Scratch};

#[test]
fn a_prompt_is_handed_over_again_until_a_transcript_holds_it() {
    let scratch = Scratch::new();
    let ask = scratch.ask("claude").prompt("do it");
    let first = scratch.prepare(&ask);
    assert!(first.carries_prompt && !first.resumed);
    let id = first.conversation.clone().unwrap();
    // It died before its first message was stored.
    let ask = ask.after(first, true);
    let second = scratch.prepare(&ask);
    assert_eq!(second.argv.last().unwrap(), "do it");
    assert_eq!((second.prompt_handed, second.carries_prompt), (1, true));
    assert_eq!(second.conversation.as_ref(), Some(&id), "an unused id is used again");

    let ask = ask.after(second, true);
    scratch.transcript(&id, &scratch.work(), &["do it"]);
    let third = scratch.prepare(&ask);
    assert!(third.prompt_proven && third.resumed && !third.carries_prompt);
    assert!(third.argv.last().unwrap().contains(&format!("(agent-box session {id})")));

    // The proof outlives the transcript.
    let ask = ask.after(third, true);
    std::fs::remove_dir_all(scratch.home().join(".claude/projects")).unwrap();
    let fourth = scratch.prepare(&ask);
    assert!(!fourth.carries_prompt && !fourth.resumed && fourth.prompt_proven);
    assert!(!fourth.argv.contains(&"--".to_owned()));
}

#[test]
fn an_unproven_prompt_goes_to_the_resumed_conversation_instead_of_the_steer() {
    let scratch = Scratch::new();
    let ask = scratch.ask("claude").prompt("do it");
    let first = scratch.prepare(&ask);
    let id = first.conversation.clone().unwrap();
    let ask = ask.after(first, true);
    scratch.transcript(&id, &scratch.work(), &["something else: do it"]);
    let second = scratch.prepare(&ask);
    assert!(second.resumed && second.carries_prompt);
    assert_eq!(second.argv[second.argv.len() - 3..], [&format!("--resume={id}"), "--", "do it"]);
}

#[test]
fn three_handings_without_proof_are_enough() {
    let scratch = Scratch::new();
    for agent in ["claude", "codex"] {
        let mut ask = scratch.ask(agent).prompt("do it");
        for handed in 0..3 {
            let prepared = scratch.prepare(&ask);
            assert_eq!((prepared.prompt_handed, prepared.carries_prompt), (handed, true));
            ask = ask.after(prepared, true);
        }
        let prepared = scratch.prepare(&ask);
        assert!(!prepared.carries_prompt);
        assert_eq!(prepared.prompt.as_deref(), Some("do it"), "the record keeps it");
        assert!(prepared.notes.iter().any(|note| note.contains("3 times")), "{:?}", prepared.notes);
    }
}

#[test]
fn a_launch_whose_exec_failed_does_not_count() {
    let scratch = Scratch::new();
    let ask = scratch.ask("other").prompt("do it");
    let first = scratch.prepare(&ask);
    let ask = ask.after(first, false);
    let second = scratch.prepare(&ask);
    assert!(second.carries_prompt);
    assert_eq!(second.argv.last().unwrap(), "do it");
}

#[test]
fn a_program_that_cannot_resume_is_told_its_task_again_until_it_ends_well() {
    let scratch = Scratch::new();
    let ask = scratch.ask("other").prompt("do it");
    let first = scratch.prepare(&ask);
    let id = first.conversation.clone().unwrap();
    let mut ask = ask.after(first, true);
    // As often as it dies: otherwise its task would be lost, and nobody would say so.
    for _ in 0..4 {
        let again = scratch.prepare(&ask);
        let word = again.argv.last().unwrap();
        assert!(word.ends_with("The task was:\n\ndo it") && word.contains(&id), "{word}");
        assert!(word.contains("may be done already"), "{word}");
        assert!(again.notes[0].contains("told its task again"), "{:?}", again.notes);
        // The prompt itself was handed over once, and only that counts.
        assert_eq!((again.carries_prompt, again.prompt_handed), (false, 1));
        ask = ask.after(again, true);
    }
    let ask = ask.ended(Ending::Parked);
    let anew = scratch.prepare(&ask);
    assert!(anew.prompt_proven && anew.argv.len() == 1, "{:?}", anew.argv);
    // What it was told is over for good, whatever becomes of this start.
    let ask = ask.after(anew, true).ended(Ending::Respawn);
    let last = scratch.prepare(&ask);
    assert!(last.prompt_proven && last.argv.len() == 1 && last.notes.is_empty());
}

#[test]
fn what_the_operator_wants_said_at_a_resume_is_said_to_a_program_that_cannot() {
    let scratch = Scratch::new();
    let mut ask = scratch.ask("other").prompt("do it");
    ask.entry.spec.resume_prompt = Some("go on".to_owned());
    let first = scratch.prepare(&ask);
    assert_eq!(first.argv.last().unwrap(), "do it");
    let again = scratch.prepare(&ask.after(first, true));
    assert_eq!(again.argv.last().unwrap(), "go on");
}

#[test]
fn a_reminder_of_a_long_task_goes_by_a_file() {
    let scratch = Scratch::new();
    let task = "한z".repeat(100_000);
    let ask = scratch.ask("other").prompt(&task);
    let first = scratch.prepare(&ask);
    let ask = ask.after(first, true);
    let again = scratch.prepare(&ask);
    let path = scratch.surroundings.paths.prompt(ask.launch);
    assert!(again.argv.last().unwrap().contains(path.to_str().unwrap()));
    assert!(std::fs::read_to_string(&path).unwrap().ends_with(&task));
}

#[test]
fn a_prompt_written_into_the_registry_later_is_a_new_one() {
    let scratch = Scratch::new();
    let ask = scratch.ask("other").prompt("first");
    let prepared = scratch.prepare(&ask);
    let ask = ask.after(prepared, true);
    assert!(!scratch.prepare(&ask).carries_prompt);
    let ask = ask.prompt("second");
    let prepared = scratch.prepare(&ask);
    assert!(prepared.carries_prompt && prepared.prompt_handed == 0);
    assert_eq!(prepared.argv.last().unwrap(), "second");
    // The same text again is not a new prompt.
    let ask = ask.after(prepared, true).prompt("second");
    assert!(!scratch.prepare(&ask).carries_prompt);
}

#[test]
fn prompts_of_any_size_reach_the_agent_as_a_word_or_by_a_file() {
    let scratch = Scratch::new();
    let exotic = "협업 🚀 \"quoted\" 'single' $(id) `id` \\\ntwo\tlines\r\n trailing \\";
    for prompt in ["x", exotic, &"y".repeat(100 * 1024)] {
        let ask = scratch.ask("claude").prompt(prompt);
        assert_eq!(scratch.prepare(&ask).argv.last().unwrap(), prompt);
        assert!(!scratch.surroundings.paths.prompts().exists());
    }
    for (agent, size) in [("claude", 100 * 1024 + 1), ("codex", 1 << 20), ("other", 1 << 20)] {
        let prompt = "한z".repeat(size / 4 + 1);
        let ask = scratch.ask(agent).prompt(&prompt);
        let prepared = scratch.prepare(&ask);
        let word = prepared.argv.last().unwrap();
        let path = scratch.surroundings.paths.prompt(ask.launch);
        assert!(word.contains(path.to_str().unwrap()) && word.len() < 1000, "{word}");
        assert_eq!(word.starts_with("[agent-box session "), agent == "codex");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), prompt);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(prepared.prompt.as_deref(), Some(prompt.as_str()));
        // The short text is what a transcript can hold.
        let id = prepared.conversation.clone().unwrap();
        let ask = ask.after(prepared, true);
        if agent == "claude" {
            let word = ask.record.as_ref().unwrap().argv.last().unwrap().clone();
            scratch.transcript(&id, &scratch.work(), &[&word]);
            assert!(scratch.prepare(&ask).prompt_proven);
        }
    }
}

#[test]
fn an_empty_prompt_is_no_prompt() {
    let scratch = Scratch::new();
    for blank in ["", " \n"] {
        let prepared = scratch.prepare(&scratch.ask("claude").prompt(blank));
        assert!(!prepared.carries_prompt && !prepared.argv.contains(&"--".to_owned()));
    }
}

#[test]
fn a_prompt_that_claude_ran_as_a_command_is_proven_by_the_commands_name() {
    let scratch = Scratch::new();
    let ask = scratch.ask("claude").prompt("/review all of it");
    let first = scratch.prepare(&ask);
    assert!(first.notes[0].contains("runs it as a command"), "{:?}", first.notes);
    let id = first.conversation.clone().unwrap();
    let ask = ask.after(first, true);
    scratch.transcript(
        &id,
        &scratch.work(),
        &["<command-message>review</command-message>\n<command-name>/review</command-name>"],
    );
    assert!(scratch.prepare(&ask).prompt_proven);
    assert!(scratch.prepare(&scratch.ask("claude").prompt("/etc/fstab is wrong")).notes.is_empty());
}

#[test]
fn a_prompt_is_also_proven_by_the_conversation_that_followed_a_clear() {
    let scratch = Scratch::new();
    let ask = scratch.ask("claude").conversation(A).prompt("do it");
    let first = scratch.prepare(&ask);
    let mut ask = ask.after(first, true);
    ask.rotations = vec![(A, B)];
    scratch.transcript(B, &scratch.work(), &["do it"]);
    let second = scratch.prepare(&ask);
    assert!(second.prompt_proven && second.resumed);
    assert_eq!(second.conversation.as_deref(), Some(B));
}
