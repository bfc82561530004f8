//! The story of a delivery: what happened to it, and when.

use agent_box_event::DeliveryState;

use super::{InboxError, Look, Tx};

/// One thing that happened to a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at_ms: u64,
    /// Into which state it brought an effect, by its word; words of newer versions are kept.
    pub word: String,
    /// The state's own detail, and what else is to be said.
    pub detail: Option<String>,
}

impl Look<'_> {
    /// What happened to a delivery after it was received, in order.
    pub fn steps(&self, sequence: u64) -> Result<Vec<Step>, InboxError> {
        let _ = sequence;
        Err(InboxError::Closed)
    }
}

impl Tx<'_> {
    /// Records what the match pass found ([`DeliveryState::Matched`], or
    /// [`DeliveryState::Declined`] and why), or an effect that has no queue of its own
    /// ([`DeliveryState::Delivered`] to a peer of the older kind). From then on the delivery is
    /// not unmatched any more.
    ///
    /// `Matched` alone does not settle; the effects do ([`Tx::wait`], [`Tx::enqueue`]), and a
    /// delivery that was matched without one is refused when the job ends.
    pub fn step(
        &mut self,
        sequence: u64,
        state: &DeliveryState,
        note: Option<&str>,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let _ = (sequence, state, note, at_ms);
        Err(InboxError::Closed)
    }
}
