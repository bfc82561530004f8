//! Sessions declared by the system configuration: listed once each, never again after that.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use agent_box_disk::{self as disk, IoError};
use agent_box_session::{AddRefusal, SessionName};
use thiserror::Error;

use crate::document::{Document, ReadError};
use crate::regular_file;
use crate::store::Store;
use crate::transaction::{Change, TransactError};

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
    Transact(#[from] TransactError<AddRefusal>),
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
        let bytes = regular_file::read(path).map_err(IoError::on("read", path))?;
        let declared = Document::parse(path, &bytes)
            .map_err(|damage| SeedError::Declared(ReadError::Damaged(damage)))?;
        let change = Change::Operator {
            by: "the system configuration".to_owned(),
            summary: "list the declared sessions".to_owned(),
        };
        // The note is read and written under the registry's lock, after the commit: a crash in
        // between is harmless, since the names are taken then.
        let marker = self.paths().state().join("seeded.json");
        let mut done = read_marker(&marker)?;
        let before = done.clone();
        let added = self.transact(change, |tx| {
            let mut added = Vec::new();
            for (name, entry) in declared.registry.entries() {
                let is_new = done.insert(name.to_string());
                if !is_new || tx.registry.is_taken(name.as_str()) {
                    continue;
                }
                if let Some(text) = declared.raw_entry(name.as_str()) {
                    tx.set_base(name.as_str(), text.to_owned());
                }
                tx.add(name.clone(), entry.spec.clone(), "the system configuration")?;
                added.push(name.clone());
            }
            Ok(added)
        })?;
        if done != before {
            let mut text = serde_json::to_vec_pretty(&done).expect("BUG: texts print");
            text.push(b'\n');
            disk::replace(&marker, &self.paths().state(), &text)?;
        }
        let unusable = declared.registry.unusable().iter();
        let unusable = unusable.map(|entry| (entry.key.clone(), entry.reason.clone())).collect();
        Ok(Seeded { added, unusable })
    }
}

/// The names that were seeded before.
fn read_marker(path: &Path) -> Result<BTreeSet<String>, SeedError> {
    let bytes = match regular_file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(IoError::on("read", path)(error).into()),
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| SeedError::Marker { path: path.to_owned(), reason: error.to_string() })
}
