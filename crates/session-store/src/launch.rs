//! Launch records: one file per session id.

use std::path::PathBuf;

use agent_box_session::{LaunchRecord, SessionId};
use thiserror::Error;

use crate::error::IoError;
use crate::store::Store;

/// A launch record cannot be used.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The file does not hold a record.
    #[error("the launch record {} is damaged at byte {byte}: {reason}", path.display())]
    Damaged {
        /// The record's file.
        path: PathBuf,
        /// Offset of the first wrong byte.
        byte: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Store {
    /// The launch record of a session.
    ///
    /// # Errors
    /// When it is damaged or cannot be read; `None` only if there is none.
    pub fn launch(&self, id: SessionId) -> Result<Option<LaunchRecord>, LaunchError> {
        let _ = id;
        todo!()
    }

    /// All launch records; a damaged one is an error in the list, with its session's id.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn launches(&self) -> Result<Vec<(SessionId, Result<LaunchRecord, LaunchError>)>, IoError> {
        todo!()
    }

    /// Writes a launch record durably. Its writers hold the registry's lock or the lifetime lock.
    ///
    /// # Errors
    /// When the system refuses; the old record is whole then.
    pub fn write_launch(&self, record: &LaunchRecord) -> Result<(), IoError> {
        let _ = record;
        todo!()
    }

    /// Removes what is kept of a session's launches: record, lifetime lock, last words, prompt.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_launch(&self, id: SessionId) -> Result<(), IoError> {
        let _ = id;
        todo!()
    }
}
