//! What is kept and for how long, and asking for a delivery again.

use agent_box_event::{LEASE_MS, REMEMBER_MS, may_forget};
use rusqlite::params;

use super::delivery::{COLUMNS, read};
use super::look::{number, signed};
use super::{Counter, InboxError, Incoming, Relation, Tx};

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
        let deliveries = self.forget_old(now_ms, retention)?;
        let bodies = self.drop_bodies(retention)?;
        self.forget_the_rest(now_ms, retention)?;
        let is_more = deliveries.max(bodies) >= retention.at_once;
        Ok(Removed { deliveries, bodies, is_more })
    }

    fn forget_old(&mut self, now_ms: u64, retention: &Retention) -> Result<u64, InboxError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE settled_ms IS NOT NULL
             ORDER BY settled_ms LIMIT ?1"
        );
        let mut removed = 0;
        for delivery in self.all(&sql, [signed(retention.at_once)], read)? {
            let settled_ms = delivery.settled_ms.unwrap_or(u64::MAX);
            if !may_forget(&delivery.state, settled_ms, retention.keep_ms, now_ms) {
                break;
            }
            // What belongs to it goes with it, by the tables' references.
            let gone = "DELETE FROM deliveries WHERE sequence = ?1";
            self.change(gone, [signed(delivery.sequence)])?;
            removed += 1;
        }
        Ok(removed)
    }

    fn drop_bodies(&mut self, retention: &Retention) -> Result<u64, InboxError> {
        let settled = "SELECT body_bytes - unsettled_bytes FROM inbox";
        let mut kept = self.number(settled, [])?;
        if kept <= retention.body_bytes {
            return Ok(0);
        }
        let oldest = self.all(
            "SELECT b.sequence, b.size FROM bodies b JOIN deliveries d ON d.sequence = b.sequence
             WHERE d.settled_ms IS NOT NULL ORDER BY b.sequence LIMIT ?1",
            [signed(retention.at_once)],
            |row| Ok((number(row, 0)?, number(row, 1)?)),
        )?;
        let mut removed = 0;
        for (sequence, size) in oldest {
            if kept <= retention.body_bytes {
                break;
            }
            self.change("DELETE FROM bodies WHERE sequence = ?1", [signed(sequence)])?;
            kept = kept.saturating_sub(size);
            removed += 1;
        }
        Ok(removed)
    }

    /// Batches that nobody is a member of any more, lanes at rest, leases that ran out; and the
    /// room in the file is given back.
    fn forget_the_rest(&mut self, now_ms: u64, retention: &Retention) -> Result<(), InboxError> {
        let before = signed(now_ms.saturating_sub(retention.keep_ms.max(REMEMBER_MS)));
        let at_once = signed(retention.at_once);
        self.change(
            "DELETE FROM batches WHERE number IN (
                SELECT number FROM batches b WHERE state <> 'frozen' AND ended_ms < ?1
                    AND NOT EXISTS (SELECT 1 FROM members m WHERE m.batch = b.number)
                LIMIT ?2)",
            params![before, at_once],
        )?;
        self.change(
            "DELETE FROM lanes WHERE COALESCE(started_ms, 0) < ?1 AND not_before_ms < ?1
                AND NOT EXISTS (
                    SELECT 1 FROM members m WHERE m.topic = lanes.topic AND m.state = 'waiting')
                AND NOT EXISTS (
                    SELECT 1 FROM batches b WHERE b.topic = lanes.topic AND b.state = 'frozen')",
            [before],
        )?;
        self.change(
            "DELETE FROM leases WHERE renewed_ms < ?1",
            [signed(now_ms.saturating_sub(LEASE_MS))],
        )?;
        let mut give_back = self.db().prepare_cached("PRAGMA incremental_vacuum(1000)")?;
        let mut pages = give_back.query([])?;
        while pages.next()?.is_some() {}
        Ok(())
    }

    /// Takes a delivery in again as a new one, at an operator's wish; the first stays as it is.
    ///
    /// # Errors
    /// When it is unknown, when it is not settled yet, and when its body is gone.
    pub fn replay(&mut self, sequence: u64, at_ms: u64) -> Result<u64, InboxError> {
        let first = self.existing(sequence)?;
        if first.settled_ms.is_none() {
            let why = format!("delivery #{sequence} is still on its way: {}", first.state);
            return Err(InboxError::Refused(why));
        }
        let gone = || {
            let why = format!("the body of delivery #{sequence} is not kept any more");
            InboxError::Refused(format!("{why}; ask the sender to send it again"))
        };
        let again = Incoming {
            source: first.source,
            format: first.format,
            kind: first.kind,
            key: first.key,
            sender: first.sender,
            id: first.id,
            is_id_ours: first.is_id_ours,
            digest: first.digest,
            body: self.body(sequence)?.ok_or_else(gone)?,
            received_ms: at_ms,
        };
        let new = self.take_in(&again, Relation::Replay(sequence))?;
        self.append(sequence, "replayed", Some(&format!("as #{new}")), at_ms)?;
        self.count(Counter::Replayed, 1)?;
        Ok(new)
    }
}
