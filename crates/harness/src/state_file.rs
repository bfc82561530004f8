//! Editing a JSON file that belongs to somebody else and that others rewrite at the same time.
//!
//! Nothing is written when nothing changes. Otherwise the file is replaced in one step, keeping
//! mode, owner and a symlink to it; one that does not parse is left as it is.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

/// How often an edit is done again because somebody else wrote in between.
const ATTEMPTS: usize = 5;

/// An edit that was not made; the file is as it was.
#[derive(Debug, Error)]
pub(crate) enum EditError {
    #[error("{} is not a JSON object; it was left as it is, mend it by hand", path.display())]
    NotJson { path: PathBuf },
    #[error("{} is being rewritten by other programs all the time; it was left as it is", path.display())]
    Contended { path: PathBuf },
    #[error("cannot edit {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Applies `change` to the object in `path`, which may be missing or empty; returns whether the
/// file was written.
pub(crate) fn edit(
    path: &Path,
    change: impl Fn(&mut Map<String, Value>),
) -> Result<bool, EditError> {
    let failed = |source| EditError::Io { path: path.to_owned(), source };
    // Through a symlink, also a dangling one, to the file that is meant.
    let target = resolve(path).map_err(failed)?;
    for _ in 0..ATTEMPTS {
        let seen = read(&target).map_err(failed)?;
        let text = seen.as_ref().map_or("", |(text, _)| text.trim());
        let mut object: Map<String, Value> = if text.is_empty() {
            Map::new()
        } else {
            serde_json::from_str(text).map_err(|_| EditError::NotJson { path: path.to_owned() })?
        };
        let before = object.clone();
        change(&mut object);
        if object == before && seen.is_some() {
            return Ok(false);
        }
        let metadata = seen.as_ref().map(|(_, metadata)| metadata);
        if replace(&target, metadata, &object).map_err(failed)? {
            return Ok(true);
        }
    }
    Err(EditError::Contended { path: path.to_owned() })
}

fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    // The kernel follows at most 40 links.
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(next) => {
                target = target.parent().unwrap_or(Path::new("/")).join(next);
            }
            Err(_) => return Ok(target),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn read(path: &Path) -> io::Result<Option<(String, Metadata)>> {
    let mut file = match crate::regular_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some((text, metadata)))
}

/// Puts `object` in the place of the file that `seen` describes; returns `false`, with nothing
/// written, if another one is there by now.
fn replace(path: &Path, seen: Option<&Metadata>, object: &Map<String, Value>) -> io::Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut file = tempfile::Builder::new()
        .prefix(".agent-box-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(directory)?;
    serde_json::to_writer_pretty(&mut file, object)?;
    file.write_all(b"\n")?;
    if let Some(seen) = seen {
        let new = file.as_file().metadata()?;
        if (new.uid(), new.gid()) != (seen.uid(), seen.gid()) {
            fchown(file.as_file(), Some(seen.uid()), Some(seen.gid()))?;
        }
        file.as_file().set_permissions(Permissions::from_mode(seen.mode() & 0o7777))?;
    }
    file.as_file().sync_all()?;
    // RACE: claude rewrites its file without a lock that we could take. What it wrote between
    // our reading and this look is kept; the moment until the rename cannot be closed. Test:
    // an_edit_keeps_what_another_program_wrote_meanwhile.
    let now = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if now.as_ref().map(version) != seen.map(version) {
        return Ok(false);
    }
    file.persist(path)?;
    File::open(directory)?.sync_all()?;
    Ok(true)
}

/// Changes with every write and every replacement.
fn version(metadata: &Metadata) -> (u64, u64, i64, i64) {
    (metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    fn put(path: &Path, text: &str) {
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn insert(object: &mut Map<String, Value>, key: &str) {
        object.insert(key.to_owned(), json!(1));
    }

    #[test]
    fn an_edit_keeps_what_another_program_wrote_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        put(&path, "{}");
        let calls = Cell::new(0);
        let edited = edit(&path, |object| {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                put(&path, r#"{"theirs": 1}"#);
            }
            insert(object, "ours");
        });
        assert!(edited.unwrap());
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\n  \"theirs\": 1,\n  \"ours\": 1\n}\n");
        assert_eq!(calls.get(), 2);
    }

    #[test]
    fn an_edit_gives_up_on_a_file_that_never_rests() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        put(&path, "{}");
        let calls = Cell::new(0);
        let edited = edit(&path, |object| {
            calls.set(calls.get() + 1);
            put(&path, &format!("{{\"theirs\": \"{}\"}}", "x".repeat(calls.get())));
            insert(object, "ours");
        });
        assert!(matches!(edited, Err(EditError::Contended { .. })));
        assert!(!fs::read_to_string(&path).unwrap().contains("ours"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "a temporary file was left");
    }
}
