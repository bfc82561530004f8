//! Leases: which session has a claim on what it was spawned for.

use agent_box_event::{Lease, Topic};
use rusqlite::params;

use super::batch::read_objects;
use super::look::{number, parsed, signed};
use super::{InboxError, Look, Tx};

impl Look {
    /// Every lease that was granted and not ended; those that ran out may be among them.
    pub fn leases(&self) -> Result<Vec<Lease>, InboxError> {
        let sql = "SELECT session_id, topic, objects, renewed_ms FROM leases ORDER BY session_id";
        self.all(sql, [], |row| {
            let (topic, objects): (String, String) = (row.get(1)?, row.get(2)?);
            Ok(Lease {
                session: row.get(0)?,
                topic: parsed(Topic::parse(&topic))?,
                objects: read_objects(&objects)?,
                renewed_ms: number(row, 3)?,
            })
        })
    }
}

impl Tx<'_> {
    /// The session gave a sign of life; `false` if it has no lease. Time never goes back.
    pub fn renew_lease(&mut self, session_id: &str, at_ms: u64) -> Result<bool, InboxError> {
        let renewed = self.change(
            "UPDATE leases SET renewed_ms = MAX(renewed_ms, ?2) WHERE session_id = ?1",
            params![session_id, signed(at_ms)],
        )?;
        Ok(renewed > 0)
    }

    /// The session is gone; `false` if it had no lease.
    pub fn end_lease(&mut self, session_id: &str) -> Result<bool, InboxError> {
        Ok(self.change("DELETE FROM leases WHERE session_id = ?1", [session_id])? > 0)
    }
}
