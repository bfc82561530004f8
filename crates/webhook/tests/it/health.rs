//! What verbs say when the receiver or its inbox is not as it should be.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use agent_box_webhook::inbox::{Inbox, InboxLimits};
use serde_json::Value;

use crate::verbs::{Done, Scene, put};

/// A user with an inbox that nobody runs.
fn scene() -> (Scene, PathBuf) {
    let scene = Scene::new();
    let path = scene.paths().inbox();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(Inbox::open(&path, InboxLimits::default()).unwrap());
    (scene, path)
}

fn sql(path: &PathBuf, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Asserts that one line says what is wrong and what to do.
#[track_caller]
fn says_what_and_the_next_step(done: &Done, what: &str) {
    let said = done.stderr.lines().find(|line| line.contains("the inbox is damaged"));
    let said = said.unwrap_or_else(|| panic!("{done:?}"));
    for part in [what, "inbox.db", ".recover", "aside"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_receiver_is_one_that_holds_the_inbox_and_no_number_in_a_file() {
    let (scene, path) = scene();
    // The receiver is dead, and another program has its number now.
    let file = path.with_file_name("receiver.json");
    put(&file, &format!(r#"{{"pid": {}, "version": "0.1.0"}}"#, std::process::id()));
    let running = || {
        let status: Value = serde_json::from_str(&scene.run(&["status"]).stdout).unwrap();
        status["receiver"]["running"].clone()
    };
    assert_eq!(running(), false);
    let held = Inbox::open(&path, InboxLimits::default()).unwrap();
    assert_eq!(running(), true);
    drop(held);
    assert_eq!(running(), false);
}

#[test]
fn an_inbox_that_opens_and_cannot_be_read_is_said_so_with_the_next_step() {
    type Harm = fn(&PathBuf);
    let harms: [(&str, Harm); 3] = [
        ("no such table", |path| sql(path, "DROP TABLE messages")),
        ("no such column", |path| sql(path, "ALTER TABLE messages RENAME enqueued_ms TO x")),
        ("the word `lost`", |path| {
            sql(
                path,
                "INSERT INTO deliveries (source, format, kind, id, is_id_ours, digest, size, \
                 received_ms, relation, state) \
                 VALUES ('a', 'generic', 'x', 'a', 0, zeroblob(32), 0, 0, 'new', 'lost')",
            );
        }),
    ];
    for (what, harm) in harms {
        let (scene, path) = scene();
        harm(&path);
        let is_of_status = what.starts_with("no such");
        if is_of_status {
            let done = scene.run(&["status", "--json"]).expect(1);
            says_what_and_the_next_step(&done, what);
            let status: Value = serde_json::from_str(&done.stdout).unwrap();
            let problem = status["inbox"]["problem"].as_str().unwrap();
            assert!(problem.contains(what) && !problem.contains('\n'), "{problem}");
        } else {
            for words in [&["deliveries"][..], &["explain", "1"], &["replay", "1"]] {
                says_what_and_the_next_step(&scene.run(words).expect(1), what);
            }
        }
    }
}

#[test]
fn a_torn_page_is_told_on_one_line() {
    let (scene, path) = scene();
    let file = fs::File::options().write(true).open(&path).unwrap();
    // The first page holds the schema, without which it would not even open.
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    file.write_all_at(&vec![0xff; length - 4096], 4096).unwrap();
    let error = Inbox::open(&path, InboxLimits::default()).unwrap_err().to_string();
    assert!(error.contains("the inbox is damaged (") && !error.contains('\n'), "{error:?}");
    says_what_and_the_next_step(&scene.run(&["status"]).expect(1), "malformed");
}
