//! What tells one state of a file from another without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A file as it was at one moment.
///
/// The change time is part of it: a `chmod` alone makes a refused file acceptable, and no program
/// can set it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file younger than this may change once more without looking changed.
const UNSETTLED_MS: u64 = 50;

impl Stamp {
    /// Of what a path leads to; `None` if that cannot be looked at.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|meta| Self::from(&meta))
    }

    /// Whether a later change is sure to show: the clocks of file systems are coarse. The time is
    /// in milliseconds since 1970.
    pub fn is_settled(self, now_ms: u64) -> bool {
        [self.modified, self.changed].iter().all(|(seconds, nanos)| {
            let ms = seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
            u64::try_from(ms).unwrap_or(0).saturating_add(UNSETTLED_MS) <= now_ms
        })
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}
