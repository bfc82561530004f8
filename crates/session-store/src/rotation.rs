//! Rotation records: which conversation a launched one has moved on to. The reference system
//! reads and writes the same files: one line with the new id, named after the old one.

use crate::error::IoError;
use crate::store::Store;

impl Store {
    /// The conversation that the one launched as `conversation` has moved on to.
    ///
    /// # Errors
    /// When a record exists and cannot be read.
    pub fn rotation(&self, conversation: &str) -> Result<Option<String>, IoError> {
        let _ = conversation;
        todo!()
    }

    /// Records that the conversation launched as `from` goes on as `to`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_rotation(&self, from: &str, to: &str) -> Result<(), IoError> {
        let _ = (from, to);
        todo!()
    }

    /// The launch id that the reference system noted for the session `name`.
    ///
    /// # Errors
    /// When a side file exists and cannot be read; one without a well-formed id counts as none.
    pub fn reference_conversation(&self, name: &str) -> Result<Option<String>, IoError> {
        let _ = name;
        todo!()
    }
}
