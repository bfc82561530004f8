//! Batches: frozen before the wrapper runs, and then settled, deferred or parked, each once.
//!
//! ```text
//!            ┌── attempt, retry_at ──┐
//! freeze ──▶ frozen ◀────────────────┘──▶ settle: settled   members spawned, lease begins
//!                                    ├──▶ defer:  deferred  members wait in their lane again
//!                                    └──▶ park:   parked    members failed
//! ```

use agent_box_event::{BatchId, Object, Topic, contract::Answer};

use super::{InboxError, Look, Tx};

/// What to freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBatch {
    /// The lane that the members wait in.
    pub topic: Topic,
    /// Their places, in the order in which the agent reads them.
    pub members: Vec<u64>,
    /// The watch that wanted them, as it is written.
    pub watch: String,
    /// The watch's note.
    pub note: Option<String>,
    /// What the wrapper gets on its standard input.
    pub text: String,
    /// Whether an event of it assigns something to this box.
    pub is_assigned: bool,
    /// What the session will have a claim on.
    pub objects: Vec<Object>,
    /// When.
    pub at_ms: u64,
}

/// A batch whose wrapper run is not known to have ended with a settling answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenBatch {
    /// Which.
    pub id: BatchId,
    /// What it is about.
    pub topic: Topic,
    /// The members' places, as they were frozen.
    pub members: Vec<u64>,
    /// The watch, as it is written.
    pub watch: String,
    /// The watch's note.
    pub note: Option<String>,
    /// For the wrapper's standard input.
    pub text: String,
    /// Whether an event of it assigns something to this box.
    pub is_assigned: bool,
    /// What the session will have a claim on.
    pub objects: Vec<Object>,
    /// When it was frozen.
    pub frozen_ms: u64,
    /// How often the wrapper was started for it.
    pub attempts: u32,
    /// Not before this time again.
    pub not_before_ms: u64,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// On its way to the wrapper.
    Frozen,
    /// It has its session.
    Settled(Answer),
    /// The box was full; its members went back.
    Deferred,
    /// Given up, and why.
    Parked(String),
}

/// A batch for `explain`, whatever its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastBatch {
    /// Which.
    pub id: BatchId,
    /// What became of it.
    pub state: BatchState,
    /// When it was frozen.
    pub frozen_ms: u64,
    /// How often the wrapper was started for it.
    pub attempts: u32,
    /// When it was last started.
    pub attempted_ms: Option<u64>,
    /// Not before this time again, if it is frozen.
    pub not_before_ms: u64,
    /// When it was settled, deferred or parked.
    pub ended_ms: Option<u64>,
}

impl Look<'_> {
    /// The batches that are frozen, the lowest first.
    pub fn unsettled_batches(&self) -> Result<Vec<FrozenBatch>, InboxError> {
        Err(InboxError::Closed)
    }

    /// The lowest batch that is not ended, else the one that will be frozen next.
    pub fn lowest_unsettled(&self) -> Result<BatchId, InboxError> {
        Err(InboxError::Closed)
    }

    /// A batch, whatever became of it.
    pub fn batch(&self, number: u64) -> Result<Option<PastBatch>, InboxError> {
        let _ = number;
        Err(InboxError::Closed)
    }
}

impl Tx<'_> {
    /// Takes waiting members out of their lane into a batch that never changes again.
    pub fn freeze(&mut self, batch: &NewBatch) -> Result<BatchId, InboxError> {
        let _ = batch;
        Err(InboxError::Closed)
    }

    /// Counts a run of the wrapper, before it runs; answers with how many there are now.
    pub fn attempt(&mut self, batch: BatchId, at_ms: u64) -> Result<u32, InboxError> {
        let _ = (batch, at_ms);
        Err(InboxError::Closed)
    }

    /// The batch has its session: members are spawned, the session's lease begins.
    pub fn settle(
        &mut self,
        batch: BatchId,
        answer: &Answer,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let _ = (batch, answer, at_ms);
        Err(InboxError::Closed)
    }

    /// The box is full: members wait in their lane again, which does not start before
    /// `not_before_ms`; the batch is never run again.
    pub fn defer(
        &mut self,
        batch: BatchId,
        not_before_ms: u64,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let _ = (batch, not_before_ms, at_ms);
        Err(InboxError::Closed)
    }

    /// The attempt failed: the same batch again, not before `not_before_ms`.
    pub fn retry_at(
        &mut self,
        batch: BatchId,
        not_before_ms: u64,
        why: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let _ = (batch, not_before_ms, why, at_ms);
        Err(InboxError::Closed)
    }

    /// Given up: members are failed, and can be replayed.
    pub fn park(&mut self, batch: BatchId, why: &str, at_ms: u64) -> Result<(), InboxError> {
        let _ = (batch, why, at_ms);
        Err(InboxError::Closed)
    }
}
