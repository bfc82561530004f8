//! Editing a JSON file that belongs to somebody else and that others rewrite at the same time.
//!
//! Nothing is written when nothing changes. Otherwise the file is replaced in one step, keeping
//! mode, owner and a symlink to it; one that does not parse is left as it is.

use std::io;
use std::path::{Path, PathBuf};

use agent_box_disk::{self as disk, IoError, Replacement, Stamp};
use rustix::io::Errno;
use serde_json::{Map, Value};
use thiserror::Error;

/// How often an edit is done again because somebody else wrote in between.
const ATTEMPTS: usize = 5;

/// Such files grow to some MiB in long use; no agent's to this many.
const MOST_MIB: u64 = 64;

/// An edit that was not made; the file is as it was.
#[derive(Debug, Error)]
pub(crate) enum EditError {
    #[error("{} is not a JSON object; it was left as it is, mend it by hand", path.display())]
    NotJson { path: PathBuf },
    #[error("{} is being rewritten by other programs all the time; it was left as it is", path.display())]
    Contended { path: PathBuf },
    #[error("{error}: {}", error.source)]
    Io {
        #[from]
        error: IoError,
    },
}

/// Applies `change` to the object in `path`, which may be missing or empty; returns whether the
/// file was written.
pub(crate) fn edit(
    path: &Path,
    change: impl Fn(&mut Map<String, Value>),
) -> Result<bool, EditError> {
    let target = disk::behind_link(path)?;
    for _ in 0..ATTEMPTS {
        let seen = read(&target).map_err(IoError::on("read", &target))?;
        let text = seen.as_ref().map_or(&b""[..], |(text, _)| text.trim_ascii());
        let mut object: Map<String, Value> = if text.is_empty() {
            Map::new()
        } else {
            serde_json::from_slice(text)
                .map_err(|_| EditError::NotJson { path: path.to_owned() })?
        };
        let before = object.clone();
        change(&mut object);
        if object == before && seen.is_some() {
            return Ok(false);
        }
        if replace(&target, seen.map(|(_, stamp)| stamp), &object)? {
            return Ok(true);
        }
    }
    Err(EditError::Contended { path: path.to_owned() })
}

fn read(path: &Path) -> io::Result<Option<(Vec<u8>, Stamp)>> {
    let mut file = match disk::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stamp = Stamp::from(&file.metadata()?);
    Ok(Some((disk::read_all(&mut file, MOST_MIB)?, stamp)))
}

/// Puts `object` in the place of the file that was `seen`; returns `false`, with nothing written,
/// if another one is there by now.
fn replace(path: &Path, seen: Option<Stamp>, object: &Map<String, Value>) -> Result<bool, IoError> {
    let directory = disk::parent(path);
    disk::make_private_directory(directory)?;
    let mut new = Replacement::new(path, directory)?;
    let mut text = serde_json::to_vec_pretty(object).expect("BUG: JSON prints");
    text.push(b'\n');
    new.write(&text)?;
    if !new.take_over()? {
        return Err(IoError::on("keep the owner of", path)(Errno::PERM.into()));
    }
    new.sync()?;
    // RACE: claude rewrites its file without a lock that we could take. What it wrote between
    // our reading and this look is kept; the moment until the rename cannot be closed. Test:
    // an_edit_keeps_what_another_program_wrote_meanwhile.
    if Stamp::of(path) != seen {
        return Ok(false);
    }
    disk::sync_parent(&new.place()?)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, File};
    use std::io::Write as _;

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

    #[test]
    fn a_file_that_would_fill_the_memory_is_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        put(&path, "{}");
        File::options().write(true).open(&path).unwrap().set_len((MOST_MIB << 20) + 1).unwrap();
        let error = edit(&path, |object| insert(object, "ours")).unwrap_err().to_string();
        assert!(error.contains("cannot read") && error.contains("larger than 64 MiB"), "{error}");
        assert_eq!(fs::metadata(&path).unwrap().len(), (MOST_MIB << 20) + 1);
    }
}
