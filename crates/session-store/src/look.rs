//! Looks without a lock, for those who decide under one later.

use std::path::{Path, PathBuf};

use agent_box_disk::{self as disk, FileLock, Holder, IoError};
use agent_box_session::{Identities, Registry};

use crate::regular_file;
use crate::store::Store;

impl Store {
    /// The identities, with the tombstones of every id that `registry` lists.
    ///
    /// # Errors
    /// When a file is damaged or cannot be read.
    pub fn identities(&self, registry: &Registry) -> Result<Identities, IoError> {
        self.load_identities(registry)
    }

    /// The supervisor of this state directory, if one runs.
    pub fn supervisor(&self) -> Option<Holder> {
        let path = self.paths().supervisor_lock();
        match FileLock::try_acquire(&path) {
            Ok(Some(_free)) => None,
            Ok(None) => Some(Holder::of(&path)),
            // Not to be told is not to be there: nobody can be asked to do the rest.
            Err(_) => None,
        }
    }

    /// Whether a supervisor runs.
    pub fn is_supervised(&self) -> bool {
        self.supervisor().is_some()
    }

    /// Notes where the supervisor's tmux server listens, for programs started elsewhere.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_socket_note(&self, socket: &Path) -> Result<(), IoError> {
        let note = self.paths().socket_note();
        if socket_note(&note).as_deref() == Some(socket) {
            return Ok(());
        }
        let text = format!("{}\n", socket.display());
        disk::replace(&note, &self.paths().state(), text.as_bytes())
    }
}

/// Where the last supervisor's tmux server listens, as it noted in the file `note`.
pub(crate) fn socket_note(note: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(regular_file::read(note).ok()?).ok()?;
    let path = PathBuf::from(text.strip_suffix('\n')?);
    path.is_absolute().then_some(path)
}
