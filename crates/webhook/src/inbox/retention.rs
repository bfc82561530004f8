//! What is kept and for how long, and asking for a delivery again.

use super::{InboxError, Tx};

/// How long things are kept. What is not settled is kept whatever this says, and a delivery is
/// remembered for [`agent_box_event::REMEMBER_MS`] at least, so that its duplicates are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// For so long after a delivery was settled.
    pub keep_ms: u64,
    /// Bodies of settled deliveries beyond so many bytes are removed first, the oldest first.
    pub body_bytes: u64,
    /// At most so many rows are removed at a time, so that nobody waits long.
    pub at_once: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { keep_ms: 30 * 24 * 3_600_000, body_bytes: 256 << 20, at_once: 1000 }
    }
}

/// What retention removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Deliveries, with all that belongs to them.
    pub deliveries: u64,
    /// Bodies of others.
    pub bodies: u64,
    /// Whether more can be removed at once.
    pub is_more: bool,
}

impl Tx<'_> {
    /// Removes what need not be kept any longer.
    pub fn retain(&mut self, now_ms: u64, retention: &Retention) -> Result<Removed, InboxError> {
        let _ = (now_ms, retention);
        Err(InboxError::Closed)
    }

    /// Takes a delivery in again as a new one, at an operator's wish; the first stays as it is.
    ///
    /// # Errors
    /// When it is unknown, when it is not settled yet, and when its body is gone.
    pub fn replay(&mut self, sequence: u64, at_ms: u64) -> Result<u64, InboxError> {
        let _ = (sequence, at_ms);
        Err(InboxError::Closed)
    }
}
