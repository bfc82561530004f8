//! What tells one state of a file from another without reading it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A file as it was at one moment; `None` stands for one that cannot be looked at.
///
/// The change time is part of it: a `chmod` alone makes a refused file acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file younger than this may change once more without looking changed.
const UNSETTLED_MS: u64 = 50;

impl Stamp {
    /// Whether a later change is sure to show: the clocks of file systems are coarse.
    pub(crate) fn is_settled(self, now_ms: u64) -> bool {
        [self.modified, self.changed].iter().all(|(seconds, nanos)| {
            let ms = seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
            u64::try_from(ms).unwrap_or(0).saturating_add(UNSETTLED_MS) <= now_ms
        })
    }

    /// Looks at what a path leads to.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let it = std::fs::metadata(path).ok()?;
        Some(Self {
            device: it.dev(),
            inode: it.ino(),
            size: it.size(),
            modified: (it.mtime(), it.mtime_nsec()),
            changed: (it.ctime(), it.ctime_nsec()),
        })
    }
}
