//! What a file said, read again when the file changed.

use std::io;
use std::path::{Path, PathBuf};

use agent_box_disk::{open, read_all};

use super::{MOST_MIB, Stamp};

/// A file's content as its reader understands it.
#[derive(Debug)]
pub(crate) struct Cached<T> {
    path: PathBuf,
    /// A look that cannot be told from a later change is none.
    seen: Option<(Option<Seen>, T)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Absent,
    File(Stamp),
}

impl<T> Cached<T> {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), seen: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says now; `understand` is called with its bytes, and with what it said
    /// before, only if it may have changed.
    pub(crate) fn get(
        &mut self,
        now_ms: u64,
        understand: impl FnOnce(io::Result<Vec<u8>>, Option<T>) -> T,
    ) -> &T {
        let there = look(&self.path);
        let is_same = self.seen.as_ref().is_some_and(|(seen, _)| seen.is_some() && *seen == there);
        if !is_same {
            let before = self.seen.take().map(|(_, value)| value);
            let (seen, bytes) = read(&self.path);
            let seen = seen.filter(|seen| seen.is_settled(now_ms));
            return &self.seen.insert((seen, understand(bytes, before))).1;
        }
        &self.seen.as_ref().expect("BUG: it was just compared").1
    }
}

impl Seen {
    fn is_settled(self, now_ms: u64) -> bool {
        match self {
            Self::Absent => true,
            Self::File(stamp) => stamp.is_settled(now_ms),
        }
    }
}

/// `None` for what cannot be looked at; that is tried again each time.
fn look(path: &Path) -> Option<Seen> {
    match std::fs::metadata(path) {
        Ok(meta) => Some(Seen::File(Stamp::from(&meta))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Seen::Absent),
        Err(_) => None,
    }
}

fn read(path: &Path) -> (Option<Seen>, io::Result<Vec<u8>>) {
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return (Some(Seen::Absent), Err(error));
        }
        Err(error) => return (None, Err(error)),
    };
    // Before it is read: a change meanwhile then shows at the next look.
    let seen = file.metadata().ok().map(|meta| Seen::File(Stamp::from(&meta)));
    (seen, read_all(&mut file, MOST_MIB))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::File;
    use std::io::{Seek as _, SeekFrom, Write as _};
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::disk::replace;

    #[test]
    fn a_file_is_read_again_when_it_changed_and_not_otherwise() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut cached = Cached::new(&path);
        let reads = Cell::new(0);
        let later = crate::now_ms() + 3_600_000;
        let mut get = |now| {
            let text = cached.get(now, |bytes, _| {
                reads.set(reads.get() + 1);
                bytes.ok().map(|bytes| String::from_utf8(bytes).unwrap())
            });
            (text.clone(), reads.get())
        };
        assert_eq!(get(later), (None, 1));
        assert_eq!(get(later), (None, 1), "that it is absent is known");
        replace(&path, 0o600, b"one").unwrap();
        assert_eq!(get(later), (Some("one".to_owned()), 2));
        assert_eq!(get(later), (Some("one".to_owned()), 2));
        replace(&path, 0o600, b"two").unwrap();
        assert_eq!(get(later), (Some("two".to_owned()), 3), "same size, other file");
        // In place, with the old time and the old size: the inode still shows it.
        let file = File::options().write(true).open(&path).unwrap();
        let old = file.metadata().unwrap().modified().unwrap();
        let changed = || path.metadata().map(|meta| (meta.ctime(), meta.ctime_nsec())).unwrap();
        let before = changed();
        agent_box_testkit::within(5).until("the file system's clock goes on", || {
            (&file).seek(SeekFrom::Start(0)).unwrap();
            (&file).write_all(b"six").unwrap();
            file.set_modified(old).unwrap();
            changed() != before
        });
        assert_eq!(get(later), (Some("six".to_owned()), 4));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(get(later), (None, 5));
    }

    #[test]
    fn what_was_written_this_very_moment_is_not_trusted_yet() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        replace(&path, 0o600, b"one").unwrap();
        // The rename came after the writing, on a busy machine by several milliseconds.
        let meta = path.metadata().unwrap();
        let written = u64::try_from(meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000).unwrap();
        let mut cached = Cached::new(&path);
        let reads = Cell::new(0);
        for (now, expected) in
            [(written, 1), (written + 49, 2), (written + 50 + 50, 3), (written + 101, 3)]
        {
            cached.get(now, |_, _| reads.set(reads.get() + 1));
            assert_eq!(reads.get(), expected, "{now}");
        }
    }
}
