//! The story of a delivery: what happened to it, and when.

use agent_box_event::DeliveryState;
use rusqlite::params;

use super::look::{number, signed};
use super::summary::rank;
use super::{InboxError, Look, Tx};

/// So many first and last steps of a delivery are kept; a batch that is deferred for days must
/// not fill the disk with saying so.
const FIRST: i64 = 10;
const LAST: i64 = 90;

/// One thing that happened to a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at_ms: u64,
    /// What: the word of a state that an effect came into, or what was done (`frozen`,
    /// `attempted`, `deferred`, `queued`, `left out`, `replayed`).
    pub word: String,
    /// What else is to be said of it.
    pub detail: Option<String>,
}

impl Look {
    /// What happened to a delivery after it was received, in order.
    pub fn steps(&self, sequence: u64) -> Result<Vec<Step>, InboxError> {
        let sql = "SELECT at_ms, word, detail FROM steps WHERE sequence = ?1 ORDER BY number";
        self.all(sql, [signed(sequence)], |row| {
            Ok(Step { at_ms: number(row, 0)?, word: row.get(1)?, detail: row.get(2)? })
        })
    }
}

impl Tx<'_> {
    /// Records what the match pass found: [`DeliveryState::Matched`], [`DeliveryState::Declined`]
    /// and why, [`DeliveryState::Failed`], or [`DeliveryState::Delivered`] for an effect that has
    /// no queue. From then on the delivery is not unmatched any more.
    ///
    /// `Matched` alone does not settle; the effects do ([`Tx::wait`], [`Tx::enqueue`], which also
    /// mark the delivery as matched). All of it happens in one job: a delivery that was matched
    /// without an effect is refused when the job ends, and one that an earlier job has matched
    /// is refused here.
    ///
    /// # Errors
    /// See above; and when the delivery is unknown.
    pub fn step(
        &mut self,
        sequence: u64,
        state: &DeliveryState,
        note: Option<&str>,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        use DeliveryState::{Declined, Delivered, Failed, Matched};

        if !matches!(state, Matched | Declined(_) | Delivered(_) | Failed(_)) {
            return Err(InboxError::Refused(format!("no match pass finds `{state}`")));
        }
        let before = self.begin_match(sequence, at_ms)?;
        if rank(state) > rank(&before) {
            self.change(
                "UPDATE deliveries SET found = ?2, found_detail = ?3 WHERE sequence = ?1",
                params![signed(sequence), state.as_str(), state.detail()],
            )?;
        }
        let detail: Vec<&str> = state.detail().into_iter().chain(note).collect();
        self.append(sequence, state.as_str(), Some(&detail.join("; ")), at_ms)
    }

    /// Marks a delivery as looked at, by this job and no earlier one; answers with what the job
    /// has found so far.
    pub(super) fn begin_match(
        &mut self,
        sequence: u64,
        at_ms: u64,
    ) -> Result<DeliveryState, InboxError> {
        let found = self.found(sequence)?;
        if found.is_none() {
            self.change(
                "UPDATE deliveries SET found = 'matched' WHERE sequence = ?1",
                [signed(sequence)],
            )?;
            self.matched.insert(sequence);
        } else if !self.matched.contains(&sequence) {
            return Err(InboxError::Refused(format!("delivery #{sequence} was matched before")));
        }
        self.touched.insert(sequence, at_ms);
        Ok(found.unwrap_or(DeliveryState::Received))
    }

    /// Adds to the story of a delivery.
    pub(super) fn append(
        &mut self,
        sequence: u64,
        word: &str,
        detail: Option<&str>,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let detail = detail.filter(|it| !it.is_empty());
        let last = self.number(
            "SELECT COALESCE(MAX(number), 0) FROM steps WHERE sequence = ?1",
            [signed(sequence)],
        )?;
        let number = signed(last + 1);
        self.change(
            "INSERT INTO steps (sequence, number, at_ms, word, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![signed(sequence), number, signed(at_ms), word, detail],
        )?;
        if number > FIRST + LAST {
            self.change(
                "DELETE FROM steps WHERE sequence = ?1 AND number = ?2",
                params![signed(sequence), number - LAST],
            )?;
        }
        Ok(())
    }
}
