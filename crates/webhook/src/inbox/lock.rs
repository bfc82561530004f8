//! The lock of the one program that writes: flock(2) on a file beside the database, which says
//! who has it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::InboxError;

/// Takes the lock, or says who has it; never waits, since a receiver runs for weeks.
pub(super) fn take(path: &Path) -> Result<File, InboxError> {
    let failed = |source| InboxError::File { path: path.to_owned(), action: "lock", source };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = holder(&mut file);
            return Err(InboxError::Held { path: path.to_owned(), holder });
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // Only to name the holder to others: not having it written is no reason to stop.
    let _ = write_holder(&mut file);
    Ok(file)
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    text.trim().parse::<u32>().map_or("unknown".to_owned(), |pid| format!("pid {pid}"))
}
