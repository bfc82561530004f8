//! `undo`: the newest changes taken back, written forward as a new document.

use agent_box_disk::IoError;
use agent_box_session::Undone;
use thiserror::Error;

use crate::document::Document;
use crate::history::{GenerationKind, Kept};
use crate::store::Store;
use crate::transaction::{Change, TransactError, Transaction};

/// There is nothing to go back to.
#[derive(Debug, Error)]
pub enum UndoRefusal {
    /// History is shorter.
    #[error("history has only {available} changes to undo; `agent-box session history` shows them")]
    TooFar {
        /// How many can be undone.
        available: usize,
    },
    /// History cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// Nothing was undone.
pub type UndoError = TransactError<UndoRefusal>;

impl Store {
    /// Takes back the newest `steps` changes of the operator (hand edits count, what the programs
    /// mirrored does not). An undo is a change too: undoing it redoes.
    ///
    /// The launches of the ids in [`Undone::delisted`] are to be ended.
    ///
    /// # Errors
    /// When there are not so many, or the transaction fails.
    pub fn undo(&self, by: &str, steps: usize) -> Result<Undone, UndoError> {
        let summary = match steps {
            1 => "undo the newest change".to_owned(),
            steps => format!("undo the newest {steps} changes"),
        };
        let change = Change::Operator { by: by.to_owned(), summary };
        self.transact(change, |tx| self.take_back(tx, by, steps))
    }

    fn take_back(
        &self,
        tx: &mut Transaction<'_>,
        by: &str,
        steps: usize,
    ) -> Result<Undone, UndoRefusal> {
        if let Some(current) = tx.current_text() {
            self.settle_history(current)?;
            self.note_unseen(current)?;
        }
        tx.settle()?;
        let before = tx.registry.clone();
        let mut kept = self.kept_documents()?;
        if kept.first().is_some_and(Kept::is_first_of_all) {
            kept.insert(0, fresh_box());
        }
        let changes: Vec<&[Kept]> = kept
            .windows(2)
            .rev()
            .filter(|pair| pair[1].generation.kind != GenerationKind::Mirror)
            .collect();
        if changes.len() < steps {
            return Err(UndoRefusal::TooFar { available: changes.len() });
        }
        let launched = tx.launched();
        let mut taken = 0;
        for pair in &changes {
            if taken == steps {
                break;
            }
            let [old, new] = pair else { unreachable!("BUG: windows of two") };
            let with_change = tx.registry.clone();
            agent_box_session::undo(
                &mut tx.registry,
                &mut tx.identities,
                &old.document.registry,
                &new.document.registry,
                &mut || self.mint_session(),
                &launched,
                self.now(),
                by,
            );
            restore_texts(tx, &old.document);
            // A change that left nothing to take back (an editor's blank line, an id that was put
            // in order) is not what anybody means by one step.
            taken += usize::from(tx.registry != with_change);
        }
        if taken < steps {
            return Err(UndoRefusal::TooFar { available: taken });
        }
        Ok(Undone::between(&before, &tx.registry))
    }
}

/// Entries that come back do so with the fields that the types do not know.
fn restore_texts(tx: &mut Transaction<'_>, old: &Document) {
    let restored: Vec<(String, String)> = old
        .registry
        .entries()
        .filter_map(|(name, entry)| {
            let listed = match entry.id {
                Some(id) => tx.registry.by_id(id).map(|(name, _)| name)?,
                None => name,
            };
            Some((listed.to_string(), old.raw_entry(name.as_str())?.to_owned()))
        })
        .chain(old.registry.unusable().iter().filter_map(|unusable| {
            Some((unusable.key.clone(), old.raw_entry(&unusable.key)?.to_owned()))
        }))
        .collect();
    for (key, text) in restored {
        tx.set_base(&key, text);
    }
}

/// What was before the first document.
fn fresh_box() -> Kept {
    Kept { generation: crate::history::Generation::before_all(), document: Document::fresh() }
}
