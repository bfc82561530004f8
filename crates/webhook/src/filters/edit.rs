//! The one writer of filter files: read, change, replace, all under one lock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_event::{FilterDocument, print_rfc3339};
use agent_box_session::WebhookPaths;
use thiserror::Error;

use super::{FilterFile, Owner};
use crate::disk::{self, EditLock, IoError, LockError};
use crate::from_event_json;

/// How long a writer waits for the others.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What became of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited<T> {
    /// What the change answered.
    pub outcome: T,
    /// The content now.
    pub document: FilterDocument,
    /// Where the bytes of a file that could not be read were kept.
    pub set_aside: Option<PathBuf>,
    /// Why the file cannot be read, if it was left as it is.
    pub unreadable: Option<String>,
}

/// A filter file was not changed.
#[derive(Debug, Error)]
pub enum EditError {
    /// The lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be used.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// Changes an owner's file, or makes it; blocks until the lock is had, for at most 5 s.
///
/// A change that changes nothing writes nothing. If the file cannot be read, `change` gets an
/// empty document, and what stood there is kept beside it before it is replaced.
///
/// # Errors
/// When the lock is not had, or a file cannot be read or written; then all is as it was.
pub fn edit<T>(
    paths: &WebhookPaths,
    owner: &Owner,
    now_ms: u64,
    change: impl FnOnce(&mut FilterDocument) -> T,
) -> Result<Edited<T>, EditError> {
    let path = owner.path(paths);
    disk::make_private_directory(paths.state())?;
    let _lock = EditLock::acquire(&paths.filters_lock(), LOCK_WAIT)?;
    let bytes = match disk::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        // What cannot be read cannot be kept either.
        Err(error) => return Err(IoError::on("read", &path)(error).into()),
    };
    let (before, unreadable) = match FilterFile::of_bytes(bytes.as_deref()) {
        FilterFile::Read(document) => (document, None),
        FilterFile::Absent => (FilterDocument::default(), None),
        FilterFile::Invalid(reason) => (FilterDocument::default(), Some(reason)),
    };
    let mut document = before.clone();
    let outcome = change(&mut document);
    if document == before {
        return Ok(Edited { outcome, document, set_aside: None, unreadable });
    }
    let mut set_aside = None;
    if let (Some(_), Some(bytes)) = (&unreadable, &bytes) {
        let aside = aside(&path, now_ms);
        disk::replace(&aside, 0o600, bytes)?;
        set_aside = Some(aside);
    }
    let text = format!("{:#}\n", from_event_json(&document.to_json()));
    disk::replace(&path, 0o600, text.as_bytes())?;
    Ok(Edited { outcome, document, set_aside, unreadable: None })
}

/// `filter.X.json.damaged-20261201T113117.042Z`
fn aside(path: &Path, now_ms: u64) -> PathBuf {
    let time = print_rfc3339(now_ms).replace(['-', ':'], "");
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".damaged-{time}"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use agent_box_event::{Audience, TopicPattern, Wish};

    use super::*;

    const T: u64 = 1_796_124_677_042;

    fn subscribe(paths: &WebhookPaths, owner: &Owner, topic: &str) -> Edited<()> {
        let pattern = TopicPattern::parse(topic).unwrap();
        let change = |document: &mut FilterDocument| {
            document.subscribe(&pattern, &Wish::default(), Audience::Session, T);
        };
        edit(paths, owner, T, change).unwrap()
    }

    fn names(paths: &WebhookPaths) -> Vec<String> {
        let entries = std::fs::read_dir(paths.state()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_edit_keeps_what_it_does_not_know_and_writes_only_for_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path().join("new"));
        let owner = Owner::Session("alice-main".to_owned());
        let path = owner.path(&paths);
        subscribe(&paths, &owner, "o/r");
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!((mode(paths.state()), mode(&path)), (0o700, 0o600));
        let text = r#"{"z":[1.50,{"y":null}],"topics":["github:*",{"topic":"o/r","mine":7}]}"#;
        disk::replace(&path, 0o600, text.as_bytes()).unwrap();
        subscribe(&paths, &owner, "o/s");
        let value: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(value["z"], serde_json::json!([1.5, {"y": null}]));
        assert_eq!(value["topics"][0], "github:*");
        assert_eq!(value["topics"][1], serde_json::json!({"topic": "o/r", "mine": 7}));
        assert_eq!(value["topics"][2]["topic"], "github:o/s");
        assert_eq!(names(&paths), ["filter.alice-main.json", "filters.lock"]);
    }

    #[test]
    fn a_change_that_changes_nothing_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let owner = Owner::Keyless;
        let removed = |document: &mut FilterDocument| document.unsubscribe("o/r");
        assert_eq!(edit(&paths, &owner, T, removed).unwrap().outcome, 0);
        assert_eq!(names(&paths), ["filters.lock"], "no file is made");
        let broken = b"{\"topics\":[";
        disk::replace(&owner.path(&paths), 0o600, broken).unwrap();
        let edited = edit(&paths, &owner, T, removed).unwrap();
        assert!(edited.unreadable.unwrap().starts_with("it is not JSON"));
        assert_eq!(std::fs::read(owner.path(&paths)).unwrap(), broken);
    }

    #[test]
    fn what_cannot_be_read_is_kept_aside_and_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let owner = Owner::Session("alice-main".to_owned());
        disk::replace(&owner.path(&paths), 0o600, b"my { notes").unwrap();
        let edited = subscribe(&paths, &owner, "o/r");
        let aside = edited.set_aside.unwrap();
        let name = aside.file_name().unwrap().to_str().unwrap();
        assert_eq!(name, "filter.alice-main.json.damaged-20261201T113117.042Z");
        assert_eq!(std::fs::read(&aside).unwrap(), b"my { notes");
        assert_eq!(
            FilterFile::of_bytes(std::fs::read(owner.path(&paths)).ok().as_deref()).state(),
            "ok"
        );
        // No bytes to keep: nothing is done.
        let path = Owner::Keyless.path(&paths);
        std::fs::create_dir(&path).unwrap();
        let error = edit(&paths, &Owner::Keyless, T, |it| it.set_enabled(false)).unwrap_err();
        assert!(error.to_string().contains("cannot read"), "{error}");
        assert!(path.is_dir());
    }
}
