//! The fault that every operation here can meet: the file system said no.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The system refused an operation on a file; nothing else is known.
#[derive(Debug, Error)]
#[error("cannot {action} {}", path.display())]
pub struct IoError {
    /// What was tried, as a verb ("read", "lock", "replace").
    pub action: &'static str,
    /// On which file or directory.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

impl IoError {
    /// For `map_err`: names the action and the path.
    pub fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.to_owned(), source }
    }

    /// Whether the file does not exist.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}
