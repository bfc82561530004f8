//! The registry's document as it was read: typed, and as text for everything the types leave out.

use std::path::PathBuf;

use agent_box_session::Registry;
use thiserror::Error;

use crate::error::IoError;
use crate::store::Store;

/// How a registry is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// It is gone although this box has a history.
    Missing,
    /// Zero bytes, or nothing but white space.
    Empty,
    /// Not JSON (torn, NULs, not UTF-8).
    NotJson,
    /// Good JSON with something behind it.
    TrailingGarbage,
    /// JSON, but no object with `sessions`.
    WrongShape,
    /// Written by a newer agent-box; not damage in truth, so `repair` leaves it alone.
    Newer,
}

/// A registry that cannot be read as it stands. Nothing writes over it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} {reason} (line {line}, column {column}, byte {byte}); {}", path.display(), next_step(*kind))]
pub struct Damage {
    /// The registry.
    pub path: PathBuf,
    /// Offset of the first wrong byte.
    pub byte: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in bytes, from 1.
    pub column: usize,
    /// What is wrong, as a predicate ("is empty").
    pub reason: String,
    /// What is wrong, for programs.
    pub kind: DamageKind,
}

fn next_step(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::Newer => "update agent-box on this machine",
        _ => "`agent-box session repair` restores the newest good version, or mend it by hand",
    }
}

/// Why there is no document.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not hold a registry that can be used.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// A registry's document.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it says.
    pub registry: Registry,
}

impl Store {
    /// Reads the registry without a lock: writers replace the file in one step.
    ///
    /// No file and no history is a fresh box: an empty registry.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn read(&self) -> Result<Document, ReadError> {
        todo!()
    }

    /// Like [`Store::read`], but damage must last 200 ms: some editors write in place.
    ///
    /// # Errors
    /// When the file is still damaged then, or cannot be read.
    pub fn read_settled(&self) -> Result<Document, ReadError> {
        todo!()
    }
}
