//! The env file: variables for every session, one `KEY=value` a line.

use std::path::PathBuf;

use thiserror::Error;

use crate::error::IoError;
use crate::lock::LockError;
use crate::store::Store;

/// A text that cannot be a variable's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` cannot be a variable's name; use letters, digits and `_`, not a digit first")]
pub struct KeyError(pub String);

/// A variable that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetEnvError {
    /// Its name.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its value.
    #[error("the value of {key} holds {what}, which one line of the env file cannot; take it out")]
    Value {
        /// The variable.
        key: String,
        /// "a newline" or "a NUL byte".
        what: &'static str,
    },
}

/// The env file cannot be read.
#[derive(Debug, Error)]
pub enum ReadEnvError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// It is not text.
    #[error("{} is not UTF-8 at byte {byte}; mend it with an editor", path.display())]
    NotText {
        /// The env file.
        path: PathBuf,
        /// Offset of the first wrong byte.
        byte: usize,
    },
}

/// The env file was not changed.
#[derive(Debug, Error)]
pub enum EditEnvError<R> {
    /// Its lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadEnvError),
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The closure said no.
    #[error(transparent)]
    Refused(R),
}

/// The env file's lines, in order, with everything that is not a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvFile {
    lines: Vec<String>,
}

impl EnvFile {
    /// Reads a file's text; there is nothing that it refuses.
    pub fn parse(text: &str) -> Self {
        let _ = text;
        todo!()
    }

    /// The file's text; for an unchanged file, byte for byte what was parsed.
    pub fn print(&self) -> String {
        todo!()
    }

    /// The value that an agent sees: the last line of that key, one pair of surrounding quotes
    /// taken off, nothing expanded.
    pub fn get(&self, key: &str) -> Option<&str> {
        let _ = key;
        todo!()
    }

    /// All variables as an agent sees them, in the order of first appearance.
    pub fn variables(&self) -> Vec<(&str, &str)> {
        todo!()
    }

    /// The names, sorted, each once.
    pub fn keys(&self) -> Vec<&str> {
        todo!()
    }

    /// Sets a variable: in place where its last line is, else at the end.
    ///
    /// # Errors
    /// When name or value cannot stand in the file.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SetEnvError> {
        let _ = (key, value);
        todo!()
    }

    /// Removes a variable; returns whether it was there.
    ///
    /// # Errors
    /// When the name cannot stand in the file.
    pub fn remove(&mut self, key: &str) -> Result<bool, KeyError> {
        let _ = key;
        todo!()
    }
}

impl Store {
    /// Reads the env file; none is an empty one.
    ///
    /// # Errors
    /// When it cannot be read or is not text.
    pub fn env(&self) -> Result<EnvFile, ReadEnvError> {
        todo!()
    }

    /// Changes the env file under its own lock.
    ///
    /// # Errors
    /// When the lock is not had, the file cannot be read or written, or `edit` refuses; it is
    /// unchanged then.
    pub fn edit_env<T, R>(
        &self,
        edit: impl FnOnce(&mut EnvFile) -> Result<T, R>,
    ) -> Result<T, EditEnvError<R>> {
        let _ = edit;
        todo!()
    }
}
