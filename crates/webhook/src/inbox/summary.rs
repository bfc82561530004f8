//! What is shown of a delivery that has several effects: the most telling one. It is settled when
//! all are.

use agent_box_event::{DeliveryState, WaitReason};
use rusqlite::params;

use super::look::{known, signed};
use super::{Counter, InboxError, Look, Tx};

/// How telling a state is.
pub(super) fn rank(state: &DeliveryState) -> u8 {
    match state {
        DeliveryState::Failed(_) => 8,
        // What still can start a session tells more than what a session will read.
        DeliveryState::Waiting(WaitReason::Session) => 5,
        DeliveryState::Waiting(_) => 7,
        DeliveryState::Matched => 6,
        DeliveryState::Spawned(_) => 4,
        DeliveryState::Delivered(_) => 3,
        DeliveryState::Declined(_) => 2,
        DeliveryState::Duplicate => 1,
        DeliveryState::Received => 0,
    }
}

impl Look {
    /// What the match pass found, apart from the effects; `None` if there was none yet.
    pub(super) fn found(&self, sequence: u64) -> Result<Option<DeliveryState>, InboxError> {
        let sql = "SELECT found, found_detail FROM deliveries WHERE sequence = ?1";
        let found = self.one(sql, [signed(sequence)], |row| {
            let (word, detail): (Option<String>, Option<String>) = (row.get(0)?, row.get(1)?);
            let read = |word: String| known(&word, DeliveryState::read(&word, detail.as_deref()));
            word.map(read).transpose()
        })?;
        found.ok_or_else(|| InboxError::Unknown(format!("delivery #{sequence}")))
    }

    /// The state of each effect.
    fn effects(&self, sequence: u64) -> Result<Vec<DeliveryState>, InboxError> {
        let member = self.one(
            "SELECT state, reason, outcome FROM members WHERE sequence = ?1",
            [signed(sequence)],
            |row| {
                let (state, reason): (String, Option<String>) = (row.get(0)?, row.get(1)?);
                let outcome: Option<String> = row.get(2)?;
                let waiting = || DeliveryState::read("waiting", reason.as_deref());
                known(
                    &state,
                    match state.as_str() {
                        "waiting" => waiting(),
                        // On its way to the wrapper, unless that failed and is timed.
                        "frozen" => Some(waiting().unwrap_or(DeliveryState::Matched)),
                        "spawned" => outcome.map(DeliveryState::Spawned),
                        "failed" => outcome.map(DeliveryState::Failed),
                        "withdrawn" => outcome.map(DeliveryState::Declined),
                        _ => None,
                    },
                )
            },
        )?;
        let messages = self.all(
            "SELECT state, key, session_id FROM messages WHERE sequence = ?1",
            [signed(sequence)],
            |row| {
                let (state, key): (String, String) = (row.get(0)?, row.get(1)?);
                let session: Option<String> = row.get(2)?;
                known(
                    &state,
                    match state.as_str() {
                        "waiting" => Some(DeliveryState::Waiting(WaitReason::Session)),
                        "acknowledged" => Some(DeliveryState::Delivered(session.unwrap_or(key))),
                        "left out" => {
                            Some(DeliveryState::Failed(format!("the queue of {key} was full")))
                        }
                        "gone" => Some(DeliveryState::Declined("session is gone".to_owned())),
                        _ => None,
                    },
                )
            },
        )?;
        Ok(member.into_iter().chain(messages).collect())
    }
}

impl Tx<'_> {
    /// Brings up to date what is shown of the deliveries that the job has touched.
    pub(super) fn finish(&mut self) -> Result<(), InboxError> {
        for (sequence, at_ms) in std::mem::take(&mut self.touched) {
            self.summarise(sequence, at_ms)?;
        }
        Ok(())
    }

    fn summarise(&mut self, sequence: u64, at_ms: u64) -> Result<(), InboxError> {
        let mut effects = self.effects(sequence)?;
        match self.found(sequence)? {
            Some(DeliveryState::Matched) if effects.is_empty() => {
                let why = format!("delivery #{sequence} was matched, and then nothing was done");
                return Err(InboxError::Refused(why));
            }
            // Only says that there are effects.
            Some(DeliveryState::Matched) | None => {}
            Some(found) => effects.push(found),
        }
        let is_settled = effects.iter().all(DeliveryState::is_settled);
        let Some(state) = effects.into_iter().max_by_key(rank) else { return Ok(()) };
        let settled_ms = is_settled.then_some(signed(at_ms));
        let was_settled = self.existing(sequence)?.settled_ms.is_some();
        self.change(
            "UPDATE deliveries SET state = ?2, detail = ?3, settled_ms = COALESCE(settled_ms, ?4)
             WHERE sequence = ?1",
            params![signed(sequence), state.as_str(), state.detail(), settled_ms],
        )?;
        if is_settled && !was_settled && matches!(state, DeliveryState::Declined(_)) {
            self.count(Counter::Declined, 1)?;
        }
        Ok(())
    }
}

/// The word that is stored for a reason.
pub(super) fn reason_of(word: Option<&str>) -> Option<WaitReason> {
    match DeliveryState::read("waiting", word)? {
        DeliveryState::Waiting(reason) => Some(reason),
        _ => None,
    }
}
