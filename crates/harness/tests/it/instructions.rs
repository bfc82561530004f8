//! Instruction files: placed where there is none, never changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::scratch::{Scratch, put};

#[test]
fn files_are_placed_once_and_for_claude_linked() {
    let mut scratch = Scratch::new();
    let home = scratch.home();
    put(&home.join("pointer"), "notes\n");
    scratch.surroundings.agents_pointer = Some(home.join("pointer"));
    scratch.surroundings.claude_guide_target = Some(home.join("guide"));
    scratch.prepare(&scratch.ask("shell"));
    assert!(!home.join("w/AGENTS.md").exists());

    scratch.prepare(&scratch.ask("codex"));
    let agents = home.join("w/AGENTS.md");
    assert_eq!(fs::read_to_string(&agents).unwrap(), "notes\n");
    assert_eq!(agents.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    assert!(home.join("w/CLAUDE.md").symlink_metadata().is_err());

    put(&agents, "mine\n");
    let notes = scratch.prepare(&scratch.ask("claude")).notes;
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(fs::read_to_string(&agents).unwrap(), "mine\n");
    assert_eq!(fs::read_link(home.join("w/CLAUDE.md")).unwrap().to_str(), Some("AGENTS.md"));
    assert_eq!(fs::read_link(home.join(".claude/CLAUDE.md")).unwrap(), home.join("guide"));
    assert!(scratch.prepare(&scratch.ask("claude")).notes.is_empty());
}

#[test]
fn a_dangling_link_of_the_user_is_kept_and_no_option_places_nothing() {
    let mut scratch = Scratch::new();
    let home = scratch.home();
    put(&home.join("w2/AGENTS.md"), "mine\n");
    let mut ask = scratch.ask("claude");
    ask.entry.spec.working_directory = Some(home.join("w2").to_str().unwrap().to_owned());
    scratch.prepare(&ask);
    assert!(home.join("w2/CLAUDE.md").symlink_metadata().is_err());

    put(&home.join("pointer"), "notes\n");
    scratch.surroundings.agents_pointer = Some(home.join("pointer"));
    symlink("/nowhere/at/all", home.join("w/AGENTS.md")).unwrap();
    let prepared = scratch.prepare(&scratch.ask("claude"));
    assert!(prepared.notes.is_empty(), "{:?}", prepared.notes);
    assert!(!home.join("w/AGENTS.md").exists());
    assert!(home.join("w/CLAUDE.md").symlink_metadata().is_err());
}

#[test]
fn what_cannot_be_placed_is_said_and_the_launch_goes_on() {
    let mut scratch = Scratch::new();
    scratch.surroundings.agents_pointer = Some(scratch.home().join("no-pointer"));
    let prepared = scratch.prepare(&scratch.ask("codex"));
    assert!(prepared.notes[0].contains("AGENTS.md"), "{:?}", prepared.notes);
}
