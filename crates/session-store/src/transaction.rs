//! The one way to write the registry: a closure under its lock.

use agent_box_session::{
    AddRefusal, Delisted, Entry, Identities, LaunchRecord, Registry, SessionId, SessionName,
    SessionSpec, Settled, Timestamp, VerbRefusal,
};
use thiserror::Error;

use crate::document::Damage;
use crate::error::IoError;
use crate::launch::LaunchError;
use crate::lock::LockError;
use crate::store::Store;

/// Whose change it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A person's (or their agent's) command: one of the 32 that history keeps.
    Operator {
        /// Who, in words for people ("cli", "web").
        by: String,
        /// What, in words for people ("add main").
        summary: String,
    },
    /// What the programs mirror into the registry; does not count.
    Mirror,
}

/// A transaction did not take place (unless it says otherwise).
#[derive(Debug, Error)]
pub enum TransactError<R> {
    /// The lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The registry is damaged; it was left as it is.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The closure said no.
    #[error(transparent)]
    Refused(R),
}

/// What a transaction's closure works on, under the lock.
#[derive(Debug)]
pub struct Transaction<'s> {
    /// The wanted sessions; what was changed here is written.
    pub registry: Registry,
    /// What was last seen of each id. `removed` holds the tombstones of all listed ids;
    /// [`Transaction::load_tombstones`] adds the others.
    pub identities: Identities,
    store: &'s Store,
}

impl Store {
    /// Runs `work` under the registry's lock and makes its changes durable.
    ///
    /// # Errors
    /// When the lock is not had in time, the registry is damaged, `work` refuses or the system
    /// does. The registry is unchanged then, unless the very last flush of its directory failed.
    pub fn transact<T, R>(
        &self,
        change: Change,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, R>,
    ) -> Result<T, TransactError<R>> {
        let _ = (change, work);
        todo!()
    }
}

impl Transaction<'_> {
    /// Adds every tombstone of this box to `identities.removed`: needed before
    /// `settle_identities`, since any removed session may be the one that reappears.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn load_tombstones(&mut self) -> Result<(), IoError> {
        todo!()
    }

    /// [`Store::now`].
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }

    /// [`Store::mint_session`].
    pub fn mint(&self) -> SessionId {
        self.store.mint_session()
    }

    /// [`Registry::add`] with a fresh id.
    ///
    /// # Errors
    /// When the registry refuses.
    pub fn add(
        &mut self,
        name: SessionName,
        spec: SessionSpec,
        by: &str,
    ) -> Result<SessionId, AddRefusal> {
        let id = self.mint();
        let now = self.now();
        self.registry.add(&mut self.identities, name, spec, id, by, now)?;
        Ok(id)
    }

    /// [`Registry::delist`].
    ///
    /// # Errors
    /// When the registry refuses.
    pub fn delist(&mut self, name: &SessionName, by: &str) -> Result<Delisted, VerbRefusal> {
        let store = self.store;
        let mint = &mut || store.mint_session();
        self.registry.delist(&mut self.identities, name, mint, store.now(), by)
    }

    /// [`Registry::stop`].
    ///
    /// # Errors
    /// When the registry refuses.
    pub fn stop(&mut self, name: &SessionName, by: &str) -> Result<SessionId, VerbRefusal> {
        self.intend(name, |entry| {
            entry.stopped = true;
            entry.stopped_by = Some(by.to_owned());
        })
    }

    /// [`Registry::restart`].
    ///
    /// # Errors
    /// When the registry refuses.
    pub fn restart(&mut self, name: &SessionName) -> Result<SessionId, VerbRefusal> {
        self.intend(name, |entry| {
            entry.stopped = false;
            entry.stopped_by = None;
        })
    }

    /// [`Registry::intend`].
    ///
    /// # Errors
    /// When the registry refuses.
    pub fn intend(
        &mut self,
        name: &SessionName,
        change: impl FnOnce(&mut Entry),
    ) -> Result<SessionId, VerbRefusal> {
        let _ = (name, change);
        todo!()
    }

    /// [`Registry::park`].
    pub fn park(&mut self, id: SessionId, generation: u64, by: &str) -> bool {
        self.registry.park(&mut self.identities, id, generation, by)
    }

    /// [`agent_box_session::settle_identities`] with every tombstone loaded.
    ///
    /// # Errors
    /// When a tombstone cannot be read.
    pub fn settle(&mut self) -> Result<Vec<Settled>, IoError> {
        todo!()
    }

    /// [`Store::launch`].
    ///
    /// # Errors
    /// When the record is damaged or cannot be read.
    pub fn launch(&self, id: SessionId) -> Result<Option<LaunchRecord>, LaunchError> {
        self.store.launch(id)
    }

    /// [`Store::write_launch`]; takes effect at once, also if the closure refuses later.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_launch(&self, record: &LaunchRecord) -> Result<(), IoError> {
        self.store.write_launch(record)
    }

    /// The highest generation known of `id`: its launch record's, or what was last seen of it.
    pub fn launched_generation(&self, id: SessionId) -> u64 {
        let _ = id;
        todo!()
    }

    /// A top-level key of the document that is not part of the registry.
    pub fn extra(&self, key: &str) -> Option<serde_json::Value> {
        let _ = key;
        todo!()
    }

    /// Sets such a key.
    pub fn set_extra(&mut self, key: &str, value: serde_json::Value) {
        let _ = (key, value);
        todo!()
    }
}
