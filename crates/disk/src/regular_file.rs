//! Files where others can write, read so that none of them can hold a program up.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file that is one.
///
/// UNTRUSTED: agents can write in our directories and own theirs. A named pipe there would make a
/// reader wait for ever, a link to a device would fill its memory
/// (`what_is_no_file_is_said_and_holds_nobody_up`).
///
/// # Errors
/// When the system refuses; `InvalidInput` when it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// All of a file of at most `mib` MiB: one that is larger was put there to fill a program's memory.
///
/// # Errors
/// Like [`open`]; `FileTooLarge` when it is larger.
pub fn read(path: &Path, mib: u64) -> io::Result<Vec<u8>> {
    read_all(&mut open(path)?, mib)
}

/// Like [`read`], of a file that is open.
///
/// # Errors
/// The same.
pub fn read_all(file: &mut File, mib: u64) -> io::Result<Vec<u8>> {
    let most = mib << 20;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let words = format!("it is larger than {mib} MiB");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_no_file_is_said_and_holds_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for path in [&pipe, directory.path(), Path::new("/dev/zero")] {
            let error = read(path, 1).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
        }
    }

    #[test]
    fn a_file_that_would_fill_the_memory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sessions.json");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(read(&path, 1).unwrap().len(), 1 << 20);
        for length in [(1 << 20) + 1, 1 << 40] {
            file.set_len(length).unwrap();
            let error = read(&path, 1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            assert_eq!(error.to_string(), "it is larger than 1 MiB");
        }
    }
}
