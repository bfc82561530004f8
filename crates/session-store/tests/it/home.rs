//! A temporary home with a store in it.

use std::fs;
use std::path::{Path, PathBuf};

use agent_box_session::paths::Paths;
use agent_box_session::{Agent, SessionId, SessionName, SessionSpec, Settled};
use agent_box_session_store::{Change, IoError, Store};
use tempfile::TempDir;

/// The file of a box that the reference system ran so far.
pub(crate) const REFERENCE: &str = include_str!("../fixtures/reference.json");

#[derive(Debug)]
pub(crate) struct Home {
    directory: TempDir,
    pub(crate) store: Store,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("ab").tempdir().unwrap();
        let store = open(directory.path());
        Self { directory, store }
    }

    /// One whose registry holds `text`.
    pub(crate) fn with(text: &str) -> Self {
        let home = Self::new();
        home.write(text.as_bytes());
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn registry(&self) -> PathBuf {
        self.store.paths().registry()
    }

    /// What an editor does that writes in place.
    pub(crate) fn write(&self, bytes: &[u8]) {
        put(&self.registry(), bytes);
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.registry()).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let document = self.store.read().unwrap();
        document.registry.entries().map(|(name, _)| name.to_string()).collect()
    }

    pub(crate) fn add(&self, key: &str) -> SessionId {
        self.store
            .transact(operator(&format!("add {key}")), |tx| {
                tx.add(name(key), SessionSpec::new(Agent::Shell), "test")
            })
            .unwrap()
    }

    pub(crate) fn delist(&self, key: &str) -> SessionId {
        let delisted = self
            .store
            .transact(operator(&format!("rm {key}")), |tx| tx.delist(&name(key), "test"))
            .unwrap();
        delisted.id.unwrap()
    }

    pub(crate) fn stop(&self, key: &str) {
        self.store
            .transact(operator(&format!("stop {key}")), |tx| tx.stop(&name(key), "test"))
            .unwrap();
    }

    /// What a supervisor does after a hand edit.
    pub(crate) fn settle(&self) -> Vec<Settled> {
        let mut settled = Vec::new();
        self.store
            .transact(Change::Mirror, |tx| {
                settled = tx.settle()?;
                Ok::<_, IoError>(())
            })
            .unwrap();
        settled
    }

    /// All files of a directory with their bytes.
    pub(crate) fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

pub(crate) fn open(home: &Path) -> Store {
    Store::open(Paths::new(home, home.join("run/tmux-0/agent-box"))).unwrap()
}

pub(crate) fn name(text: &str) -> SessionName {
    SessionName::parse(text).unwrap()
}

pub(crate) fn operator(summary: &str) -> Change {
    Change::Operator { by: "test".to_owned(), summary: summary.to_owned() }
}

#[expect(clippy::disallowed_methods, reason = "what other programs do to our files")]
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}
