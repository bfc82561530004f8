//! A full disk: commands fail and say so, nothing is lost, and it goes on when there is room.

use std::fs;
use std::path::Path;
use std::process::Command;

use agent_box_session::{Agent, SessionSpec};
use agent_box_session_store::TransactError;

use crate::child;
use crate::home::{Home, name, open, operator, put};

/// A small tmpfs over a directory; unmounted when dropped.
struct SmallDisk<'p>(&'p Path);

impl<'p> SmallDisk<'p> {
    /// `None` where mounting is not allowed.
    fn over(path: &'p Path) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs"])
            .arg(path)
            .output()
            .ok()?;
        mount.status.success().then_some(Self(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_changes_nothing_and_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join(".config");
    let Some(_disk) = SmallDisk::over(&config) else {
        eprintln!("not run: mounting a tmpfs needs root");
        return;
    };
    let store = open(directory.path());
    let add = |key: &str, prompt: usize| {
        let mut spec = SessionSpec::new(Agent::Shell);
        spec.initial_prompt = Some("x".repeat(prompt));
        store.transact(operator(key), |tx| tx.add(name(key), spec, "test"))
    };
    add("one", 4000).unwrap();
    let filler = store.paths().config().join("filler");
    let mut size = 128 << 10;
    while size > 0 {
        let taken = fs::metadata(&filler).map_or(0, |meta| meta.len());
        let bytes = vec![0; usize::try_from(taken).unwrap() + size];
        if fs::File::create(&filler)
            .and_then(|mut file| {
                use std::io::Write as _;
                file.write_all(&bytes)
            })
            .is_err()
        {
            put(&filler, &bytes[size..]);
            size /= 2;
        }
    }
    let before = (Home::files(&store.paths().config()), Home::files(&store.paths().history()));
    for round in 0..3 {
        let error = add(&format!("two{round}"), 9000).unwrap_err();
        assert!(matches!(error, TransactError::Io(_)), "{error}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("No space left"), "{error}: {source}");
        let stop = store.transact(operator("stop"), |tx| tx.stop(&name("one"), "test"));
        assert!(matches!(stop, Err(TransactError::Io(_))));
    }
    let after = (Home::files(&store.paths().config()), Home::files(&store.paths().history()));
    assert!(before == after, "something changed on the full disk");
    fs::remove_file(&filler).unwrap();
    add("two", 9000).unwrap();
    store.transact(operator("stop"), |tx| tx.stop(&name("one"), "test")).unwrap();
}

#[test]
fn a_file_size_limit_changes_nothing() {
    let home = Home::new();
    home.store
        .transact(operator("add"), |tx| {
            let mut spec = SessionSpec::new(Agent::Shell);
            spec.initial_prompt = Some("x".repeat(64 << 10));
            tx.add(name("one"), spec, "test")
        })
        .unwrap();
    let everything = || {
        let paths = home.store.paths();
        [paths.config(), paths.history(), paths.state(), paths.tombstones()]
            .map(|directory| Home::files(&directory))
    };
    let before = everything();
    let program = child::command(home.path(), "stop one");
    // An ignored signal stays ignored behind exec: writing then fails instead of killing.
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args());
    for (key, value) in program.get_envs() {
        limited.env(key, value.unwrap());
    }
    let output = limited.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("File too large"), "{text}");
    let without_locks = |files: [Vec<(std::path::PathBuf, Vec<u8>)>; 4]| {
        files.map(|mut files| {
            files.retain(|(path, _)| path.extension().is_none_or(|it| it != "lock"));
            files
        })
    };
    assert!(without_locks(before) == without_locks(everything()), "something changed");
}

#[test]
fn an_injected_fault_before_the_commit_changes_nothing() {
    for point in ["before-temp", "after-temp-write", "before-history", "before-rename"] {
        let home = Home::new();
        home.add("one");
        let steer = tempfile::tempdir().unwrap();
        put(&steer.path().join(format!("store.{point}")), b"fail");
        let registry = home.text();
        let history = Home::files(&home.store.paths().history());
        let child = child::command(home.path(), "rm one")
            .env("AGENT_BOX_TESTPOINTS", steer.path())
            .output()
            .unwrap();
        assert!(!child.status.success(), "{point}");
        assert_eq!(home.text(), registry, "{point}");
        assert_eq!(Home::files(&home.store.paths().history()), history, "{point}");
        let tombstones = home.store.tombstones().unwrap();
        assert!(tombstones.is_empty(), "{point}");
        home.delist("one");
    }
}
