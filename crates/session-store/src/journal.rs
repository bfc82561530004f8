//! The journal: what happened, one fsynced JSON line each.
//!
//! Writers append under a lock of its own, so lines never mix. A line torn by a crash is closed
//! by the next writer and left out by readers. At 8 MiB the file becomes `journal.jsonl.1`; three
//! such files are kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use agent_box_disk::{self as disk, EditLock, IoError, LockError};
use agent_box_session::{SessionId, SessionName};

use crate::event::Event;
use crate::store::Store;

/// A journal file does not grow beyond this.
const LARGEST: u64 = 8 << 20;
/// So many full files are kept.
const KEPT: u32 = 3;

/// Which events to read: all, or those of one session by id or by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Events of this id match.
    pub session: Option<SessionId>,
    /// Events under this name match.
    pub name: Option<SessionName>,
}

impl Filter {
    fn matches(&self, event: &Event) -> bool {
        let all = self.session.is_none() && self.name.is_none();
        let by_id = self.session.is_some() && event.session == self.session;
        let by_name = self.name.is_some() && event.name == self.name;
        all || by_id || by_name
    }
}

/// The journal of one store.
#[derive(Debug)]
pub struct Journal<'s> {
    store: &'s Store,
}

impl Store {
    /// The journal.
    pub fn journal(&self) -> Journal<'_> {
        Journal { store: self }
    }
}

impl Journal<'_> {
    /// Appends one event durably.
    ///
    /// # Errors
    /// When the journal cannot be locked or written; it holds no part of the event then.
    pub fn append(&self, event: &Event) -> Result<(), LockError> {
        let path = self.store.paths().journal();
        let _lock = EditLock::acquire(&path.with_extension("lock"), self.store.lock_wait())?;
        let mut line = event.print();
        let (mut file, mut length) = open(&path)?;
        if length > 0 && length + line.len() as u64 > LARGEST {
            self.rotate()?;
            (file, length) = open(&path)?;
        }
        if is_torn(&file, length).map_err(IoError::on("read", &path))? {
            line.insert(0, '\n');
        }
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // A full disk may have taken half of the line.
            let _ = file.set_len(length);
            return Err(IoError::on("write", &path)(error).into());
        }
        Ok(())
    }

    /// The newest `limit` events that match, oldest first, rotated files included.
    ///
    /// # Errors
    /// When a file cannot be read; a torn line is left out.
    pub fn read(&self, filter: &Filter, limit: usize) -> Result<Vec<Event>, IoError> {
        let mut events = Vec::new();
        let mut inodes = Vec::new();
        for number in 0..=KEPT {
            let path = self.file(number);
            let mut file = match disk::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(IoError::on("read", &path)(error)),
            };
            let inode = file.metadata().map_err(IoError::on("look at", &path))?.ino();
            // From the newest to the oldest: a rotation in between shows one file twice.
            if inodes.contains(&inode) {
                continue;
            }
            inodes.push(inode);
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(IoError::on("read", &path))?;
            let lines = bytes.rsplit(|byte| *byte == b'\n');
            let wanted = lines.filter_map(Event::parse).filter(|event| filter.matches(event));
            events.extend(wanted.take(limit - events.len()));
            if events.len() == limit {
                break;
            }
        }
        events.reverse();
        Ok(events)
    }

    /// The journal's files: 0 is the current one.
    fn file(&self, number: u32) -> PathBuf {
        let current = self.store.paths().journal();
        match number {
            0 => current,
            number => current.with_extension(format!("jsonl.{number}")),
        }
    }

    fn rotate(&self) -> Result<(), IoError> {
        for number in (0..KEPT).rev() {
            disk::rename_if_any(&self.file(number), &self.file(number + 1))?;
        }
        disk::sync_parent(&self.file(0))
    }
}

fn open(path: &Path) -> Result<(File, u64), IoError> {
    let is_new = !path.exists();
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(IoError::on("open", path))?;
    if is_new {
        disk::sync_parent(path)?;
    }
    let length = file.metadata().map_err(IoError::on("look at", path))?.len();
    Ok((file, length))
}

/// Whether the last line was left without its end.
fn is_torn(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}
