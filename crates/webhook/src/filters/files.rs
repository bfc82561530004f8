//! What the filter files say: each in one of four states, read again when it changed.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use agent_box_event::{Filter, FilterDocument};
use agent_box_session::WebhookPaths;
use serde_json::Value;

use super::Owner;
use crate::disk::{self, Cached};
use crate::to_event_json;

/// What stands in a filter file. Only one of its states delivers anything.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterFile {
    /// There is no file.
    Absent,
    /// It cannot be read, and why.
    Invalid(String),
    /// It has been read; without a list of topics it delivers nothing.
    Read(FilterDocument),
}

impl FilterFile {
    /// The filter, if there is one.
    pub fn filter(&self) -> Option<&Filter> {
        match self {
            Self::Read(document) if document.is_configured() => Some(document.filter()),
            _ => None,
        }
    }

    /// The state's name: `absent`, `invalid`, `unconfigured` or `ok`.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Invalid(_) => "invalid",
            Self::Read(document) if document.is_configured() => "ok",
            Self::Read(_) => "unconfigured",
        }
    }

    fn understand(bytes: io::Result<Vec<u8>>) -> Self {
        match bytes {
            Ok(bytes) => Self::of_bytes(Some(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(error) => Self::Invalid(error.to_string()),
        }
    }

    pub(super) fn of_bytes(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else { return Self::Absent };
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => FilterDocument::read(&to_event_json(&value))
                .map_or_else(|| Self::Invalid("it holds no JSON object".to_owned()), Self::Read),
            Err(error) => Self::Invalid(format!("it is not JSON: {error}")),
        }
    }
}

/// Reads one file now.
pub fn read(paths: &WebhookPaths, owner: &Owner) -> FilterFile {
    FilterFile::understand(disk::read(&owner.path(paths)))
}

/// The filter files of a state directory, for the daemon.
#[derive(Debug)]
pub struct FilterFiles {
    paths: WebhookPaths,
    cache: BTreeMap<Owner, Cached<Arc<FilterFile>>>,
}

impl FilterFiles {
    /// The files of this directory; nothing is read yet.
    pub fn new(paths: WebhookPaths) -> Self {
        Self { paths, cache: BTreeMap::new() }
    }

    /// What an owner's file says now.
    pub fn of(&mut self, owner: &Owner, now_ms: u64) -> Arc<FilterFile> {
        let path = owner.path(&self.paths);
        let cached = self.cache.entry(owner.clone()).or_insert_with(|| Cached::new(path));
        let file = cached.get(now_ms, |bytes, before| {
            let file = FilterFile::understand(bytes);
            // One that cannot even be opened is tried each time, and spoken of once.
            if let FilterFile::Invalid(reason) = &file
                && before.is_none_or(|before| *before != file)
            {
                let path = owner.path(&self.paths);
                let what = "a filter cannot be read and delivers nothing";
                tracing::warn!(file = %path.display(), reason, "{what}");
            }
            Arc::new(file)
        });
        Arc::clone(file)
    }

    /// Every file but the box's own, in the order of their owners.
    ///
    /// # Errors
    /// When the state directory cannot be listed; one that does not exist is empty.
    pub fn sessions(&mut self, now_ms: u64) -> io::Result<Vec<(Owner, Arc<FilterFile>)>> {
        let mut owners = owners(&self.paths)?;
        owners.retain(|owner| *owner != Owner::Box);
        self.cache.retain(|owner, _| *owner == Owner::Box || owners.contains(owner));
        Ok(owners.into_iter().map(|owner| (owner.clone(), self.of(&owner, now_ms))).collect())
    }
}

/// Who has a file, in order.
fn owners(paths: &WebhookPaths) -> io::Result<Vec<Owner>> {
    let entries = match std::fs::read_dir(paths.state()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut owners = Vec::new();
    for entry in entries {
        owners.extend(entry?.file_name().to_str().and_then(Owner::of_file_name));
    }
    owners.sort();
    Ok(owners)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> &'static str {
        FilterFile::understand(Ok(text.as_bytes().to_vec())).state()
    }

    #[test]
    fn a_file_is_in_one_of_four_states_and_only_one_delivers() {
        assert_eq!(state("{}"), "unconfigured");
        assert_eq!(state(r#"{"topics":7}"#), "unconfigured");
        assert_eq!(state(r#"{"topics":[]}"#), "ok");
        for bad in ["", "nonsense", "[]", "7", "{\"topics\":[]}x", "\u{feff}{}"] {
            assert_eq!(state(bad), "invalid", "{bad:?}");
        }
        let absent = FilterFile::understand(Err(io::ErrorKind::NotFound.into()));
        assert_eq!(absent.state(), "absent");
        let denied = FilterFile::understand(Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(denied.state(), "invalid");
        let none = FilterFile::understand(Ok(br#"{"enabled":true}"#.to_vec()));
        assert_eq!((absent.filter(), denied.filter(), none.filter()), (None, None, None));
        assert!(FilterFile::understand(Ok(br#"{"topics":["o/r"]}"#.to_vec())).filter().is_some());
    }

    #[test]
    fn nesting_without_end_is_invalid_and_no_danger() {
        assert_eq!(state(&"[".repeat(100_000)), "invalid");
    }

    #[test]
    fn the_files_of_a_directory_are_listed_and_read_again_when_they_change() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let mut files = FilterFiles::new(paths.clone());
        assert_eq!(FilterFiles::new(WebhookPaths::new("/nonexistent/x")).sessions(0).unwrap(), []);
        let put = |owner: &Owner, text: &str| {
            disk::replace(&owner.path(&paths), 0o600, text.as_bytes()).unwrap();
        };
        let main = Owner::Session("alice-main".to_owned());
        put(&main, r#"{"topics":["o/r"]}"#);
        put(&Owner::Box, r#"{"topics":["o/*"]}"#);
        put(&Owner::Keyless, "broken");
        let later = crate::now_ms() + 3_600_000;
        let states = |files: &mut FilterFiles| -> Vec<(Owner, &'static str)> {
            let listed = files.sessions(later).unwrap();
            listed.into_iter().map(|(owner, file)| (owner, file.state())).collect()
        };
        assert_eq!(states(&mut files), [(Owner::Keyless, "invalid"), (main.clone(), "ok")]);
        let first = files.of(&main, later);
        assert!(Arc::ptr_eq(&first, &files.of(&main, later)), "not read twice");
        put(&main, "{}");
        assert_eq!(files.of(&main, later).state(), "unconfigured");
        std::fs::remove_file(main.path(&paths)).unwrap();
        assert_eq!(states(&mut files), [(Owner::Keyless, "invalid")]);
        assert_eq!(files.of(&Owner::Box, later).filter().unwrap().rows.len(), 1);
    }
}
