//! The one way a file is replaced: unique temporary file, fsync, rename, fsync of the directory.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{IoError, make_private_directory};

/// Replaces a file durably, or makes it; behind a symbolic link the file that it names.
pub(crate) fn replace(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), IoError> {
    let target = behind_link(path)?;
    let directory = target.parent().unwrap_or(Path::new("/"));
    make_private_directory(directory)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut temp = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(directory)
        .map_err(IoError::on("create a temporary file for", path))?;
    temp.write_all(bytes).map_err(IoError::on("write", path))?;
    let set = temp.as_file().set_permissions(Permissions::from_mode(mode));
    set.map_err(IoError::on("set the mode of", path))?;
    temp.as_file().sync_all().map_err(IoError::on("flush", path))?;
    temp.persist(&target).map_err(|error| IoError::on("replace", path)(error.error))?;
    sync(directory)
}

/// Removes a file durably; one that is gone already is fine.
pub(crate) fn remove(path: &Path) -> Result<(), IoError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync(path.parent().unwrap_or(Path::new("/"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IoError::on("remove", path)(error)),
    }
}

fn behind_link(path: &Path) -> Result<PathBuf, IoError> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {}
        _ => return Ok(path.to_owned()),
    }
    match std::fs::canonicalize(path) {
        // What it names does not exist yet; the link still says where it goes.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let target = std::fs::read_link(path).map_err(IoError::on("read the link", path))?;
            Ok(path.parent().unwrap_or(Path::new("/")).join(target))
        }
        result => result.map_err(IoError::on("follow the link", path)),
    }
}

fn sync(directory: &Path) -> Result<(), IoError> {
    let synced = File::open(directory).and_then(|handle| handle.sync_all());
    synced.map_err(IoError::on("flush the directory", directory))
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
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o644);
        assert_eq!(state.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&state).unwrap().count(), 1);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
    }
}
