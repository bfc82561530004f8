//! The one way a file is replaced: temporary file, fsync, rename, fsync of the directory.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::IoError;

/// All temporary files begin so, then comes the writer's pid.
const PREFIX: &str = ".agent-box-";

/// Replaces `path` durably; `directory` (on the same file system) takes the temporary file.
///
/// A new file gets mode 0600, an existing one keeps mode and owner.
///
/// # Errors
/// When the system refuses; `path` is as it was then, unless only the last flush failed.
pub fn replace(path: &Path, directory: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut temp = temp(path, directory)?;
    fill(&mut temp, path, bytes)?;
    sync(&temp, path)?;
    rename(temp, path)?;
    sync_parent(path)
}

/// Like [`replace`] for a file with secrets: only its owner keeps what rights it had.
pub(crate) fn replace_secret(path: &Path, directory: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut temp = temp(path, directory)?;
    fill(&mut temp, path, bytes)?;
    restrict(temp.as_file()).map_err(IoError::on("restrict the mode of", path))?;
    sync(&temp, path)?;
    rename(temp, path)?;
    sync_parent(path)
}

fn restrict(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.mode() & 0o700;
    file.set_permissions(Permissions::from_mode(mode))
}

/// A temporary file that becomes `path` later; it vanishes if it is dropped before.
pub(crate) fn temp(path: &Path, directory: &Path) -> Result<NamedTempFile, IoError> {
    let mut prefix = format!("{PREFIX}{}-", std::process::id());
    if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
        prefix.push_str(name);
        prefix.push('.');
    }
    tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(directory)
        .map_err(IoError::on("create a temporary file for", path))
}

/// Writes the content and takes over mode and owner of the file to be replaced.
pub(crate) fn fill(temp: &mut NamedTempFile, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    temp.write_all(bytes).map_err(IoError::on("write", path))?;
    match std::fs::metadata(path) {
        Ok(old) => take_over(temp.as_file(), &old).map_err(IoError::on("keep the mode of", path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IoError::on("look at", path)(error)),
    }
}

fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give files away; for others the file simply becomes theirs.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(Permissions::from_mode(old.mode() & 0o777))
}

pub(crate) fn sync(temp: &NamedTempFile, path: &Path) -> Result<(), IoError> {
    temp.as_file().sync_all().map_err(IoError::on("flush", path))
}

pub(crate) fn rename(temp: NamedTempFile, path: &Path) -> Result<(), IoError> {
    temp.persist(path).map(|_| ()).map_err(|error| IoError::on("replace", path)(error.error))
}

/// Makes the directory's entries durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), IoError> {
    File::open(directory)
        .and_then(|handle| handle.sync_all())
        .map_err(IoError::on("flush the directory", directory))
}

pub(crate) fn sync_parent(path: &Path) -> Result<(), IoError> {
    sync_directory(path.parent().unwrap_or(Path::new("/")))
}

/// Removes a file durably; one that is gone already is fine.
///
/// # Errors
/// When the system refuses.
pub fn remove(path: &Path) -> Result<(), IoError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IoError::on("remove", path)(error)),
    }
}

/// Renames a file over another; the caller makes it durable.
#[expect(clippy::disallowed_methods, reason = "the module that owns renaming")]
pub(crate) fn rename_if_any(from: &Path, to: &Path) -> Result<(), IoError> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(IoError::on("rename", from)(error))
        }
        _ => Ok(()),
    }
}

/// Where a replacement must go: behind a symlink, the file that it names.
pub(crate) fn behind_link(path: &Path) -> Result<PathBuf, IoError> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {}
        _ => return Ok(path.to_owned()),
    }
    match std::fs::canonicalize(path) {
        // The target does not exist yet (or was moved away): the link still says where it goes.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let target = std::fs::read_link(path).map_err(IoError::on("read the link", path))?;
            Ok(path.parent().unwrap_or(Path::new("/")).join(target))
        }
        result => result.map_err(IoError::on("follow the link", path)),
    }
}

/// Removes the temporary files of writers that are gone; what cannot be removed stays.
pub(crate) fn clean(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let writer = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<u32>().ok());
        if let Some(pid) = writer
            && !Path::new(&format!("/proc/{pid}")).exists()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
