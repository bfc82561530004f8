//! Launch records: one file per session id.

use std::io;
use std::path::{Path, PathBuf};

use agent_box_disk::{self as disk, IoError};
use agent_box_session::{LaunchRecord, SessionId};
use serde::Deserialize;
use thiserror::Error;

use crate::identity_json::ids_in;
use crate::launch_json::{self, RecordJson};
use crate::regular_file;
use crate::store::Store;

/// A launch record cannot be used.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The file does not hold a record.
    #[error(
        "the launch record {} is damaged at byte {byte}: {reason}; `agent-box stop` the session, \
         move the file away and `agent-box restart` it",
        path.display()
    )]
    Damaged {
        /// The record's file.
        path: PathBuf,
        /// Offset of the first wrong byte.
        byte: usize,
        /// What is wrong.
        reason: String,
    },
    /// A newer agent-box wrote it.
    #[error(
        "the launch record {} has format version {version}; update agent-box on this machine",
        path.display()
    )]
    Newer {
        /// The record's file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// Each session's launch record, or what is wrong with it.
pub type Launches = Vec<(SessionId, Result<LaunchRecord, LaunchError>)>;

impl Store {
    /// The launch record of a session.
    ///
    /// # Errors
    /// When it is damaged or cannot be read; `None` only if there is none.
    pub fn launch(&self, id: SessionId) -> Result<Option<LaunchRecord>, LaunchError> {
        let path = self.paths().launch(id);
        match regular_file::read(&path) {
            Ok(bytes) => parse(&path, &bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoError::on("read", &path)(error).into()),
        }
    }

    /// All launch records; a damaged one is an error in the list, with its session's id.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn launches(&self) -> Result<Launches, IoError> {
        let mut records = Vec::new();
        for id in ids_in(&self.paths().launches())? {
            // One that was removed since the directory was listed is no record any more.
            if let Some(record) = self.launch(id).transpose() {
                records.push((id, record));
            }
        }
        Ok(records)
    }

    /// Writes a launch record durably. Its writers hold the registry's lock or the lifetime lock.
    ///
    /// # Errors
    /// When the system refuses; the old record is whole then.
    pub fn write_launch(&self, record: &LaunchRecord) -> Result<(), IoError> {
        let mut text = serde_json::to_vec_pretty(&RecordJson::of(record))
            .expect("BUG: texts and numbers print");
        text.push(b'\n');
        let path = self.paths().launch(record.session);
        disk::replace(&path, &self.paths().state(), &text)
    }

    /// Removes what is kept of a session's launches: record, lifetime lock, last words and the
    /// file of a long prompt. The lifetime lock must be free; a held one stays.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_launch(&self, id: SessionId) -> Result<(), IoError> {
        if let Ok(Some(record)) = self.launch(id) {
            disk::remove(&self.paths().prompt(record.launch))?;
        }
        disk::remove(&self.paths().last_words(id))?;
        disk::remove(&self.paths().launch(id))?;
        // Unlinked only while it is ours: whoever opened it before sees that it was replaced.
        if let Some(lock) = self.lifetime_lock(id)? {
            disk::remove(&self.paths().lifetime_lock(id))?;
            drop(lock);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn parse(path: &Path, bytes: &[u8]) -> Result<LaunchRecord, LaunchError> {
    let damaged = |byte, reason| LaunchError::Damaged { path: path.to_owned(), byte, reason };
    let complaint = |error: serde_json::Error| {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let line_start: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        damaged(line_start + error.column().saturating_sub(1), error.to_string())
    };
    let Version { version } = serde_json::from_slice(bytes).map_err(complaint)?;
    if version > launch_json::VERSION {
        return Err(LaunchError::Newer { path: path.to_owned(), version });
    }
    let json: RecordJson = serde_json::from_slice(bytes).map_err(complaint)?;
    json.record().map_err(|reason| damaged(0, reason))
}
