//! Sweeping: files that nobody can reach any more.
//!
//! What belongs to a removed session stays for a week, so that `undo` and `why` still work; a
//! long prompt's file stays a day after its launch was replaced, since its agent may read it late.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use agent_box_disk::IoError;
use agent_box_session::{LaunchId, Timestamp};

use crate::store::Store;

const REMOVED_KEPT: Duration = Duration::from_hours(7 * 24);
const PROMPT_KEPT: Duration = Duration::from_hours(24);
const ROTATION_KEPT: Duration = Duration::from_hours(30 * 24);

impl Store {
    /// Removes what is left of sessions that were removed long ago; returns how many files went.
    ///
    /// The caller is the supervisor: nobody else prepares launches meanwhile.
    ///
    /// # Errors
    /// When a directory cannot be read; what was not reached is swept next time.
    pub fn sweep(&self) -> Result<usize, IoError> {
        let now = self.now();
        let mut swept = 0;
        for (id, tombstone) in self.tombstones()? {
            let has_record = self.paths().launch(id).exists();
            if has_record
                && now.since(tombstone.at) > REMOVED_KEPT
                && self.lifetime_is_free(id).unwrap_or(false)
            {
                self.remove_launch(id)?;
                swept += 1;
            }
        }
        let mut launches: BTreeSet<LaunchId> = BTreeSet::new();
        let mut conversations: BTreeSet<String> = BTreeSet::new();
        for (_, record) in self.launches()? {
            // A record that cannot be read may name any of them.
            let Ok(record) = record else { return Ok(swept) };
            launches.insert(record.launch);
            conversations.extend(record.conversation);
        }
        swept += sweep_directory(&self.paths().prompts(), now, PROMPT_KEPT, |name| {
            name.strip_suffix(".md")
                .and_then(|id| id.parse().ok())
                .is_some_and(|launch| !launches.contains(&launch))
        });
        swept += sweep_directory(&self.paths().rotations(), now, ROTATION_KEPT, |name| {
            !conversations.contains(name)
        });
        Ok(swept)
    }
}

/// Removes the old files of a directory whose names `is_orphan`; what cannot be removed stays.
fn sweep_directory(
    directory: &Path,
    now: Timestamp,
    kept: Duration,
    is_orphan: impl Fn(&str) -> bool,
) -> usize {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_orphan))
        .filter(|entry| {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let since_epoch = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            let millis = since_epoch.and_then(|since| u64::try_from(since.as_millis()).ok());
            millis.is_some_and(|millis| now.since(Timestamp::from_millis(millis)) > kept)
        })
        .filter(|entry| fs::remove_file(entry.path()).is_ok())
        .count()
}

#[cfg(test)]
mod tests {
    use agent_box_session::SessionId;
    use agent_box_session::paths::Paths;

    use super::*;

    #[test]
    fn only_old_files_of_nobody_are_swept() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(Paths::new(home.path(), home.path().join("s"))).unwrap();
        let (old, young) = (store.mint_launch(), store.mint_launch());
        for launch in [old, young] {
            fs::File::create(store.paths().prompt(launch)).unwrap();
        }
        let long_ago = std::time::UNIX_EPOCH + Duration::from_hours(24);
        let file = fs::File::options().write(true).open(store.paths().prompt(old)).unwrap();
        file.set_modified(long_ago).unwrap();
        assert_eq!(store.sweep().unwrap(), 1);
        assert!(!store.paths().prompt(old).exists());
        assert!(store.paths().prompt(young).exists());
    }

    #[test]
    fn a_damaged_record_stops_the_sweep_of_what_it_may_name() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(Paths::new(home.path(), home.path().join("s"))).unwrap();
        let launch = store.mint_launch();
        let file = fs::File::create(store.paths().prompt(launch)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_hours(24)).unwrap();
        let id: SessionId = store.mint_session();
        fs::File::create(store.paths().launch(id)).unwrap();
        assert_eq!(store.sweep().unwrap(), 0);
        assert!(store.paths().prompt(launch).exists());
    }
}
