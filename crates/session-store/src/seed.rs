//! Sessions declared by the system configuration: listed once each, never again after that.

use std::path::{Path, PathBuf};

use agent_box_session::SessionName;
use thiserror::Error;

use crate::document::ReadError;
use crate::error::IoError;
use crate::store::Store;
use crate::transaction::TransactError;

/// What seeding did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seeded {
    /// Sessions that are listed now and were not before.
    pub added: Vec<SessionName>,
    /// Declared entries that cannot be used, with the reason.
    pub unusable: Vec<(String, String)>,
}

/// Nothing was seeded.
#[derive(Debug, Error)]
pub enum SeedError {
    /// The declared sessions cannot be read.
    #[error("cannot use the declared sessions")]
    Declared(#[source] ReadError),
    /// The note of what was seeded before is damaged.
    #[error("{} is damaged: {reason}; remove it to seed all declared sessions anew", path.display())]
    Marker {
        /// The note.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The transaction failed.
    #[error(transparent)]
    Transact(#[from] TransactError<IoError>),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Store {
    /// Lists the declared sessions at `path` that were never seeded and whose names are free.
    ///
    /// # Errors
    /// When the declared sessions cannot be read or the transaction fails.
    pub fn seed(&self, path: &Path) -> Result<Seeded, SeedError> {
        let _ = path;
        todo!()
    }
}
