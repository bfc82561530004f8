//! `repair`: the newest good document in place of a damaged one, which is kept.

use std::path::PathBuf;

use thiserror::Error;

use crate::document::{Damage, ReadError};
use crate::error::IoError;
use crate::history::Generation;
use crate::lock::LockError;
use crate::store::Store;

/// What `repair` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The document that is current now.
    pub restored: Generation,
    /// Where the damaged bytes are; `None` if the file was missing.
    pub kept: Option<PathBuf>,
}

/// Nothing was repaired.
#[derive(Debug, Error)]
pub enum RepairError {
    /// The registry is fine.
    #[error("{} is not damaged; nothing to repair", path.display())]
    NotDamaged {
        /// The registry.
        path: PathBuf,
    },
    /// It is not damaged but newer than this program.
    #[error(transparent)]
    Newer(Damage),
    /// Nothing good is left.
    #[error("{damage}; history holds no good version to restore")]
    NothingGood {
        /// What is wrong with the registry.
        damage: Damage,
    },
    /// The lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Store {
    /// What is wrong with the registry, if anything.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn diagnose(&self) -> Result<Option<Damage>, IoError> {
        match self.read_settled() {
            Ok(_) => Ok(None),
            Err(ReadError::Damaged(damage)) => Ok(Some(damage)),
            Err(ReadError::Io(error)) => Err(error),
        }
    }

    /// Restores the newest good document if the registry is damaged or missing.
    ///
    /// # Errors
    /// When it is fine, newer, or nothing good is left; it is unchanged then.
    pub fn repair(&self, by: &str) -> Result<Repaired, RepairError> {
        let _ = by;
        todo!()
    }
}
