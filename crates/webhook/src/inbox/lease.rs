//! Leases: which session has a claim on what it was spawned for.

use agent_box_event::Lease;

use super::{InboxError, Look, Tx};

impl Look<'_> {
    /// Every lease that was granted and not ended; those that ran out may be among them.
    pub fn leases(&self) -> Result<Vec<Lease>, InboxError> {
        Err(InboxError::Closed)
    }
}

impl Tx<'_> {
    /// The session gave a sign of life; `false` if it has no lease.
    pub fn renew_lease(&mut self, session_id: &str, at_ms: u64) -> Result<bool, InboxError> {
        let _ = (session_id, at_ms);
        Err(InboxError::Closed)
    }

    /// The session is gone; `false` if it had no lease.
    pub fn end_lease(&mut self, session_id: &str) -> Result<bool, InboxError> {
        let _ = session_id;
        Err(InboxError::Closed)
    }
}
