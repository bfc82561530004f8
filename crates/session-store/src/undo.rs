//! `undo`: an earlier document, written forward as a new one.

use agent_box_session::Undone;
use thiserror::Error;

use crate::error::IoError;
use crate::store::Store;
use crate::transaction::TransactError;

/// There is nothing to go back to.
#[derive(Debug, Error)]
pub enum UndoRefusal {
    /// History is shorter.
    #[error("history has only {available} changes to undo; `agent-box session history` shows them")]
    TooFar {
        /// How many can be undone.
        available: usize,
    },
    /// History cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// Nothing was undone.
pub type UndoError = TransactError<UndoRefusal>;

impl Store {
    /// Takes back the newest `steps` changes of the operator (hand edits count).
    ///
    /// The launches of the ids in [`Undone::delisted`] are to be ended.
    ///
    /// # Errors
    /// When there are not so many, or the transaction fails.
    pub fn undo(&self, by: &str, steps: usize) -> Result<Undone, UndoError> {
        let _ = (by, steps);
        todo!()
    }
}
