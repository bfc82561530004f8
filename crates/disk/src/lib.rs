//! Files that survive a crash, on a disk that other programs write to as well.
//!
//! Owns: putting a file in its place in one durable step, locks on files and who holds them,
//! reading what others could have replaced, and durable directories. Refuses to know: what any
//! file holds, where it lies, and which change is right.
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use agent_box_disk::{EditLock, read, replace};
//!
//! let (file, directory) = (Path::new("/home/alice/notes"), Path::new("/home/alice"));
//! let _lock = EditLock::acquire(&file.with_extension("lock"), Duration::from_secs(5))?;
//! let mut notes = read(file, 1)?;
//! notes.extend(b"one more\n");
//! replace(file, directory, &notes)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariants**
//! - What is replaced is the old file or the new one at every moment, and the new one after a
//!   power loss once `Ok` was returned: the file was flushed before the rename, its directory
//!   after it.
//! - A new file, and one that is not in its place yet, is its owner's alone.
//! - A lock that was had is on the file that its path names now.
//! - Nothing here waits without a deadline, not even for the other end of a named pipe.

mod clock;
mod directory;
mod edit_lock;
mod error;
mod file_lock;
mod holder;
mod link;
mod regular_file;
mod replacement;
mod stamp;

pub use clock::{Deadline, pause};
pub use directory::{
    make_private_directory, parent, remove, rename_if_any, sync_directory, sync_parent,
};
pub use edit_lock::{EditLock, LockError};
pub use error::IoError;
pub use file_lock::FileLock;
pub use holder::Holder;
pub use link::behind_link;
pub use regular_file::{open, read, read_all};
pub use replacement::{Replacement, clean, replace, replace_secret};
pub use stamp::Stamp;
