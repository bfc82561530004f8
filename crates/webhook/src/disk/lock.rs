//! flock(2) on a file beside what it guards: waiting with a deadline, and who is in the way.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::{IoError, open};
use crate::clock::{Deadline, pause};

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
    /// The lock file cannot be used.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// An exclusive lock, held until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock for at most `wait`; blocks the thread.
    pub(crate) fn acquire(path: &Path, wait: Duration) -> Result<Self, LockError> {
        let deadline = Deadline::after(wait);
        let mut step = Duration::from_micros(200);
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            if deadline.has_passed() {
                let (path, holder) = (path.to_owned(), holder_of(path));
                return Err(LockError::Held { path, holder, seconds: wait.as_secs() });
            }
            pause(step);
            step = (step * 2).min(Duration::from_millis(10));
        }
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_acquire(path: &Path) -> Result<Option<Self>, IoError> {
        loop {
            let file = open_lock(path).map_err(IoError::on("open the lock", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(IoError::on("lock", path)(source)),
            }
            let ours = file.metadata().map_err(IoError::on("look at the lock", path))?;
            // Replaced or removed since it was opened, the others would lock another file.
            let is_current = std::fs::metadata(path)
                .is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev());
            if is_current {
                return Ok(Some(Self { _file: file }));
            }
        }
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    match open(path) {
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
    fn the_holder_of_a_lock_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let error = FileLock::acquire(&path, Duration::from_millis(20)).unwrap_err().to_string();
        assert!(error.contains(&format!("pid {} (", std::process::id())), "{error}");
        drop(held);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
    }

    #[test]
    fn the_holder_is_read_from_the_lock_table() {
        let table = "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 fe:00:1234 0 EOF\n";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(find_holder(table, device, 1234), Some(4711));
        assert_eq!(find_holder(table, rustix::fs::makedev(0, 1), 1234), Some(4711));
        assert_eq!(find_holder(table, device, 77), None);
    }
}
