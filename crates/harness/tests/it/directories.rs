//! Directories that an agent cannot work in are refused before anything is written.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use agent_box_harness::PrepareError;

use crate::scratch::{Scratch, put};

#[test]
fn bad_directories_are_refused_with_the_reason() {
    let mut scratch = Scratch::new();
    let home = scratch.home();
    put(&home.join("file"), "");
    put(&home.join("pointer"), "notes\n");
    scratch.surroundings.agents_pointer = Some(home.join("pointer"));
    symlink("loop", home.join("loop")).unwrap();
    for (directory, reason) in [
        ("w".to_owned(), "is not absolute"),
        (format!("{}/none", home.display()), "does not exist"),
        (format!("{}/file", home.display()), "is not a directory"),
        (format!("{}/file/x", home.display()), "is not a directory"),
        (format!("{}/loop", home.display()), "is a loop of symlinks"),
    ] {
        let mut ask = scratch.ask("claude").prompt("p");
        ask.entry.spec.working_directory = Some(directory.clone());
        let error = scratch.try_prepare(&ask).unwrap_err();
        assert!(matches!(error, PrepareError::BadDirectory { .. }));
        let text = error.to_string();
        assert!(text.contains(&directory) && text.contains(reason), "{text}");
    }
    assert!(!home.join(".claude.json").exists() && !home.join("w/AGENTS.md").exists());
}

#[test]
fn without_a_directory_an_agent_runs_in_the_home() {
    let scratch = Scratch::new();
    for none in [None, Some(String::new())] {
        let mut ask = scratch.ask("shell");
        ask.entry.spec.working_directory = none;
        assert_eq!(scratch.prepare(&ask).directory, scratch.home().to_str().unwrap());
    }
    assert!(scratch.root().exists());
}

#[test]
fn a_directory_without_the_right_to_enter_is_refused_to_all_but_root() {
    let scratch = Scratch::new();
    let closed = scratch.home().join("w");
    set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let refused = scratch.try_prepare(&scratch.ask("shell"));
    set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    match refused {
        Ok(_) => assert!(rustix::process::geteuid().is_root()),
        Err(error) => assert!(error.to_string().contains("cannot be entered"), "{error}"),
    }
}
