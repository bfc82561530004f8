//! flock(2) on a file beside what it guards.
//!
//! A lock file is opened read-only once it exists: closing a file that was open for writing would
//! wake everyone who watches the directory. After locking, the inode behind the handle is compared
//! with the one behind the path; somebody may have replaced the file in between.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use crate::clock::{Deadline, pause};
use crate::error::IoError;
use crate::regular_file;

/// The longest pause between two looks at a lock that few wait for.
pub(crate) const OFTEN: Duration = Duration::from_millis(1);

/// An exclusive lock, held until dropped, by any thread. For what lasts as long as a process; an
/// edit takes an [`crate::EditLock`].
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock if nobody has it.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>, IoError> {
        loop {
            let file = open(path).map_err(IoError::on("open the lock", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(IoError::on("lock", path)(source)),
            }
            if is_current(&file, path).map_err(IoError::on("look at the lock", path))? {
                return Ok(Some(Self { _file: file }));
            }
        }
    }

    /// Waits for the lock for at most `wait`, blocking the thread; `None` if it was not had.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn acquire_within(path: &Path, wait: Duration) -> Result<Option<Self>, IoError> {
        Self::acquire_before(path, Deadline::after(wait), OFTEN)
    }

    pub(crate) fn acquire_before(
        path: &Path,
        deadline: Deadline,
        longest: Duration,
    ) -> Result<Option<Self>, IoError> {
        let mut wait = Duration::from_micros(200);
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if deadline.has_passed() {
                return Ok(None);
            }
            pause(wait);
            wait = (wait * 2).min(longest);
        }
    }
}

/// Whether the path still names the file that was opened.
///
/// RACE: it may have been replaced or removed before it was locked, so that the others lock
/// another file (`a_lock_on_a_file_that_was_replaced_is_none`).
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    let is_ours = |there: Metadata| (there.dev(), there.ino()) == (ours.dev(), ours.ino());
    Ok(std::fs::metadata(path).is_ok_and(is_ours))
}

fn open(path: &Path) -> io::Result<File> {
    match regular_file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_who_may_be_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        assert!(FileLock::acquire_within(&path, Duration::from_millis(20)).unwrap().is_none());
        let waiter = std::thread::spawn({
            let path = path.clone();
            move || FileLock::acquire_within(&path, Duration::from_secs(5)).unwrap().is_some()
        });
        drop(held);
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn a_lock_on_a_file_that_was_replaced_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let old = open(&path).unwrap();
        assert!(is_current(&old, &path).unwrap());
        old.lock().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(!is_current(&old, &path).unwrap());
        let _new = FileLock::try_acquire(&path).unwrap().expect("nobody holds the new file");
        assert!(!is_current(&old, &path).unwrap());
    }
}
