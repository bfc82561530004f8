//! The files of this crate's state directory: what they are read as, and with which mode they are
//! written.

mod cached;

use std::io;
use std::path::Path;

pub(crate) use agent_box_disk::{
    EditLock, FileLock, Holder, IoError, LockError, Stamp, make_private_directory, open, remove,
};
use agent_box_disk::{Replacement, behind_link, parent};

pub(crate) use cached::Cached;

/// More MiB than this are in no file of ours that people edit.
const MOST_MIB: u64 = 8;

/// All of a file that people edit.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    agent_box_disk::read(path, MOST_MIB)
}

/// Replaces a file durably, or makes it; behind a symbolic link the file that it names.
pub(crate) fn replace(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), IoError> {
    let target = behind_link(path)?;
    let directory = parent(&target);
    make_private_directory(directory)?;
    let mut new = Replacement::new(&target, directory)?;
    new.write(bytes)?;
    new.set_mode(mode)?;
    new.finish()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("a/b");
        let path = state.join("file");
        replace(&path, 0o600, b"one").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, 0o644, b"two").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o644);
        assert_eq!(state.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&state).unwrap().count(), 1);
        std::fs::File::create(&path).unwrap().set_len((MOST_MIB << 20) + 1).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("larger than 8 MiB"));
    }
}
