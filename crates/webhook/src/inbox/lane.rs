//! Deliveries that standing watches want, waiting in one lane per topic.

use agent_box_event::{Lane, Start, Topic, TopicPattern, WaitReason};

use super::{InboxError, Look, Tx};

/// A delivery's place in a lane or a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The lane.
    pub topic: Topic,
    /// The watch that wanted it, as it is written.
    pub watch: String,
    /// The watch's note.
    pub note: Option<String>,
    /// Why it waits, if it does.
    pub reason: Option<WaitReason>,
    /// The number of its batch, if it is in one.
    pub batch: Option<u64>,
}

impl Look<'_> {
    /// Every lane in which something waits.
    pub fn lanes(&self) -> Result<Vec<Lane>, InboxError> {
        Err(InboxError::Closed)
    }

    /// The batches that were started since then, for budgets: frozen and not deferred or parked.
    pub fn starts(&self, since_ms: u64) -> Result<Vec<Start>, InboxError> {
        let _ = since_ms;
        Err(InboxError::Closed)
    }

    /// A delivery's place in a lane or a batch.
    pub fn member(&self, sequence: u64) -> Result<Option<Membership>, InboxError> {
        let _ = sequence;
        Err(InboxError::Closed)
    }
}

impl Tx<'_> {
    /// A standing watch wants the delivery: it waits in its topic's lane. At most once for each.
    pub fn wait(
        &mut self,
        sequence: u64,
        topic: &Topic,
        watch: &TopicPattern,
        note: Option<&str>,
        reason: WaitReason,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let _ = (sequence, topic, watch, note, reason, at_ms);
        Err(InboxError::Closed)
    }

    /// Why a waiting delivery waits now; a step only if that is news.
    pub fn reason(
        &mut self,
        sequence: u64,
        reason: WaitReason,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let _ = (sequence, reason, at_ms);
        Err(InboxError::Closed)
    }

    /// A waiting delivery is not wanted any more (its object was claimed, its watch is gone): it
    /// leaves the lane.
    pub fn withdraw(&mut self, sequence: u64, why: &str, at_ms: u64) -> Result<(), InboxError> {
        let _ = (sequence, why, at_ms);
        Err(InboxError::Closed)
    }
}
