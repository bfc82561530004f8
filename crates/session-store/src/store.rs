//! The store: one user's durable files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_box_disk::{self as disk, EditLock, IoError, LockError, Replacement};
use agent_box_session::paths::Paths;
use agent_box_session::{LaunchId, SessionId, StoreId, Timestamp};
use thiserror::Error;

use crate::clock;

/// The files could not be prepared.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The id file holds something else.
    #[error(
        "{} does not hold a store id; move it away to get a new one (sessions that run now will \
         then have to be ended by hand)",
        path.display()
    )]
    StoreId {
        /// The id file.
        path: PathBuf,
    },
}

/// One user's durable files; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    paths: Arc<Paths>,
    id: StoreId,
    lock_wait: Duration,
}

impl Store {
    /// How long the registry's lock is waited for.
    pub const LOCK_WAIT: Duration = Duration::from_secs(5);

    /// Opens (and on a fresh box creates) the directories and the store id.
    ///
    /// # Errors
    /// When a directory or the id file cannot be made or read.
    pub fn open(paths: Paths) -> Result<Self, OpenError> {
        let directories = [
            paths.config(),
            paths.history(),
            paths.state(),
            paths.launches(),
            paths.tombstones(),
            paths.run(),
            paths.prompts(),
            paths.rotations(),
        ];
        for directory in &directories {
            disk::make_private_directory(directory)?;
        }
        if let Some(directory) = paths.last_words(clock::mint_session()).parent() {
            disk::make_private_directory(directory)?;
        }
        let registry = disk::behind_link(&paths.registry())?;
        let beside_registry = registry.parent().map(Path::to_owned);
        for directory in [paths.config(), paths.state()].iter().chain(&beside_registry) {
            disk::clean(directory);
        }
        let id = store_id(&paths.store_id())?;
        Ok(Self { paths: Arc::new(paths), id, lock_wait: Self::LOCK_WAIT })
    }

    /// The same store with another patience for locks.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Where everything is.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// This state directory's id.
    pub fn store_id(&self) -> StoreId {
        self.id
    }

    /// A new session id.
    pub fn mint_session(&self) -> SessionId {
        clock::mint_session()
    }

    /// A new launch id.
    pub fn mint_launch(&self) -> LaunchId {
        clock::mint_launch()
    }

    /// The wall clock.
    pub fn now(&self) -> Timestamp {
        clock::now()
    }

    pub(crate) fn lock_wait(&self) -> Duration {
        self.lock_wait
    }

    /// The registry's lock. Whoever writes anything under the registry's rules holds it.
    pub(crate) fn lock_registry(&self) -> Result<EditLock, LockError> {
        let turnstile = self.paths.run().join("registry.turn");
        EditLock::acquire_in_turn(&self.paths.registry_lock(), &turnstile, self.lock_wait)
    }
}

/// Reads the id file; makes it if there is none, so that of two makers one wins.
fn store_id(path: &Path) -> Result<StoreId, OpenError> {
    if !path.try_exists().map_err(IoError::on("look at", path))? {
        let directory = path.parent().expect("BUG: the id file lies in the state directory");
        let mut new = Replacement::new(path, directory)?;
        new.write(format!("{}\n", clock::mint_store()).as_bytes())?;
        new.sync()?;
        if new.place_new()? {
            disk::sync_directory(directory)?;
        }
    }
    let text =
        disk::open(path).and_then(std::io::read_to_string).map_err(IoError::on("read", path))?;
    text.trim().parse().map_err(|_| OpenError::StoreId { path: path.to_owned() })
}
