//! Earlier documents of the registry.

use agent_box_session::Timestamp;
use thiserror::Error;

use crate::document::Document;
use crate::error::IoError;
use crate::lock::LockError;
use crate::store::Store;

/// Whose document it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationKind {
    /// A command's.
    Operator,
    /// The programs', mirroring what they saw.
    Mirror,
    /// Written by another program or by hand, and seen.
    HandEdit,
}

/// One earlier document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number, growing.
    pub number: u64,
    /// When it was written (or seen).
    pub at: Timestamp,
    /// By whom.
    pub kind: GenerationKind,
    /// By whom, in words for people.
    pub by: String,
    /// What it did, in words for people.
    pub summary: String,
    /// How it differs from the one before.
    pub changes: Vec<NameChange>,
}

/// How two documents differ in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameChange {
    /// The session's key.
    pub name: String,
    /// The difference.
    pub what: WhatChanged,
}

/// The kinds of [`NameChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatChanged {
    /// It came.
    Added,
    /// It went.
    Removed,
    /// It is another session, or its entry changed.
    Changed,
}

/// The history cannot be read or extended.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The registry's lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Store {
    /// What is kept, oldest first.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn history(&self) -> Result<Vec<Generation>, IoError> {
        todo!()
    }

    /// Keeps a good document that somebody else wrote, unless history has it. Returns whether it
    /// was new.
    ///
    /// # Errors
    /// When the lock is not had or the system refuses.
    pub fn note_hand_edit(&self, document: &Document) -> Result<bool, HistoryError> {
        let _ = document;
        todo!()
    }
}
