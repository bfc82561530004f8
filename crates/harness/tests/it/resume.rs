//! Which conversation of claude continues: only one that claude finds and that is provably ours.

use agent_box_harness::Prepared;

use crate::scratch::{A, Ask, B, C, Scratch, put};

fn outcome(prepared: &Prepared) -> (Option<&str>, bool) {
    (prepared.conversation.as_deref(), prepared.resumed)
}

fn ask(scratch: &Scratch) -> Ask {
    let mut ask = scratch.ask("claude").conversation(A);
    ask.entry.has_run = true;
    ask
}

#[test]
fn a_transcript_where_claude_will_look_is_resumed() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    let prepared = scratch.prepare(&ask(&scratch));
    assert_eq!(outcome(&prepared), (Some(A), true));
    assert!(prepared.notes.is_empty());
}

#[test]
fn a_symlinked_directory_is_looked_up_as_claude_sees_it() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    let link = scratch.home().join("link");
    std::os::unix::fs::symlink(scratch.work(), &link).unwrap();
    let mut ask = ask(&scratch);
    ask.entry.spec.working_directory = Some(link.to_str().unwrap().to_owned());
    let prepared = scratch.prepare(&ask);
    assert_eq!(outcome(&prepared), (Some(A), true));
    assert_eq!(prepared.directory, link.to_str().unwrap());
}

#[test]
fn without_a_transcript_the_recorded_id_is_used_anew() {
    let scratch = Scratch::new();
    let prepared = scratch.prepare(&ask(&scratch));
    assert_eq!(outcome(&prepared), (Some(A), false));
    assert_eq!(prepared.notes.len(), 1);
    // The very first start has nothing to explain.
    assert!(scratch.prepare(&scratch.ask("claude").conversation(A)).notes.is_empty());
}

#[test]
fn an_id_that_claude_would_refuse_is_never_used() {
    let scratch = Scratch::new();
    let check = |why: &str| {
        let prepared = scratch.prepare(&ask(&scratch));
        assert!(!prepared.resumed && prepared.conversation.as_deref() != Some(A), "{why}");
        assert!(prepared.notes.iter().any(|note| note.contains(why)), "{:?}", prepared.notes);
        assert!(prepared.notes.iter().all(|note| note.ends_with("a new conversation begins")));
    };
    // Only the lines before the first message: claude calls it both unknown and in use.
    let path = scratch.transcript(A, &scratch.work(), &[]);
    check("holds no message");
    put(&path, "");
    check("holds no message");
    std::fs::remove_file(&path).unwrap();
    scratch.transcript(A, scratch.home().join("w2").to_str().unwrap(), &["hello"]);
    check("belongs to another directory");
}

#[test]
fn a_transcript_that_is_no_file_is_not_resumed() {
    let scratch = Scratch::new();
    let path = scratch.transcript(A, &scratch.work(), &[]);
    let state = scratch.home().join(".claude.json");
    for path in [&path, &state] {
        let _ = std::fs::remove_file(path);
        let done = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(done.success());
    }
    // Neither pipe holds the start up.
    let prepared = scratch.prepare(&ask(&scratch));
    assert!(!prepared.resumed && prepared.conversation.as_deref() != Some(A));
    assert!(prepared.notes.iter().any(|note| note.contains("not a regular file")));
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(!scratch.prepare(&ask(&scratch)).resumed);
}

#[test]
fn a_transcript_with_an_endless_line_costs_no_memory() {
    let scratch = Scratch::new();
    let path = scratch.transcript(A, &scratch.work(), &[]);
    std::fs::File::create(&path).unwrap().set_len(1 << 42).unwrap();
    assert!(!scratch.prepare(&ask(&scratch)).resumed);
}

#[test]
fn a_conversation_of_another_session_is_never_resumed() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    let mut ask = ask(&scratch);
    ask.others = vec![A.to_owned()];
    let prepared = scratch.prepare(&ask);
    assert!(!prepared.resumed && prepared.conversation.as_deref() != Some(A));
    assert!(prepared.notes[0].contains("belongs to another session"), "{:?}", prepared.notes);
}

#[test]
fn a_text_that_is_no_id_is_never_part_of_a_path() {
    let scratch = Scratch::new();
    let prepared = scratch.prepare(&scratch.ask("claude").conversation("../../../etc/passwd"));
    assert!(!prepared.resumed);
    assert!(prepared.notes[0].contains("is not a conversation id"), "{:?}", prepared.notes);
}

#[test]
fn after_a_clear_the_conversation_it_moved_to_goes_on() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    let mut ask = ask(&scratch);
    ask.rotations = vec![(A, B), (B, C)];
    assert_eq!(outcome(&scratch.prepare(&ask)), (Some(A), true), "B has no transcript");
    scratch.transcript(B, &scratch.work(), &["<command-name>/clear</command-name>"]);
    let prepared = scratch.prepare(&ask);
    assert_eq!(outcome(&prepared), (Some(B), true));
    // Chains: the next launch is known by B, and moves on from there.
    let mut ask = ask.after(prepared, true);
    scratch.transcript(C, &scratch.work(), &["more"]);
    assert_eq!(outcome(&scratch.prepare(&ask)), (Some(C), true));
    ask.others = vec![C.to_owned()];
    let prepared = scratch.prepare(&ask);
    assert_eq!(outcome(&prepared), (Some(B), true));
    assert!(prepared.notes[0].contains("belongs to another session"), "{:?}", prepared.notes);
}

#[test]
fn a_conversation_written_into_the_registry_by_hand_counts() {
    let scratch = Scratch::new();
    for id in [A, B] {
        scratch.transcript(id, &scratch.work(), &["hello"]);
    }
    let first = scratch.prepare(&ask(&scratch));
    let ask = ask(&scratch).after(first, true).conversation(B);
    assert_eq!(outcome(&scratch.prepare(&ask)), (Some(B), true));
}

#[test]
fn five_sessions_in_one_directory_keep_their_own_conversations() {
    let scratch = Scratch::new();
    let mut asks: Vec<Ask> = (0..5).map(|_| scratch.ask("claude")).collect();
    let mut ids = Vec::new();
    for ask in &mut asks {
        let prepared = scratch.prepare(ask);
        let id = prepared.conversation.clone().unwrap();
        assert!(!ids.contains(&id));
        ids.push(id);
        *ask = std::mem::replace(ask, scratch.ask("claude")).after(prepared, true);
    }
    // All talked but the third, in another order than they were started.
    for at in [4, 0, 3, 1] {
        scratch.transcript(&ids[at], &scratch.work(), &["hello"]);
    }
    for (at, ask) in asks.iter_mut().enumerate() {
        ask.others = ids.iter().filter(|id| **id != ids[at]).cloned().collect();
        let prepared = scratch.prepare(ask);
        assert_eq!(outcome(&prepared), (Some(ids[at].as_str()), at != 2));
    }
}

#[test]
fn an_env_file_that_moves_claudes_directory_moves_the_look_up() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    let moved = scratch.home().join("moved");
    let mut ask = ask(&scratch);
    let variable = ("CLAUDE_CONFIG_DIR".to_owned(), moved.to_str().unwrap().to_owned());
    ask.variables = vec![variable];
    assert!(!scratch.prepare(&ask).resumed);
    assert!(moved.join(".claude.json").exists() && moved.join("settings.json").exists());
    std::fs::create_dir_all(&moved).unwrap();
    let projects = scratch.home().join(".claude/projects");
    std::os::unix::fs::symlink(projects, moved.join("projects")).unwrap();
    assert!(scratch.prepare(&ask).resumed);
}
