//! Locks that are held for a process's life: a launch's, and the supervisor's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_disk::{FileLock, Holder, IoError, make_private_directory};
use agent_box_session::SessionId;
use thiserror::Error;

use crate::store::Store;

/// A launch lives: held by its launcher until it has recorded the end.
#[derive(Debug)]
pub struct LifetimeLock {
    _lock: FileLock,
}

/// There is no other supervisor of this state directory and this tmux server while it lives.
#[derive(Debug)]
pub struct SupervisorClaim {
    _state: FileLock,
    _socket: FileLock,
}

/// The supervisor's place is taken.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// By another one.
    #[error("another supervisor runs here: {holder} holds {}", path.display())]
    Taken {
        /// The lock that it holds.
        path: PathBuf,
        /// The other one.
        holder: Holder,
    },
    /// A lock file cannot be used.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Store {
    /// Takes the lifetime lock of a session; `None` if another process holds it.
    ///
    /// Looks again for a moment, since [`Store::lifetime_is_free`] holds it while it looks.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn lifetime_lock(&self, id: SessionId) -> Result<Option<LifetimeLock>, IoError> {
        let lock = try_despite_looks(&self.paths().lifetime_lock(id))?;
        Ok(lock.map(|lock| LifetimeLock { _lock: lock }))
    }

    /// Whether no launch of the session holds its lifetime lock.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn lifetime_is_free(&self, id: SessionId) -> Result<bool, IoError> {
        let path = self.paths().lifetime_lock(id);
        if !path.exists() {
            return Ok(true);
        }
        Ok(FileLock::try_acquire(&path)?.is_some())
    }

    /// Becomes the one supervisor of this state directory and of the tmux server at its socket.
    ///
    /// # Errors
    /// When another one lives, or a lock file cannot be used.
    pub fn claim_supervisor(&self) -> Result<SupervisorClaim, ClaimError> {
        let claim = |path: PathBuf| match try_despite_looks(&path)? {
            Some(lock) => Ok(lock),
            None => Err(ClaimError::Taken { holder: Holder::of(&path), path }),
        };
        let state = claim(self.paths().supervisor_lock())?;
        let socket = self.paths().socket_lock();
        if let Some(directory) = socket.parent() {
            make_private_directory(directory)?;
        }
        Ok(SupervisorClaim { _state: state, _socket: claim(socket)? })
    }
}

/// Takes the lock if nobody has it for longer than a look takes.
fn try_despite_looks(path: &Path) -> Result<Option<FileLock>, IoError> {
    FileLock::acquire_within(path, Duration::from_millis(50))
}
