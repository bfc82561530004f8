//! The one way to write the registry: a closure under its lock.
//!
//! ```text
//! lock ─ read ─ closure ─ temporary file, fsync ─ history ─ identities ─┐
//!                                                                      rename   (the commit)
//! unlock ─ tombstones of what was delisted ─ fsync of the directory ─────┘
//! ```
//! Identities stand before the commit, so that an id is known before it is listed; tombstones
//! after it: delisted first, buried second, so that a crash in between never leaves a listed
//! session that must not start. Whoever finds the unlisted id later buries it.

use std::collections::BTreeMap;
use std::path::Path;

use agent_box_disk::{self as disk, IoError, LockError, Replacement};
use agent_box_session::{
    AddRefusal, Delisted, Entry, Identities, LaunchRecord, Registry, SessionId, SessionName,
    SessionSpec, Settled, Timestamp, VerbRefusal, settle_identities,
};
use agent_box_testpoint as testpoint;
use serde_json::Value;
use thiserror::Error;

use crate::document::{Damage, Document, ReadError};
use crate::history::GenerationKind;
use crate::launch::LaunchError;
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
    change: Change,
    document: Document,
    loaded: Identities,
    extras: BTreeMap<String, Value>,
    bases: BTreeMap<String, String>,
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
        let _lock = self.lock_registry()?;
        point("store.locked", &self.paths().registry_lock())?;
        let document = self.read_settled().map_err(|error| match error {
            ReadError::Damaged(damage) => TransactError::Damaged(damage),
            ReadError::Io(error) => TransactError::Io(error),
        })?;
        let identities = self.load_identities(&document.registry)?;
        let mut tx = Transaction {
            registry: document.registry.clone(),
            loaded: identities.clone(),
            identities,
            store: self,
            change,
            document,
            extras: BTreeMap::new(),
            bases: BTreeMap::new(),
        };
        let result = work(&mut tx).map_err(TransactError::Refused)?;
        tx.commit()?;
        testpoint::hit("store.before-unlock");
        Ok(result)
    }
}

impl Transaction<'_> {
    /// Adds every tombstone of this box to `identities.removed`: needed before
    /// `settle_identities`, since any removed session may be the one that reappears.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn load_tombstones(&mut self) -> Result<(), IoError> {
        for (id, tombstone) in self.store.tombstones()? {
            if self.loaded.removed.insert(id, tombstone.clone()).is_none() {
                self.identities.removed.insert(id, tombstone);
            }
        }
        Ok(())
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
        let (store, launched) = (self.store, self.launched());
        let mint = &mut || store.mint_session();
        self.registry.stop(&mut self.identities, name, mint, &launched, by)
    }

    /// [`Registry::restart`].
    ///
    /// # Errors
    /// When the registry refuses.
    pub fn restart(&mut self, name: &SessionName) -> Result<SessionId, VerbRefusal> {
        let (store, launched) = (self.store, self.launched());
        let mint = &mut || store.mint_session();
        self.registry.restart(&mut self.identities, name, mint, &launched)
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
        let (store, launched) = (self.store, self.launched());
        let mint = &mut || store.mint_session();
        self.registry.intend(&mut self.identities, name, mint, &launched, change)
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
        self.load_tombstones()?;
        let store = self.store;
        let mint = &mut || store.mint_session();
        Ok(settle_identities(&mut self.registry, &mut self.identities, mint))
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
        self.launched()(id)
    }

    /// A top-level key of the document that is not part of the registry.
    pub fn extra(&self, key: &str) -> Option<Value> {
        self.extras.get(key).cloned().or_else(|| self.document.extra(key))
    }

    /// Sets such a key.
    pub fn set_extra(&mut self, key: &str, value: Value) {
        assert!(!["version", "sessions"].contains(&key), "BUG: `{key}` belongs to the registry");
        self.extras.insert(key.to_owned(), value);
    }

    /// The text that a restored entry is built on.
    pub(crate) fn set_base(&mut self, key: &str, text: String) {
        self.bases.insert(key.to_owned(), text);
    }

    /// The current document's text, as it was read.
    pub(crate) fn current_text(&self) -> Option<&str> {
        self.document.text()
    }

    /// What the registry's verbs ask: the highest generation that a launch of an id can have.
    pub(crate) fn launched(&self) -> impl Fn(SessionId) -> u64 + use<> {
        let store = self.store.clone();
        let live = self.identities.live.iter().map(|(id, identity)| (*id, identity.generation));
        let removed = self.identities.removed.iter();
        let removed = removed.map(|(id, tombstone)| (*id, tombstone.identity.generation));
        let seen: BTreeMap<SessionId, u64> = live.chain(removed).collect();
        move |id| {
            // A launch takes its generation from the entry, so what was seen of the entry stands
            // in for a record that cannot be read.
            let recorded = store.launch(id).ok().flatten().map_or(0, |record| record.generation);
            recorded.max(seen.get(&id).copied().unwrap_or(0))
        }
    }

    fn commit(&self) -> Result<(), IoError> {
        let extras_changed =
            self.extras.iter().any(|(key, value)| self.document.extra(key).as_ref() != Some(value));
        let registry_changed = self.registry != self.document.registry || extras_changed;
        let buried = self.identities.removed.iter().filter(|(id, _)| !self.loaded.is_removed(**id));
        let buried: Vec<_> = buried
            .map(|(_, tombstone)| self.store.prepare_tombstone(tombstone))
            .collect::<Result<_, _>>()?;
        let lifted: Vec<_> =
            self.loaded.removed.keys().filter(|id| !self.identities.is_removed(**id)).collect();
        if registry_changed {
            let text = self.document.render(&self.registry, &self.extras, &self.bases);
            self.write(&text, &lifted)?;
        } else {
            self.write_identities()?;
            self.lift(&lifted)?;
        }
        for tombstone in buried {
            testpoint::hit("store.before-tombstone");
            disk::sync_parent(&tombstone.place()?)?;
            testpoint::hit("store.after-tombstone");
        }
        Ok(())
    }

    fn write(&self, text: &str, lifted: &[&SessionId]) -> Result<(), IoError> {
        let path = self.store.paths().registry();
        let target = disk::behind_link(&path)?;
        let directory = disk::parent(&target);
        point("store.before-temp", &path)?;
        let mut new = Replacement::new(&target, directory)?;
        new.write(text.as_bytes())?;
        new.take_over()?;
        point("store.after-temp-write", &path)?;
        point("store.before-fsync", &path)?;
        new.sync()?;
        point("store.after-fsync", &path)?;

        point("store.before-history", &path)?;
        if let Some(current) = self.document.text() {
            self.store.settle_history(current)?;
            self.store.note_unseen(current)?;
        }
        let (kind, by, summary) = match &self.change {
            Change::Operator { by, summary } => (GenerationKind::Operator, &**by, &**summary),
            Change::Mirror => (GenerationKind::Mirror, "agent-box", "note what was seen"),
        };
        let pending = self.store.prepare_generation(kind, by, summary, text)?;
        point("store.after-history", &path)?;

        self.write_identities()?;
        self.lift(lifted)?;
        point("store.before-rename", &path)?;
        new.place()?;
        testpoint::hit("store.after-rename");
        testpoint::hit("store.before-dir-fsync");
        // From here on the change is in place; should this flush fail, the caller hears of it, but
        // history must not forget the document.
        let flushed = disk::sync_directory(directory);
        testpoint::hit("store.after-dir-fsync");
        pending.keep()?;
        self.store.prune();
        flushed
    }

    /// Writes what was seen of the ids, if that changed. Newly buried ones stay in the file until
    /// their tombstones are written.
    fn write_identities(&self) -> Result<(), IoError> {
        let buried = self.identities.removed.iter().filter(|(id, _)| !self.loaded.is_removed(**id));
        let known: BTreeMap<_, _> = buried
            .map(|(id, tombstone)| (id, &tombstone.identity))
            .chain(self.identities.live.iter())
            .collect();
        if known == self.loaded.live.iter().collect() {
            return Ok(());
        }
        self.store.write_identities(known.into_values())
    }

    fn lift(&self, ids: &[&SessionId]) -> Result<(), IoError> {
        ids.iter().try_for_each(|id| disk::remove(&self.store.paths().tombstone(**id)))
    }
}

/// A fault point that can fail.
fn point(name: &str, path: &Path) -> Result<(), IoError> {
    testpoint::check(name).map_err(IoError::on("write", path))
}
