//! Our files, opened so that none of them can hold a program up.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file that is one.
///
/// UNTRUSTED: agents can write in our directories. A named pipe there would make the supervisor
/// wait for ever, a link to a device would fill its memory
/// (`what_is_no_file_is_said_and_holds_nobody_up`).
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// No file of ours grows to this many bytes; what does was put there to fill a program's memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// All of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 64 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_would_fill_the_memory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sessions.json");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1 << 20);
        file.set_len(1 << 40).unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
