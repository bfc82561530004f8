//! Opening the file: making it whole or not at all, refusing what is newer or damaged.

use std::fs::File;
use std::path::Path;

use rusqlite::Connection;

use super::{InboxError, InboxLimits, Look};

pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) lock: File,
    pub(super) id: u64,
}

pub(super) fn for_writing(path: &Path, limits: InboxLimits) -> Result<Opened, InboxError> {
    let _ = (path, limits);
    Err(InboxError::Closed)
}

pub(super) fn second_connection(path: &Path) -> Result<Connection, InboxError> {
    let _ = path;
    Err(InboxError::Closed)
}

/// The inbox for verbs: works beside the daemon and without it, and changes nothing.
#[derive(Debug)]
pub struct ReadOnly {
    connection: Connection,
    id: u64,
}

impl ReadOnly {
    /// Opens the inbox; `None` if none was ever made.
    ///
    /// # Errors
    /// When it is newer or damaged.
    pub fn open(path: &Path) -> Result<Option<Self>, InboxError> {
        let _ = path;
        Err(InboxError::Closed)
    }

    /// Looks at one committed state.
    pub fn look<T>(
        &self,
        look: impl FnOnce(&Look<'_>) -> Result<T, InboxError>,
    ) -> Result<T, InboxError> {
        look(&Look { db: &self.connection, inbox: self.id })
    }
}
