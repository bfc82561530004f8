//! Rotation records: which conversation a launched one has moved on to. The reference system
//! reads and writes the same files: one line with the new id, named after the old one.

use std::io;
use std::path::Path;

use agent_box_disk::{self as disk, IoError};
use agent_box_session::SessionName;
use uuid::Uuid;

use crate::regular_file;
use crate::store::Store;

impl Store {
    /// The conversation that the one launched as `conversation` has moved on to.
    ///
    /// # Errors
    /// When a record exists and cannot be read.
    pub fn rotation(&self, conversation: &str) -> Result<Option<String>, IoError> {
        if !is_id(conversation) {
            return Ok(None);
        }
        let path = self.paths().rotation(conversation);
        Ok(read_if_any(&path)?.map(|text| text.trim().to_owned()).filter(|id| is_id(id)))
    }

    /// Records that the conversation launched as `from` goes on as `to`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_rotation(&self, from: &str, to: &str) -> Result<(), IoError> {
        let path = self.paths().rotation(checked(from)?);
        let line = format!("{}\n", checked(to)?);
        disk::replace(&path, &self.paths().state(), line.as_bytes())
    }

    /// The launch id that the reference system noted for the session `name`.
    ///
    /// # Errors
    /// When a side file exists and cannot be read; one without a well-formed id counts as none.
    pub fn reference_conversation(&self, name: &SessionName) -> Result<Option<String>, IoError> {
        let path = self.paths().reference_side_file(name.as_str());
        let Some(text) = read_if_any(&path)? else { return Ok(None) };
        let side: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(side["launchSessionId"].as_str().filter(|id| is_id(id)).map(str::to_owned))
    }
}

/// Conversation ids become file names, so nothing but a hyphenated UUID passes.
fn is_id(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}

fn checked(conversation: &str) -> Result<&str, IoError> {
    if is_id(conversation) {
        return Ok(conversation);
    }
    let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a conversation id");
    Err(IoError::on("use", Path::new(conversation))(error))
}

fn read_if_any(path: &Path) -> Result<Option<String>, IoError> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IoError::on("read", path)(error)),
    }
}
