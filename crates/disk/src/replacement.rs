//! The one way a file is replaced: temporary file, fsync, rename, fsync of the directory.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::directory::sync_parent;
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
    let mut new = Replacement::new(path, directory)?;
    new.write(bytes)?;
    new.take_over()?;
    new.finish()
}

/// Like [`replace`] for a file with secrets: only its owner keeps what rights it had.
///
/// # Errors
/// The same.
pub fn replace_secret(path: &Path, directory: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut new = Replacement::new(path, directory)?;
    new.write(bytes)?;
    new.take_over()?;
    new.restrict()?;
    new.finish()
}

/// A file that is put in another one's place later; it vanishes if it is dropped before.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    temp: NamedTempFile,
}

impl Replacement {
    /// An empty file for its owner alone, in `directory`, which lies on the file system of `path`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(path: &Path, directory: &Path) -> Result<Self, IoError> {
        let mut prefix = format!("{PREFIX}{}-", std::process::id());
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            prefix.push_str(name);
            prefix.push('.');
        }
        let temp = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(directory)
            .map_err(IoError::on("create a temporary file for", path))?;
        Ok(Self { path: path.to_owned(), temp })
    }

    /// Appends.
    ///
    /// # Errors
    /// When the system refuses, as on a full disk.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.temp.write_all(bytes).map_err(IoError::on("write", &self.path))
    }

    /// Takes over the mode of the file to be replaced, if there is one, and its owner; returns
    /// whether the owner as well. Only root may give files away: another's file becomes ours.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take_over(&mut self) -> Result<bool, IoError> {
        match std::fs::metadata(&self.path) {
            Ok(old) => take_over(self.temp.as_file(), &old)
                .map_err(IoError::on("keep the mode of", &self.path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(IoError::on("look at", &self.path)(error)),
        }
    }

    /// Gives it this mode, whatever the file to be replaced has.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), IoError> {
        let set = self.temp.as_file().set_permissions(Permissions::from_mode(mode));
        set.map_err(IoError::on("set the mode of", &self.path))
    }

    /// Takes from everybody else what rights they had.
    fn restrict(&mut self) -> Result<(), IoError> {
        let meta = self.temp.as_file().metadata();
        let mode = meta.map_err(IoError::on("look at", &self.path))?.mode();
        self.set_mode(mode & 0o700)
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// When the system refuses, as on a full disk.
    pub fn sync(&self) -> Result<(), IoError> {
        self.temp.as_file().sync_all().map_err(IoError::on("flush", &self.path))
    }

    /// Puts it in its place and says where that is; the caller has flushed it, and makes the
    /// directory durable.
    ///
    /// # Errors
    /// When the system refuses; the old file is there then.
    pub fn place(self) -> Result<PathBuf, IoError> {
        let Self { path, temp } = self;
        temp.persist(&path).map_err(|error| IoError::on("replace", &path)(error.error))?;
        Ok(path)
    }

    /// Like [`Replacement::place`], unless a file is there; returns whether there was none.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn place_new(self) -> Result<bool, IoError> {
        let Self { path, temp } = self;
        match temp.persist_noclobber(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(IoError::on("create", &path)(error.error)),
        }
    }

    /// Puts it in its place, file and directory flushed.
    ///
    /// # Errors
    /// When the system refuses; the old file is there then, unless only the last flush failed.
    pub fn finish(self) -> Result<(), IoError> {
        self.sync()?;
        sync_parent(&self.place()?)
    }
}

fn take_over(file: &File, old: &Metadata) -> io::Result<bool> {
    let new = file.metadata()?;
    let is_owned = (new.uid(), new.gid()) == (old.uid(), old.gid())
        || fchown(file, Some(old.uid()), Some(old.gid())).is_ok();
    file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    Ok(is_owned)
}

/// Removes the temporary files of writers that are gone; what cannot be removed stays.
pub fn clean(directory: &Path) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    fn files(directory: &Path) -> Vec<String> {
        let names = std::fs::read_dir(directory).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole_keeps_its_mode_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        replace(&path, directory.path(), b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        let reader = File::open(&path).unwrap();
        reader.set_permissions(Permissions::from_mode(0o640)).unwrap();
        replace(&path, directory.path(), b"the second").unwrap();
        assert_eq!(
            (std::fs::read(&path).unwrap().as_slice(), mode(&path)),
            (&b"the second"[..], 0o640)
        );
        assert_eq!(io::read_to_string(reader).unwrap(), "one", "what was open is not written to");
        replace_secret(&path, directory.path(), b"three").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(files(directory.path()), ["file"]);
    }

    #[test]
    fn what_is_not_placed_vanishes_and_is_seen_by_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut new = Replacement::new(&path, directory.path()).unwrap();
        new.write(b"half").unwrap();
        let [name] = &files(directory.path())[..] else { panic!("one file") };
        assert!(name.starts_with(&format!(".agent-box-{}-file.", std::process::id())), "{name}");
        assert_eq!(mode(&directory.path().join(name)), 0o600);
        drop(new);
        assert_eq!(files(directory.path()), [""; 0]);
    }

    #[test]
    fn of_two_makers_one_wins() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for (bytes, is_first) in [(b"one", true), (b"two", false)] {
            let mut new = Replacement::new(&path, directory.path()).unwrap();
            new.write(bytes).unwrap();
            assert_eq!(new.place_new().unwrap(), is_first);
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(files(directory.path()), ["file"]);
    }

    #[test]
    fn only_the_temporary_files_of_dead_writers_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let alive = format!(".agent-box-{}-x.abc", std::process::id());
        // Process ids end at 4194304.
        for name in [&alive, ".agent-box-4194305-x.abc", ".agent-box-x", "agent-box-4194305-x"] {
            File::create(directory.path().join(name)).unwrap();
        }
        clean(directory.path());
        let mut left = files(directory.path());
        left.sort();
        assert_eq!(left, [&alive, ".agent-box-x", "agent-box-4194305-x"]);
    }
}
