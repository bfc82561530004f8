//! The journal: what happened, one fsynced JSON line each.

use agent_box_session::{SessionId, SessionName};

use crate::error::IoError;
use crate::event::Event;
use crate::lock::LockError;
use crate::store::Store;

/// Which events to read: all, or those of one session by id or by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Events of this id match.
    pub session: Option<SessionId>,
    /// Events under this name match.
    pub name: Option<SessionName>,
}

/// The journal of one store.
#[derive(Debug)]
pub struct Journal<'s> {
    store: &'s Store,
}

impl Store {
    /// The journal.
    pub fn journal(&self) -> Journal<'_> {
        Journal { store: self }
    }
}

impl Journal<'_> {
    /// Appends one event durably.
    ///
    /// # Errors
    /// When the journal cannot be locked or written.
    pub fn append(&self, event: &Event) -> Result<(), LockError> {
        let _ = (event, self.store);
        todo!()
    }

    /// The newest `limit` events that match, oldest first, rotated files included.
    ///
    /// # Errors
    /// When a file cannot be read; a torn line is left out.
    pub fn read(&self, filter: &Filter, limit: usize) -> Result<Vec<Event>, IoError> {
        let _ = (filter, limit);
        todo!()
    }
}
