//! The file: one writer, versions, damage, and reading it beside the receiver and without one.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agent_box_webhook::inbox::{Criteria, Inbox, InboxError, ReadOnly};

use super::rig::{LIMITS, Rig, decline};

/// Overwrites a file.
fn put(path: &Path, bytes: &[u8]) {
    fs::File::create(path).unwrap().write_all(bytes).unwrap();
}

fn refusal(path: &Path) -> InboxError {
    Inbox::open(path, LIMITS).unwrap_err()
}

/// Everything in the directory, to see that nothing was changed.
fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let directory = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut files: Vec<_> = directory
        .map(|entry| entry.unwrap())
        .map(|it| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap()))
        // Who opens the file gets a lock, an index and a log; only its content counts here.
        .filter(|(name, _)| !["inbox.lock", "inbox.db-shm"].contains(&name.as_str()))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn a_second_writer_is_refused_and_told_who_has_it() {
    let mut rig = Rig::new();
    let error = refusal(&rig.path());
    let expected = format!("pid {} (", std::process::id());
    assert!(
        matches!(&error, InboxError::Held { holder, .. } if holder.starts_with(&expected)),
        "{error}"
    );
    rig.close();
    Inbox::open(&rig.path(), LIMITS).unwrap();
}

#[tokio::test]
async fn only_the_owner_can_read_it_and_its_id_stays() {
    let mut rig = Rig::new();
    rig.new_delivery("a", 0).await;
    for name in ["inbox.db", "inbox.db-wal", "inbox.db-shm", "inbox.lock"] {
        let meta = fs::metadata(rig.path().with_file_name(name)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{name}");
    }
    let id = rig.inbox().id();
    rig.reopen();
    assert_eq!(rig.inbox().id(), id);
    assert_ne!(Rig::new().inbox().id(), id);
}

#[tokio::test]
async fn a_newer_version_is_refused_and_left_alone() {
    let mut rig = Rig::new();
    rig.new_delivery("a", 0).await;
    rig.close();
    let db = rusqlite::Connection::open(rig.path()).unwrap();
    db.pragma_update(None, "user_version", 2).unwrap();
    drop(db);
    let before = files(&rig.path());
    let error = refusal(&rig.path());
    assert!(matches!(error, InboxError::Newer { found: 2, known: 1, .. }), "{error}");
    let error = ReadOnly::open(&rig.path()).unwrap_err();
    assert!(error.to_string().contains("newer agent-box"), "{error}");
    assert!(before == files(&rig.path()), "something was changed");
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_never_made_anew() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 6] = [
        ("emptied", |path| put(path, b"")),
        ("cut", |path| {
            let whole = fs::read(path).unwrap();
            put(path, &whole[..whole.len() / 2]);
        }),
        ("its head overwritten", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[..100].fill(0xee);
            put(path, &bytes);
        }),
        ("a page overwritten", |path| {
            let mut bytes = fs::read(path).unwrap();
            let page = 4096;
            bytes[5 * page..6 * page].fill(0xee);
            put(path, &bytes);
        }),
        ("another program's", |path| {
            fs::remove_file(path).unwrap();
            let db = rusqlite::Connection::open(path).unwrap();
            db.execute_batch("CREATE TABLE t (x)").unwrap();
        }),
        ("gone, and its log is there", |path| {
            fs::remove_file(path).unwrap();
            put(&path.with_file_name("inbox.db-wal"), b"something");
        }),
    ];
    for (what, harm) in harms {
        let mut rig = Rig::new();
        for number in 0..20 {
            rig.new_delivery(&format!("d{number}"), 0).await;
        }
        rig.close();
        harm(&rig.path());
        let before = files(&rig.path());
        for _ in 0..2 {
            let error = refusal(&rig.path());
            assert!(matches!(error, InboxError::Damaged { .. }), "{what}: {error:?}");
            let text = error.to_string();
            assert!(text.contains("left as it is") || text.contains("move"), "{what}: {text}");
        }
        assert!(before == files(&rig.path()), "{what}: something was changed");
    }
}

#[tokio::test]
async fn a_crash_while_it_is_made_leaves_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    // What a killed maker leaves behind.
    put(&directory.path().join(".inbox-abc"), b"half");
    assert!(ReadOnly::open(&path).unwrap().is_none(), "none was ever made");
    drop(Inbox::open(&path, LIMITS).unwrap());
    assert!(ReadOnly::open(&path).unwrap().is_some());
    assert!(!directory.path().join(".inbox-abc").exists(), "it is cleared away");
}

#[tokio::test]
async fn verbs_read_it_beside_the_receiver_and_without_one() {
    let mut rig = Rig::new();
    rig.new_delivery("a", 0).await;
    let count = |path: &Path| {
        let inbox = ReadOnly::open(path).unwrap().unwrap();
        inbox.look(|look| look.list(&Criteria::default(), 99)).unwrap().len()
    };
    assert_eq!(count(&rig.path()), 1);
    rig.new_delivery("b", 0).await;
    assert_eq!(count(&rig.path()), 2);
    rig.close();
    assert_eq!(count(&rig.path()), 2);
    // A reader that stays does not keep the receiver from writing, and sees one state per look.
    let reader = ReadOnly::open(&rig.path()).unwrap().unwrap();
    rig.reopen();
    rig.write(|tx| decline(tx, 1, 5)).await;
    let state = reader.look(|look| look.delivery(1)).unwrap().unwrap().state;
    assert_eq!(state.to_string(), "declined (nobody)");
}

#[tokio::test]
async fn damage_that_shows_up_later_is_told_with_the_file() {
    let mut rig = Rig::new();
    for number in 0..200 {
        rig.new_delivery(&format!("d{number}"), 0).await;
    }
    rig.close();
    let reader = ReadOnly::open(&rig.path()).unwrap().unwrap();
    let mut bytes = fs::read(rig.path()).unwrap();
    let end = bytes.len();
    bytes[5 * 4096..end].fill(0xee);
    put(&rig.path(), &bytes);
    let error = reader.look(|look| look.list(&Criteria::default(), 999)).unwrap_err();
    assert!(matches!(&error, InboxError::Damaged { path, .. } if *path == rig.path()), "{error:?}");
}
