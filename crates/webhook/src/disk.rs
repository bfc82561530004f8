//! How files that others write too are read, replaced and locked.

mod cached;
mod lock;
mod replace;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use thiserror::Error;

pub(crate) use cached::Cached;
pub(crate) use lock::{FileLock, LockError};
pub(crate) use replace::{remove, replace};

/// A file or directory could not be used.
#[derive(Debug, Error)]
#[error("cannot {what} {}", path.display())]
pub struct IoError {
    what: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl IoError {
    /// For `map_err`: what was tried, and on what.
    pub(crate) fn on(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { what, path, source }
    }
}

/// More than this is in no file of ours that people edit.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Opens a file that is one.
///
/// UNTRUSTED: agents can write in our directory; a named pipe there must not make the daemon wait
/// for ever (`what_is_no_file_is_said_and_holds_nobody_up`).
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// All of a file that people edit.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_all(&mut open(path)?)
}

fn read_all(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if count as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 8 MiB"));
    }
    Ok(bytes)
}

/// Makes a directory that is its owner's alone, and those above it; one that is there stays as it
/// is.
pub(crate) fn make_private_directory(path: &Path) -> Result<(), IoError> {
    if path.is_dir() {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(IoError::on("make the directory", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_said_and_holds_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        for path in [&pipe, directory.path()] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
        }
        let large = directory.path().join("large");
        File::create(&large).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(read(&large).unwrap_err().to_string().contains("larger than 8 MiB"));
    }
}
