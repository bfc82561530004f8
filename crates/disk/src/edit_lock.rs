//! The lock around one edit: read, change, replace.
//!
//! A lock that is fought for has a turnstile in front of it, a second lock: a writer that has just
//! let go must queue behind whoever is already waiting. Without it a program that writes in a loop
//! starves the others, since flock(2) hands nothing over.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use thiserror::Error;

use crate::clock::Deadline;
use crate::error::IoError;
use crate::file_lock::{FileLock, OFTEN};
use crate::holder::Holder;

/// A lock was not had. Nothing was written.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else kept it for the whole time.
    #[error(
        "{} is locked by {holder}, still after {seconds} s; let it finish or end it",
        path.display()
    )]
    Held {
        /// The lock file.
        path: PathBuf,
        /// In whose hands it is.
        holder: Holder,
        /// How long it was waited for.
        seconds: u64,
    },
    /// This very thread holds it: a transaction inside a transaction.
    #[error("{} is already locked by this thread; do not nest transactions", path.display())]
    Nested {
        /// The lock file.
        path: PathBuf,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// The longest pause between two looks at a lock that many may wait for.
const OFTEN_ENOUGH: Duration = Duration::from_millis(10);

thread_local! {
    /// What this thread has waited for and holds: flock(2) would make it wait for itself.
    static MINE: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// An exclusive lock that was waited for, held until dropped. It stays in its thread, which must
/// not wait for it again.
#[derive(Debug)]
pub struct EditLock {
    path: PathBuf,
    _lock: FileLock,
    _stays: PhantomData<Rc<()>>,
}

impl EditLock {
    /// Waits for the lock on `path` for at most `wait`; blocks the thread.
    ///
    /// # Errors
    /// When somebody else keeps it, this thread has it, or the lock file cannot be used.
    pub fn acquire(path: &Path, wait: Duration) -> Result<Self, LockError> {
        refuse_nesting(path)?;
        match FileLock::acquire_before(path, Deadline::after(wait), OFTEN_ENOUGH)? {
            Some(lock) => Ok(Self::new(path, lock)),
            None => Err(held(path, Holder::of(path), wait)),
        }
    }

    /// Like [`EditLock::acquire`], behind a turnstile.
    ///
    /// # Errors
    /// The same.
    pub fn acquire_in_turn(
        path: &Path,
        turnstile: &Path,
        wait: Duration,
    ) -> Result<Self, LockError> {
        refuse_nesting(path)?;
        let deadline = Deadline::after(wait);
        let turn = FileLock::acquire_before(turnstile, deadline, OFTEN_ENOUGH)?;
        let lock = match &turn {
            // The only one of ours that waits here may look more often.
            Some(_) => FileLock::acquire_before(path, deadline, OFTEN)?,
            None => None,
        };
        if let Some(lock) = lock {
            return Ok(Self::new(path, lock));
        }
        // Whoever stands in the turnstile only waits; name the one that is waited for, if any.
        let holder = match Holder::of(path) {
            Holder { pid: None, .. } if turn.is_none() => Holder::of(turnstile),
            holder => holder,
        };
        Err(held(path, holder, wait))
    }

    fn new(path: &Path, lock: FileLock) -> Self {
        MINE.with_borrow_mut(|mine| mine.push(path.to_owned()));
        Self { path: path.to_owned(), _lock: lock, _stays: PhantomData }
    }
}

impl Drop for EditLock {
    fn drop(&mut self) {
        MINE.with_borrow_mut(|mine| mine.retain(|path| *path != self.path));
    }
}

fn held(path: &Path, holder: Holder, wait: Duration) -> LockError {
    LockError::Held { path: path.to_owned(), holder, seconds: wait.as_secs() }
}

fn refuse_nesting(path: &Path) -> Result<(), LockError> {
    if MINE.with_borrow(|mine| mine.iter().any(|held| held == path)) {
        return Err(LockError::Nested { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let [path, turnstile] = ["lock", "turn"].map(|name| directory.path().join(name));
        let held = FileLock::try_acquire(&path).unwrap();
        let wait = Duration::from_millis(20);
        let me = format!("pid {} (", std::process::id());
        let error = EditLock::acquire(&path, wait).unwrap_err().to_string();
        assert!(error.contains(&me), "{error}");
        let error = EditLock::acquire_in_turn(&path, &turnstile, wait).unwrap_err().to_string();
        assert!(error.contains(&me), "{error}");
        drop(held);
        assert!(EditLock::acquire_in_turn(&path, &turnstile, Duration::ZERO).is_ok());
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = EditLock::acquire(&path, Duration::ZERO).unwrap();
        let again = EditLock::acquire(&path, Duration::from_mins(1));
        assert!(matches!(again, Err(LockError::Nested { .. })), "{again:?}");
        drop(held);
        assert!(EditLock::acquire(&path, Duration::ZERO).is_ok());
    }
}
