//! `undo`: an earlier session list, written forward, with the ends that follow from it.

use agent_box_session::{SessionId, SessionName, Undone};
use agent_box_session_store::{Event, EventKind, IoError, LockError, UndoError};
use thiserror::Error;

use super::Operator;
use crate::ending::EndError;

/// Nothing was undone, or not everything has ended.
#[derive(Debug, Error)]
pub enum UndoFault {
    /// The history or the registry says no.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The journal cannot be written.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The session list is undone, but a session that went with it still runs.
    #[error("session `{name}` is removed, but not everything of it has ended")]
    NotEnded {
        /// The session.
        name: SessionName,
        /// What is left.
        #[source]
        source: EndError,
    },
}

impl Operator {
    /// Takes back the last `steps` changes of the session list and ends what went with them.
    ///
    /// # Errors
    /// When there are not so many changes, or something cannot be ended.
    pub fn undo(&self, steps: usize) -> Result<Undone, UndoFault> {
        let undone = self.store.undo(&self.by, steps)?;
        let journal = |name: &SessionName, id: SessionId, text: &str| {
            let event = Event::new(self.store.now(), EventKind::Undo, text).about(id, name);
            self.store.journal().append(&event.by(&self.by))
        };
        // The list is undone: a journal that cannot be written stops nothing, it is only said.
        let mut noted = Ok(());
        for (name, id) in &undone.restored {
            noted = noted.and(journal(name, *id, "listed again by undo"));
        }
        for (name, id) in &undone.delisted {
            noted = noted.and(journal(name, *id, "removed by undo"));
            self.end_launches(*id, name, self.store.launch(*id))
                .map_err(|source| UndoFault::NotEnded { name: name.clone(), source })?;
            // Not `forget`: who had the name before may have it again.
            self.subscriptions.put_away(&self.store, name, Some(*id))?;
        }
        for (name, id) in &undone.restored {
            self.subscriptions.bring_back(name, *id)?;
        }
        noted?;
        Ok(undone)
    }
}
