//! Deliveries that standing watches want, waiting in one lane per topic.

use std::collections::BTreeSet;

use agent_box_event::{
    DeliveryState, Lane, Member, Source, Start, Topic, TopicPattern, WaitReason,
};
use rusqlite::params;

use super::look::{number, number_or_none, parsed, signed};
use super::summary::reason_of;
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

impl Look {
    /// Every lane in which something waits.
    pub fn lanes(&self) -> Result<Vec<Lane>, InboxError> {
        let waiting = self.all(
            "SELECT m.topic, m.sequence, d.received_ms, d.sender
             FROM members m JOIN deliveries d ON d.sequence = m.sequence
             WHERE m.state = 'waiting' ORDER BY m.topic, m.sequence",
            [],
            |row| {
                let topic: String = row.get(0)?;
                let (sequence, received_ms) = (number(row, 1)?, number(row, 2)?);
                Ok((topic, Member { sequence, received_ms, sender: row.get(3)? }))
            },
        )?;
        let running = "SELECT topic FROM batches WHERE state = 'frozen'";
        let running = self.all(running, [], |row| Ok(row.get::<_, String>(0)?))?;
        let running: BTreeSet<String> = running.into_iter().collect();
        let mut lanes: Vec<Lane> = Vec::new();
        let mut last = None;
        for (text, member) in waiting {
            if last.as_ref() != Some(&text) {
                lanes.push(self.empty_lane(&text, running.contains(&text))?);
                last = Some(text);
            }
            if let Some(lane) = lanes.last_mut() {
                lane.waiting.push(member);
            }
        }
        Ok(lanes)
    }

    fn empty_lane(&self, text: &str, is_running: bool) -> Result<Lane, InboxError> {
        let times = self.one(
            "SELECT started_ms, not_before_ms FROM lanes WHERE topic = ?1",
            [text],
            |row| Ok((number_or_none(row, 0)?, number(row, 1)?)),
        )?;
        let (started_ms, not_before_ms) = times.unwrap_or_default();
        let topic = parsed(Topic::parse(text))?;
        Ok(Lane { topic, waiting: Vec::new(), started_ms, is_running, not_before_ms })
    }

    /// The batches that were started since then, for budgets: frozen and not deferred or parked.
    pub fn starts(&self, since_ms: u64) -> Result<Vec<Start>, InboxError> {
        let started = self.all(
            "SELECT number, topic, COALESCE(attempted_ms, frozen_ms) FROM batches
             WHERE COALESCE(attempted_ms, frozen_ms) >= ?1 AND state IN ('frozen', 'settled')
             ORDER BY number",
            [signed(since_ms)],
            |row| Ok((number(row, 0)?, row.get::<_, String>(1)?, number(row, 2)?)),
        )?;
        let start = |(batch, topic, at_ms): (u64, String, u64)| {
            let source: Source = parsed(Topic::parse(&topic))?.source().clone();
            let senders = self.all(
                "SELECT DISTINCT d.sender FROM members m JOIN deliveries d USING (sequence)
                 WHERE m.batch = ?1 AND d.sender IS NOT NULL ORDER BY d.sender",
                [signed(batch)],
                |row| Ok(row.get(0)?),
            )?;
            Ok(Start { at_ms, source, senders })
        };
        started.into_iter().map(start).collect()
    }

    /// A delivery's place in a lane or a batch.
    pub fn member(&self, sequence: u64) -> Result<Option<Membership>, InboxError> {
        self.one(
            "SELECT topic, watch, note, reason, batch FROM members WHERE sequence = ?1",
            [signed(sequence)],
            |row| {
                let topic: String = row.get(0)?;
                let reason: Option<String> = row.get(3)?;
                Ok(Membership {
                    topic: parsed(Topic::parse(&topic))?,
                    watch: row.get(1)?,
                    note: row.get(2)?,
                    reason: reason_of(reason.as_deref()),
                    batch: number_or_none(row, 4)?,
                })
            },
        )
    }
}

impl Tx<'_> {
    /// A standing watch wants the delivery: it waits in its topic's lane. At most once for each.
    ///
    /// # Errors
    /// When an earlier job has matched the delivery, or a watch has it already.
    pub fn wait(
        &mut self,
        sequence: u64,
        topic: &Topic,
        watch: &TopicPattern,
        note: Option<&str>,
        reason: WaitReason,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.begin_match(sequence, at_ms)?;
        if self.member(sequence)?.is_some() {
            let why = format!("delivery #{sequence} waits for a watch already");
            return Err(InboxError::Refused(why));
        }
        self.change(
            "INSERT INTO members (sequence, topic, watch, note, state, reason)
             VALUES (?1, ?2, ?3, ?4, 'waiting', ?5)",
            params![signed(sequence), topic.to_string(), watch.to_string(), note, reason.as_str()],
        )?;
        self.append(sequence, "waiting", Some(&format!("{}; {watch}", reason.as_str())), at_ms)
    }

    /// Why a waiting delivery waits now; a step only if that is news.
    ///
    /// # Errors
    /// When it does not wait.
    pub fn reason(
        &mut self,
        sequence: u64,
        reason: WaitReason,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        if self.waiting(sequence)?.reason == Some(reason) {
            return Ok(());
        }
        self.change(
            "UPDATE members SET reason = ?2 WHERE sequence = ?1",
            params![signed(sequence), reason.as_str()],
        )?;
        self.touched.insert(sequence, at_ms);
        self.append(sequence, "waiting", Some(reason.as_str()), at_ms)
    }

    /// A waiting delivery is not wanted any more (its object was claimed, its watch is gone): it
    /// leaves the lane.
    ///
    /// # Errors
    /// When it does not wait.
    pub fn withdraw(&mut self, sequence: u64, why: &str, at_ms: u64) -> Result<(), InboxError> {
        self.waiting(sequence)?;
        self.change(
            "UPDATE members SET state = 'withdrawn', reason = NULL, outcome = ?2
             WHERE sequence = ?1",
            params![signed(sequence), why],
        )?;
        self.touched.insert(sequence, at_ms);
        let state = DeliveryState::Declined(why.to_owned());
        self.append(sequence, state.as_str(), state.detail(), at_ms)
    }

    /// A member that must be waiting in its lane.
    pub(super) fn waiting(&self, sequence: u64) -> Result<Membership, InboxError> {
        let refused = |what: String| {
            InboxError::Refused(format!("delivery #{sequence} does not wait: {what}"))
        };
        let state =
            self.one("SELECT state FROM members WHERE sequence = ?1", [signed(sequence)], |row| {
                Ok(row.get::<_, String>(0)?)
            })?;
        match (state.as_deref(), self.member(sequence)?) {
            (Some("waiting"), Some(member)) => Ok(member),
            (Some(state), _) => Err(refused(format!("it is {state}"))),
            (None, _) => Err(refused(format!("it is {}", self.existing(sequence)?.state))),
        }
    }

    /// The lane's batch was started, or is not to be before a time.
    pub(super) fn set_lane(
        &mut self,
        topic: &str,
        started_ms: Option<u64>,
        not_before_ms: u64,
    ) -> Result<(), InboxError> {
        self.change(
            "INSERT INTO lanes (topic, started_ms, not_before_ms) VALUES (?1, ?2, ?3)
             ON CONFLICT (topic) DO UPDATE SET
                started_ms = COALESCE(excluded.started_ms, started_ms),
                not_before_ms = excluded.not_before_ms",
            params![topic, started_ms.map(signed), signed(not_before_ms)],
        )?;
        Ok(())
    }
}
