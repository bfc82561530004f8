//! flock(2) on sidecar files: how waiting works, and who is in the way.
//!
//! A lock file is opened read-only once it exists: closing a file that was open for writing would
//! wake everyone who watches the directory. After locking, the inode behind the handle is compared
//! with the one behind the path; somebody may have replaced the file in between.
//!
//! The registry's lock has a turnstile in front of it (a second lock in the state directory): a
//! writer that has just let go must queue behind whoever is already waiting. Without it a program
//! that writes in a loop starves the others, since flock(2) hands nothing over.

use std::cell::RefCell;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use thiserror::Error;

use crate::clock::{Deadline, pause};
use crate::error::IoError;
use crate::regular_file;

/// Who holds a lock, as far as it can be seen from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process id; `None` if it lives where we cannot see (another container).
    pub pid: Option<u32>,
    /// Its program.
    pub program: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.program) {
            (Some(pid), Some(program)) => write!(f, "pid {pid} ({program})"),
            (Some(pid), None) => write!(f, "pid {pid}"),
            (None, _) => f.write_str("a process that cannot be seen from here"),
        }
    }
}

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

/// The longest pause between two looks at a lock.
const OFTEN_ENOUGH: Duration = Duration::from_millis(10);

thread_local! {
    /// What this thread has waited for and holds: flock(2) would make it wait for itself.
    static MINE: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// An exclusive lock, held until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

/// A lock that was waited for. It stays in its thread, which must not wait for it again.
#[derive(Debug)]
pub(crate) struct HeldLock {
    path: PathBuf,
    _lock: FileLock,
    _stays: PhantomData<Rc<()>>,
}

impl HeldLock {
    /// Waits for the lock on `path` for at most `wait`.
    pub(crate) fn acquire(path: &Path, wait: Duration) -> Result<Self, LockError> {
        refuse_nesting(path)?;
        match FileLock::acquire_before(path, Deadline::after(wait), OFTEN_ENOUGH)? {
            Some(lock) => Ok(Self::new(path, lock)),
            None => Err(held(path, holder_of(path), wait)),
        }
    }

    /// Like [`HeldLock::acquire`], behind a turnstile.
    pub(crate) fn acquire_in_turn(
        path: &Path,
        turnstile: &Path,
        wait: Duration,
    ) -> Result<Self, LockError> {
        refuse_nesting(path)?;
        let deadline = Deadline::after(wait);
        let turn = FileLock::acquire_before(turnstile, deadline, OFTEN_ENOUGH)?;
        let lock = match &turn {
            // The only one of ours that waits here may look more often.
            Some(_) => FileLock::acquire_before(path, deadline, Duration::from_millis(1))?,
            None => None,
        };
        if let Some(lock) = lock {
            return Ok(Self::new(path, lock));
        }
        // Whoever stands in the turnstile only waits; name the one that is waited for, if any.
        let holder = match holder_of(path) {
            Holder { pid: None, .. } if turn.is_none() => holder_of(turnstile),
            holder => holder,
        };
        Err(held(path, holder, wait))
    }

    fn new(path: &Path, lock: FileLock) -> Self {
        MINE.with_borrow_mut(|mine| mine.push(path.to_owned()));
        Self { path: path.to_owned(), _lock: lock, _stays: PhantomData }
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        MINE.with_borrow_mut(|mine| mine.retain(|path| *path != self.path));
    }
}

impl FileLock {
    /// Takes the lock if nobody has it.
    pub(crate) fn try_acquire(path: &Path) -> Result<Option<Self>, IoError> {
        loop {
            let file = open(path).map_err(IoError::on("open the lock", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(IoError::on("lock", path)(source)),
            }
            let ours = file.metadata().map_err(IoError::on("look at the lock", path))?;
            // RACE: replaced or removed since it was opened, so that the others lock another
            // file (`the_reference_system_lock_is_respected`).
            let is_current = std::fs::metadata(path)
                .is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev());
            if is_current {
                return Ok(Some(Self { _file: file }));
            }
        }
    }

    fn acquire_before(
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

fn held(path: &Path, holder: Holder, wait: Duration) -> LockError {
    LockError::Held { path: path.to_owned(), holder, seconds: wait.as_secs() }
}

fn refuse_nesting(path: &Path) -> Result<(), LockError> {
    if MINE.with_borrow(|mine| mine.iter().any(|held| held == path)) {
        return Err(LockError::Nested { path: path.to_owned() });
    }
    Ok(())
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

/// Looks up in `/proc/locks` who holds `path`.
pub(crate) fn holder_of(path: &Path) -> Holder {
    let Ok(meta) = std::fs::metadata(path) else { return Holder::default() };
    // The kernel hands the table out in pieces, and a lock may move between two of them.
    let look = || {
        let table = std::fs::read_to_string("/proc/locks").ok()?;
        find_holder(&table, meta.dev(), meta.ino())
    };
    let Some(pid) = (0..3).find_map(|_| look()) else { return Holder::default() };
    Holder { pid: Some(pid), program: program_of(pid) }
}

/// The holder's pid in the text of `/proc/locks`, whose lines read
/// `7: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF` (waiters have `->` as second word).
fn find_holder(table: &str, device: u64, inode: u64) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let wanted = format!("{major:02x}:{minor:02x}:{inode}");
    let inode_only = format!(":{inode}");
    let holders = || {
        table.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.get(1) == Some(&"FLOCK")).then(|| Some((*words.get(5)?, *words.get(4)?)))?
        })
    };
    // File systems with a device number per subvolume show another one here than stat(2) does.
    let by_inode = || holders().find(|(file, _)| file.ends_with(&inode_only));
    let (_, pid) = holders().find(|(file, _)| *file == wanted).or_else(by_inode)?;
    pid.parse().ok().filter(|pid| *pid != 0)
}

fn program_of(pid: u32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let first = line.split(|byte| *byte == 0).next().filter(|word| !word.is_empty())?;
    let text = String::from_utf8_lossy(first);
    Some(text.rsplit('/').next().unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_read_from_the_lock_table() {
        let table = "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 fe:00:1234 0 EOF\n";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(find_holder(table, device, 1234), Some(4711));
        assert_eq!(find_holder(table, device, 77), None);
        assert_eq!(find_holder(table, rustix::fs::makedev(0, 42), 1234), Some(4711));
    }
}
