//! Waking up: changes of the registry and of launch records, by inotify on their directories.
//!
//! Directories, not files: writers replace files by rename. A registry that is a symlink is
//! watched where it points. Watches are renewed at every tick and whenever a watched directory
//! itself moves; one that is not there then is looked for until it is.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use agent_box_session::SessionId;
use agent_box_session::paths::Paths;
use inotify::{Inotify, WatchDescriptor, WatchMask};
use tokio::io::unix::AsyncFd;

use crate::observe::Stale;

/// What a batch of events means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The registry may have changed.
    pub(crate) registry: bool,
    /// These records may have changed.
    pub(crate) records: Stale,
}

/// The watches of one supervisor.
#[derive(Debug)]
pub(crate) struct Watch {
    inotify: AsyncFd<Inotify>,
    registry: PathBuf,
    launches: PathBuf,
    registry_names: BTreeSet<(WatchDescriptor, OsString)>,
    launches_at: Option<WatchDescriptor>,
    /// Whether a directory was not there when it was last looked for.
    incomplete: bool,
}

impl Watch {
    /// Starts watching.
    pub(crate) fn new(paths: &Paths) -> io::Result<Self> {
        #[expect(deprecated, reason = "its successor is unsafe; Inotify keeps its descriptor")]
        let inotify = AsyncFd::new(Inotify::init()?)?;
        let mut watch = Self {
            inotify,
            registry: paths.registry(),
            launches: paths.launches(),
            registry_names: BTreeSet::new(),
            launches_at: None,
            incomplete: false,
        };
        watch.renew()?;
        Ok(watch)
    }

    /// Watches what the paths name now. Watching the same directory again changes nothing.
    pub(crate) fn renew(&mut self) -> io::Result<()> {
        self.incomplete = true;
        let mask = WatchMask::CLOSE_WRITE
            | WatchMask::MODIFY
            | WatchMask::MOVED_TO
            | WatchMask::MOVED_FROM
            | WatchMask::DELETE
            | WatchMask::MOVE_SELF
            | WatchMask::DELETE_SELF
            | WatchMask::ONLYDIR;
        let mut names = BTreeSet::new();
        let mut places = vec![self.registry.clone()];
        if let Ok(target) = self.registry.canonicalize() {
            places.push(target);
        }
        for place in places {
            if let (Some(directory), Some(name)) = (place.parent(), place.file_name()) {
                let descriptor = self.inotify.get_ref().watches().add(directory, mask)?;
                names.insert((descriptor, name.to_owned()));
            }
        }
        self.registry_names = names;
        self.launches_at = Some(self.inotify.get_ref().watches().add(&self.launches, mask)?);
        self.incomplete = false;
        Ok(())
    }

    /// Whether something is not watched, because its directory is not there.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Waits for the next changes that matter. Cancel-safe: events stay queued in the kernel
    /// until they are read, and nothing is awaited after reading.
    pub(crate) async fn changed(&mut self) -> io::Result<Changes> {
        loop {
            let mut ready = self.inotify.readable_mut().await?;
            let mut changes = Changes { registry: false, records: Stale::Records(BTreeSet::new()) };
            let mut renew = false;
            let mut buffer = [0; 16 * 1024];
            loop {
                let events = match ready.get_inner_mut().read_events(&mut buffer) {
                    Ok(events) => events,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                for event in events {
                    let name = event.name.map(OsStr::to_owned);
                    if event.mask.contains(inotify::EventMask::Q_OVERFLOW) {
                        changes = Changes { registry: true, records: Stale::Everything };
                    } else if event.mask.intersects(
                        inotify::EventMask::MOVE_SELF
                            | inotify::EventMask::DELETE_SELF
                            | inotify::EventMask::IGNORED,
                    ) {
                        renew = true;
                    } else if self.launches_at.as_ref() == Some(&event.wd) {
                        if let (Some(id), Stale::Records(ids)) =
                            (name.as_deref().and_then(record_id), &mut changes.records)
                        {
                            ids.insert(id);
                        }
                    } else if let Some(name) = name {
                        changes.registry |= self.registry_names.contains(&(event.wd, name));
                    }
                }
            }
            ready.clear_ready();
            drop(ready);
            if renew {
                // The directory may not be there again yet; the caller tries once more.
                let _ = self.renew();
                return Ok(Changes { registry: true, records: Stale::Everything });
            }
            if changes.registry || changes.records != Stale::Records(BTreeSet::new()) {
                return Ok(changes);
            }
        }
    }
}

fn record_id(name: &OsStr) -> Option<SessionId> {
    name.to_str()?.strip_suffix(".json")?.parse().ok()
}
