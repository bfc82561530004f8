//! The sources as of now, read again only when one of their files changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agent_box_session::WebhookPaths;

use crate::disk::Stamp;
use crate::now_ms;

use super::sources::Sources;

/// What every request starts from: an edit applies to the next one.
#[derive(Debug)]
pub(crate) struct SourceCache {
    paths: WebhookPaths,
    read: Mutex<Option<Read>>,
}

#[derive(Debug)]
struct Read {
    sources: Arc<Sources>,
    stamps: Vec<Option<Stamp>>,
    is_settled: bool,
}

impl SourceCache {
    pub(crate) fn new(paths: WebhookPaths) -> Self {
        Self { paths, read: Mutex::new(None) }
    }

    pub(crate) fn get(&self) -> Arc<Sources> {
        // What a panicking reader left is either whole or absent.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = &*read
            && read.is_settled
            && stamps(&read.sources.files) == read.stamps
        {
            return Arc::clone(&read.sources);
        }
        // Stamped before it is read, so that what changes meanwhile is read again next time. Which
        // files matter is known only after reading, so that is done twice.
        let seen = stamps(&Sources::read(&self.paths).files);
        let sources = Sources::read(&self.paths);
        let is_settled = seen.iter().flatten().all(|stamp| stamp.is_settled(now_ms()));
        if read.as_ref().is_none_or(|read| read.stamps != seen) {
            tell(&sources);
        }
        let sources = Arc::new(sources);
        *read = Some(Read { sources: Arc::clone(&sources), stamps: seen, is_settled });
        sources
    }
}

/// Once for each state of the files.
fn tell(sources: &Sources) {
    for problem in &sources.problems {
        tracing::warn!("webhook sources: {problem}");
    }
    for source in sources.iter() {
        for problem in &source.problems {
            tracing::warn!("webhook source {}: {problem}", source.name);
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|path| Stamp::of(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use agent_box_testkit::within;

    use super::*;

    fn put(path: &Path, mode: u32, text: &str) {
        let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
        file.persist(path).unwrap();
    }

    #[test]
    fn an_edit_of_any_file_applies_to_the_next_request_and_nothing_else_is_read_twice() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let cache = SourceCache::new(paths.clone());
        let keys = || cache.get().find(None).map_or(0, |it| it.keys.len());
        assert_eq!(keys(), 0, "nothing is there");
        put(&paths.sources(), 0o600, r#"{"sources":{"github":{"secretFile":"github.secret"}}}"#);
        assert_eq!(keys(), 0, "the secret is missing");
        let secret = paths.secret("github");
        put(&secret, 0o644, "0123456789abcdef");
        assert_eq!(keys(), 0, "others may read it");
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(keys(), 1, "a chmod alone is noticed");
        within(5).until("the files are old enough", || Arc::ptr_eq(&cache.get(), &cache.get()));
        let before = cache.get();
        assert!(Arc::ptr_eq(&before, &cache.get()), "read once");
        put(&secret, 0o600, "fedcba9876543210");
        assert!(!Arc::ptr_eq(&before, &cache.get()), "a new secret is read");
        std::fs::remove_file(paths.sources()).unwrap();
        assert!(cache.get().find(None).is_none(), "removed is closed");
        assert!(cache.get().problems[0].contains("agent-box webhook setup"));
    }
}
