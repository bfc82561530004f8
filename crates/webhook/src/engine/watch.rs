//! Noticing that sessions came or went: inotify on the directories of the registry and of the
//! launch records. Directories, not files: writers replace files by rename.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use agent_box_session::paths::Paths;
use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};
use tokio::io::unix::AsyncFd;

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Which sessions are wanted.
    pub(crate) registry: bool,
    /// Which of them run.
    pub(crate) launches: bool,
}

/// The watches; a directory that is not there is looked for at each [`SessionWatch::renew`].
#[derive(Debug)]
pub(crate) struct SessionWatch {
    inotify: AsyncFd<Inotify>,
    registry: PathBuf,
    launches: PathBuf,
    registry_at: Option<WatchDescriptor>,
    launches_at: Option<WatchDescriptor>,
}

impl SessionWatch {
    pub(crate) fn new(home: &Path) -> io::Result<Self> {
        #[expect(deprecated, reason = "its successor is unsafe; Inotify keeps its descriptor")]
        let inotify = AsyncFd::new(Inotify::init()?)?;
        let paths = Paths::new(home, "");
        let mut watch = Self {
            inotify,
            registry: paths.registry(),
            launches: paths.launches(),
            registry_at: None,
            launches_at: None,
        };
        watch.renew();
        Ok(watch)
    }

    /// Watches what the paths name now; watching the same directory again changes nothing.
    pub(crate) fn renew(&mut self) {
        let mask = WatchMask::MOVED_TO
            | WatchMask::CLOSE_WRITE
            | WatchMask::DELETE
            | WatchMask::MOVE_SELF
            | WatchMask::DELETE_SELF
            | WatchMask::ONLYDIR;
        let mut watches = self.inotify.get_ref().watches();
        // A registry that is a symlink is watched where it points.
        let registry = self.registry.canonicalize().unwrap_or_else(|_| self.registry.clone());
        let directory = registry.parent().unwrap_or(&registry);
        self.registry_at = watches.add(directory, mask).ok();
        self.launches_at = watches.add(&self.launches, mask).ok();
    }

    /// What has changed since it was last asked, without waiting.
    pub(crate) fn seen(&mut self) -> Changes {
        let mut changes = Changes::default();
        if self.registry_at.is_none() {
            self.renew();
            // What was made with the directory was not seen.
            changes.registry = self.registry_at.is_some();
        }
        let mut is_moved = false;
        let mut buffer = [0; 16 * 1024];
        while let Ok(events) = self.inotify.get_mut().read_events(&mut buffer) {
            let mut any = false;
            for event in events {
                any = true;
                let is_registry = self.registry_at.as_ref() == Some(&event.wd);
                if event.mask.contains(EventMask::Q_OVERFLOW) {
                    changes = Changes { registry: true, launches: true };
                } else if event
                    .mask
                    .intersects(EventMask::MOVE_SELF | EventMask::DELETE_SELF | EventMask::IGNORED)
                {
                    is_moved = true;
                } else if self.launches_at.as_ref() == Some(&event.wd) {
                    changes.launches = true;
                } else if is_registry && event.name == self.registry.file_name() {
                    changes.registry = true;
                } else if is_registry && event.name.is_some_and(is_json) {
                    // A registry behind a symlink may have another name.
                    changes.registry |= self.registry.is_symlink();
                }
            }
            if !any {
                break;
            }
        }
        if is_moved {
            self.renew();
            changes = Changes { registry: true, launches: true };
        }
        changes
    }

    /// Waits until something may have changed; [`SessionWatch::seen`] says what. Cancel-safe:
    /// events stay in the kernel.
    pub(crate) async fn readable(&self) {
        match self.inotify.readable().await {
            // Cleared here, and read by `seen` until it would block.
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => std::future::pending().await,
        }
    }
}

fn is_json(name: &OsStr) -> bool {
    Path::new(name).extension() == Some(OsStr::new("json"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn put(path: &Path) {
        fs::File::create(path).unwrap();
    }

    #[tokio::test]
    async fn what_sessions_there_are_and_which_run_is_told_apart_from_everything_else() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path(), "");
        fs::create_dir_all(paths.config()).unwrap();
        let mut watch = SessionWatch::new(home.path()).unwrap();
        assert_eq!(watch.seen(), Changes::default());
        put(&paths.config().join("other"));
        assert_eq!(watch.seen(), Changes::default());
        put(&paths.registry());
        assert_eq!(watch.seen(), Changes { registry: true, launches: false });
        fs::create_dir_all(paths.launches()).unwrap();
        watch.renew();
        put(&paths.launches().join("x.json"));
        tokio::time::timeout(Duration::from_secs(10), watch.readable()).await.unwrap();
        assert_eq!(watch.seen(), Changes { registry: false, launches: true });
        assert_eq!(watch.seen(), Changes::default());
    }

    /// Seen red without the look for a directory that was not there.
    #[tokio::test]
    async fn the_first_session_of_a_box_is_noticed_though_it_brings_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path(), "");
        let mut watch = SessionWatch::new(home.path()).unwrap();
        assert_eq!(watch.seen(), Changes::default());
        fs::create_dir_all(paths.config()).unwrap();
        put(&paths.registry());
        assert!(watch.seen().registry);
        put(&paths.registry());
        assert!(watch.seen().registry);
        assert_eq!(watch.seen(), Changes::default());
    }

    #[tokio::test]
    async fn a_directory_that_was_replaced_is_watched_again() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path(), "");
        fs::create_dir_all(paths.config()).unwrap();
        let mut watch = SessionWatch::new(home.path()).unwrap();
        fs::remove_dir_all(paths.config()).unwrap();
        fs::create_dir_all(paths.config()).unwrap();
        assert!(watch.seen().registry);
        watch.seen();
        put(&paths.registry());
        assert_eq!(watch.seen(), Changes { registry: true, launches: false });
    }
}
