//! Our files, read whole.

use std::io;
use std::path::Path;

/// No file of ours grows to this many MiB.
const MOST_MIB: u64 = 64;

/// All of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    agent_box_disk::read(path, MOST_MIB)
}
