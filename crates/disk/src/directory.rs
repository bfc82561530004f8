//! Directories: made for their owner alone, their entries removed, renamed and made durable.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::error::IoError;

/// The directory that a file lies in.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

/// Makes a directory 0700, durably and with those above it; an existing one keeps its mode.
///
/// # Errors
/// When the system refuses.
pub fn make_private_directory(path: &Path) -> Result<(), IoError> {
    if path.is_dir() {
        return Ok(());
    }
    make_private_directory(parent(path))?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        result => result.map_err(IoError::on("make the directory", path))?,
    }
    sync_parent(path)
}

/// Makes a directory's entries durable.
///
/// # Errors
/// When the system refuses.
pub fn sync_directory(directory: &Path) -> Result<(), IoError> {
    File::open(directory)
        .and_then(|handle| handle.sync_all())
        .map_err(IoError::on("flush the directory", directory))
}

/// Makes durable that a file is there, or is there no more.
///
/// # Errors
/// When the system refuses.
pub fn sync_parent(path: &Path) -> Result<(), IoError> {
    sync_directory(parent(path))
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

/// Renames a file over another; answers with whether there was one. The caller makes it durable.
///
/// # Errors
/// When the system refuses.
#[expect(clippy::disallowed_methods, reason = "the module that owns renaming")]
pub fn rename_if_any(from: &Path, to: &Path) -> Result<bool, IoError> {
    match std::fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(IoError::on("rename", from)(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_directory_is_made_for_its_owner_alone_and_one_that_is_there_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let deep = directory.path().join("a/b");
        make_private_directory(&deep).unwrap();
        make_private_directory(&deep).unwrap();
        let modes = [directory.path(), &directory.path().join("a"), &deep].map(mode);
        assert_eq!(modes, [0o755, 0o700, 0o700]);
        let file = deep.join("file");
        File::create(&file).unwrap();
        let error = make_private_directory(&file.join("c")).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot make the directory {}", file.display()));
    }

    #[test]
    fn a_file_is_removed_or_renamed_and_one_that_is_gone_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
        File::create(&one).unwrap();
        assert!(rename_if_any(&one, &two).unwrap());
        assert!(!rename_if_any(&one, &two).unwrap());
        assert!(!one.exists() && two.exists());
        remove(&two).unwrap();
        remove(&two).unwrap();
        assert!(!two.exists());
        assert_eq!(remove(directory.path()).unwrap_err().action, "remove");
    }

    #[test]
    fn every_file_lies_in_a_directory() {
        let check =
            |path: &str, expected: &str| assert_eq!(parent(Path::new(path)), Path::new(expected));
        check("/a/b", "/a");
        check("a/b", "a");
        check("a", ".");
        check("/", "/");
    }
}
