//! A damaged registry is named, left alone, and never read as empty.

use std::convert::Infallible;
use std::fs;

use agent_box_session_store::{DamageKind, ReadError, RepairError, TransactError};

use crate::home::{Home, REFERENCE, operator};

#[track_caller]
fn damage(home: &Home) -> agent_box_session_store::Damage {
    match home.store.read() {
        Err(ReadError::Damaged(damage)) => damage,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_left_alone(home: &Home) {
    let before = fs::read(home.registry()).ok();
    let result = home.store.transact(operator("x"), |_| -> Result<(), Infallible> {
        panic!("a damaged document has no transaction")
    });
    assert!(matches!(result, Err(TransactError::Damaged(_))), "{result:?}");
    assert_eq!(fs::read(home.registry()).ok(), before);
}

#[test]
fn a_file_cut_at_any_byte_is_damaged_and_stays_as_it_is() {
    let home = Home::new();
    // Without the newline at its end it is still whole.
    for end in 0..REFERENCE.trim_end().len() {
        home.write(&REFERENCE.as_bytes()[..end]);
        let damage = damage(&home);
        let expect = if end == 0 { DamageKind::Empty } else { DamageKind::NotJson };
        assert_eq!(damage.kind, expect, "cut at {end}");
        assert!(damage.byte <= end);
        if end % 199 == 0 {
            assert_left_alone(&home);
        }
    }
}

#[test]
fn each_kind_of_damage_says_where_it_is_and_what_to_do() {
    let home = Home::new();
    let check = |bytes: &[u8], kind, place: (usize, usize, usize), words: &str| {
        home.write(bytes);
        let damage = damage(&home);
        assert_eq!(damage.kind, kind, "{damage}");
        assert_eq!((damage.byte, damage.line, damage.column), place, "{damage}");
        assert!(damage.to_string().contains(words), "{damage}");
        assert_left_alone(&home);
    };
    let whole = "{\n \"sessions\": {}\n}\n";
    check(b" \n", DamageKind::Empty, (0, 1, 1), "sessions.json is empty; `agent-box");
    check(&[0; 64], DamageKind::NotJson, (0, 1, 1), "nothing but NUL bytes");
    check(b"{\n\xff", DamageKind::NotJson, (2, 2, 1), "is not UTF-8");
    check(b"{\n \"ver", DamageKind::NotJson, (6, 2, 5), "a string (line 2, column 5, byte 6)");
    let garbage = format!("{whole}}}\n\0");
    check(garbage.as_bytes(), DamageKind::TrailingGarbage, (whole.len(), 4, 1), "repair");
    check(b"[]", DamageKind::WrongShape, (0, 1, 1), "does not hold an object");
    check(b"{\"version\":1}", DamageKind::WrongShape, (0, 1, 1), "has no `sessions`");
    check(b"{\"sessions\":null}", DamageKind::WrongShape, (0, 1, 1), "not an object");
    let newer = b"{\"version\":2,\"sessions\":{}}";
    check(newer, DamageKind::Newer, (0, 1, 1), "update agent-box on this machine");
    assert!(matches!(home.store.repair("test"), Err(RepairError::Newer(_))));
    assert_eq!(home.bytes(), newer);
}

#[test]
fn a_fresh_box_is_empty_but_a_registry_that_went_away_is_damage() {
    let home = Home::new();
    assert_eq!(home.store.read().unwrap().registry.entries().len(), 0);
    home.add("main");
    let text = home.text();
    fs::remove_file(home.registry()).unwrap();
    assert_eq!(damage(&home).kind, DamageKind::Missing);
    assert_left_alone(&home);
    assert!(!home.registry().exists());
    let repaired = home.store.repair("test").unwrap();
    assert_eq!((repaired.kept, home.text()), (None, text));
}

#[test]
fn repair_restores_the_newest_document_and_keeps_the_damaged_bytes() {
    let home = Home::with(REFERENCE);
    home.add("one");
    home.stop("one");
    let text = home.text();
    assert!(matches!(home.store.repair("test"), Err(RepairError::NotDamaged { .. })));
    home.write(b"{\"ver");
    assert_eq!(home.store.diagnose().unwrap().unwrap().kind, DamageKind::NotJson);
    let repaired = home.store.repair("test").unwrap();
    assert_eq!(home.text(), text, "byte for byte what was acknowledged last");
    assert_eq!(repaired.restored.summary, "stop one");
    assert_eq!(fs::read(repaired.kept.unwrap()).unwrap(), b"{\"ver");
    assert_eq!(home.store.diagnose().unwrap(), None);
    home.add("two");
}

#[test]
fn repair_keeps_a_whole_document_with_garbage_behind_it() {
    let home = Home::new();
    home.add("one");
    let shorter = REFERENCE.as_bytes();
    home.write(&[shorter, b"e\": true }\n}\n"].concat());
    home.store.repair("test").unwrap();
    assert_eq!(home.text().trim_end(), REFERENCE.trim_end());
}

#[test]
fn repair_without_anything_good_changes_nothing() {
    let home = Home::with("{");
    let error = home.store.repair("test").unwrap_err();
    assert!(matches!(error, RepairError::NothingGood { .. }), "{error}");
    assert_eq!(home.text(), "{");
}

#[test]
fn an_editor_that_writes_in_place_is_waited_for() {
    let home = Home::with("");
    let (path, bytes) = (home.registry(), REFERENCE.as_bytes());
    let editor = std::thread::spawn(move || crate::home::put(&path, bytes));
    assert!(home.store.read_settled().is_ok());
    editor.join().unwrap();
}

#[test]
fn a_box_whose_directory_was_removed_is_not_a_fresh_one() {
    let home = Home::new();
    home.add("one");
    fs::remove_dir_all(home.store.paths().config()).unwrap();
    assert_eq!(damage(&home).kind, DamageKind::Missing);
    let store = crate::home::open(home.path());
    let error = store.repair("test").unwrap_err();
    assert!(error.to_string().contains("to begin anew"), "{error}");
    home.write(b"{\"sessions\": {}}");
    home.add("two");
    assert_eq!(home.names(), ["two"]);
}

#[test]
fn what_is_no_file_is_said_and_holds_nobody_up() {
    let home = Home::with(REFERENCE);
    let paths = home.store.paths();
    let pipe = |path: &std::path::Path| {
        let _ = fs::remove_file(path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let says = |error: &dyn std::error::Error| {
        std::iter::successors(Some(error), |error| error.source())
            .any(|error| error.to_string().contains("not a regular file"))
    };
    pipe(&paths.env_file());
    assert!(says(&home.store.env().unwrap_err()));
    pipe(&home.registry());
    assert!(says(&home.store.read().unwrap_err()));
    fs::remove_file(home.registry()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", home.registry()).unwrap();
    assert!(says(&home.store.read().unwrap_err()));
    pipe(&paths.registry_lock());
    let change = home.store.transact(operator("x"), |_| -> Result<(), Infallible> { Ok(()) });
    assert!(says(&change.unwrap_err()));
}
