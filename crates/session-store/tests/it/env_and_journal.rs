//! The env file and the journal on disk.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use agent_box_session_store::{Event, EventKind, Filter, ReadEnvError, SetEnvError};

use crate::child;
use crate::home::{Home, name, put};

#[test]
fn parallel_env_edits_are_all_kept_with_the_comments() {
    let home = Home::new();
    let path = home.store.paths().env_file();
    put(&path, b"# mine\nTOKEN='a b'");
    let children: Vec<_> =
        (0..10).map(|number| child::spawn(home.path(), &format!("env KEY_{number}"))).collect();
    children.into_iter().for_each(child::succeed);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# mine\nTOKEN='a b'\n"), "{text}");
    let env = home.store.env().unwrap();
    assert_eq!(env.keys().len(), 11);
    assert_eq!(env.get("TOKEN"), Some("a b"));
}

#[test]
fn a_new_env_file_is_private_and_a_refused_edit_leaves_no_trace() {
    let home = Home::new();
    let path = home.store.paths().env_file();
    assert_eq!(home.store.env().unwrap().variables(), []);
    let refused = home.store.edit_env(|env| {
        env.set("A", "1")?;
        env.set("B", "two\nlines")
    });
    assert!(refused.unwrap_err().to_string().contains("a newline"));
    assert!(!path.exists());
    home.store.edit_env(|env| env.set("A", "1")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_env_file_that_others_could_read_is_private_after_an_edit() {
    let home = Home::new();
    let path = home.store.paths().env_file();
    put(&path, b"A=1\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    home.store.edit_env(|env| env.set("B", "secret")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_env_file_that_is_no_text_is_an_error_and_stays() {
    let home = Home::new();
    let path = home.store.paths().env_file();
    put(&path, b"A=1\nB=\xff\n");
    let error = home.store.env().unwrap_err();
    assert!(matches!(error, ReadEnvError::NotText { byte: 6, .. }), "{error}");
    let edit = home.store.edit_env(|env| -> Result<(), SetEnvError> { env.set("C", "1") });
    assert!(edit.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"A=1\nB=\xff\n");
}

fn event(home: &Home, text: &str) -> Event {
    Event::new(home.store.now(), EventKind::Exit, text)
}

fn texts(home: &Home, filter: &Filter, limit: usize) -> Vec<String> {
    let events = home.store.journal().read(filter, limit).unwrap();
    events.into_iter().map(|event| event.text).collect()
}

#[test]
fn the_journal_survives_torn_tails() {
    let home = Home::new();
    let journal = home.store.journal();
    assert_eq!(texts(&home, &Filter::default(), 9), [""; 0]);
    journal.append(&event(&home, "one")).unwrap();
    let mut file = OpenOptions::new().append(true).open(home.store.paths().journal()).unwrap();
    file.write_all(b"{\"at\":\"2026-12-01T0").unwrap();
    journal.append(&event(&home, "two")).unwrap();
    assert_eq!(texts(&home, &Filter::default(), 9), ["one", "two"]);
    assert_eq!(texts(&home, &Filter::default(), 1), ["two"]);
}

#[test]
fn the_journal_is_read_by_session_or_by_name() {
    let home = Home::new();
    let (old, new) = (home.store.mint_session(), home.store.mint_session());
    let journal = home.store.journal();
    for (id, key, text) in [(old, "a", "1"), (new, "a", "2"), (new, "b", "3")] {
        journal.append(&event(&home, text).about(id, &name(key)).by("test")).unwrap();
    }
    let by_id = Filter { session: Some(new), ..Filter::default() };
    let by_name = Filter { name: Some(name("a")), ..Filter::default() };
    assert_eq!(texts(&home, &by_id, 9), ["2", "3"]);
    assert_eq!(texts(&home, &by_name, 9), ["1", "2"]);
    let both = Filter { session: Some(new), name: Some(name("a")) };
    assert_eq!(texts(&home, &both, 2), ["2", "3"]);
}

#[test]
fn parallel_writers_lose_no_journal_line() {
    let home = Home::new();
    let children: Vec<_> = (0..4).map(|_| child::spawn(home.path(), "journal 50")).collect();
    children.into_iter().for_each(child::succeed);
    assert_eq!(texts(&home, &Filter::default(), 1000).len(), 200);
}

#[test]
fn a_full_journal_is_rotated_and_still_read() {
    let home = Home::new();
    let long = "x".repeat(3 << 20);
    for number in 0..12 {
        home.store.journal().append(&event(&home, &format!("{number} {long}"))).unwrap();
    }
    let files = Home::files(&home.store.paths().state());
    let journals = files.iter().filter(|(path, _)| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("journal.jsonl")
    });
    let sizes: Vec<usize> = journals.map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(sizes.len(), 4);
    assert!(sizes.iter().all(|size| *size <= 8 << 20));
    let texts = texts(&home, &Filter::default(), 100);
    let numbers: Vec<&str> = texts.iter().filter_map(|text| text.split(' ').next()).collect();
    assert_eq!(numbers, ["4", "5", "6", "7", "8", "9", "10", "11"]);
}
