//! Why the inbox did not do what it was asked.

use std::path::PathBuf;

use rusqlite::ErrorCode;
use thiserror::Error;

use crate::disk::IoError;

/// Why the inbox did not do what it was asked; nothing of the job has happened then.
#[derive(Debug, Error)]
pub enum InboxError {
    /// Another program writes it.
    #[error("{}: another receiver has the inbox, {holder}; end that one first", path.display())]
    Held {
        /// The lock.
        path: PathBuf,
        /// Who holds it, as far as is known.
        holder: String,
    },
    /// It was written by a newer version.
    #[error(
        "{}: written by a newer agent-box (inbox version {found}, this one knows {known}); \
         run that version, or move the file aside to begin with an empty inbox",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// It cannot be read, and is left as it is.
    #[error(
        "{}: the inbox is damaged ({what}) and was left as it is; to save what it holds run \
         `sqlite3 {} .recover`, to begin with an empty one move the file and its -wal aside",
        path.display(), path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A file could not be read or made.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is no room: on the disk, in the backlog or in front of the writer.
    #[error("the inbox is full: {0}")]
    Full(String),
    /// A state does not allow what was asked; a bug of the caller, or a race that it lost.
    #[error("{0}")]
    Refused(String),
    /// What was named is not there.
    #[error("there is no {0} in the inbox")]
    Unknown(String),
    /// A row holds what no version wrote.
    #[error("the inbox holds what cannot be read: {0}")]
    Unreadable(String),
    /// The transaction that the job was part of could not be committed.
    #[error("the inbox could not commit: {0}")]
    NotCommitted(String),
    /// The thread that does the work has ended.
    #[error("the inbox is closed")]
    Closed,
    /// A job of it panicked, a bug; nothing of that job was kept.
    #[error("a job of the inbox panicked")]
    Panicked,
    /// SQLite failed otherwise.
    #[error("the inbox's database failed")]
    Database(#[source] rusqlite::Error),
}

impl InboxError {
    /// Whether there was no room; the same may work later.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }
}

impl From<rusqlite::Error> for InboxError {
    fn from(error: rusqlite::Error) -> Self {
        if is_no_room(&error) {
            Self::Full(format!("no room on the disk ({error})"))
        } else {
            Self::Database(error)
        }
    }
}

/// Whether the disk, or the file's own bound, is what failed.
pub(super) fn is_no_room(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}
