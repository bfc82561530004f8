//! What waits for running sessions: one bounded queue for each.
//!
//! A message is told at least once: it leaves the queue when it is acknowledged, and one that was
//! told before without that is marked as repeated. A full queue keeps the oldest; what comes then
//! is recorded as left out, and the next reader is told how many.

use agent_box_event::DeliveryState;
use rusqlite::{Row, params};
use serde_json::Value;

use super::look::{known, number, number_or_none, parsed, signed};
use super::{Counter, InboxError, Look, Tx};

/// Whose queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef {
    /// The name of its filter file.
    pub key: String,
    /// The session's id. With one, the id alone tells whose the queue is, so that a successor of
    /// the same name gets nothing; without, the key does.
    pub session_id: Option<String>,
}

impl SessionRef {
    /// Whose queue it is, as it is stored.
    fn owner(&self) -> String {
        match &self.session_id {
            Some(id) => format!("session {id}"),
            None => format!("key {}", self.key),
        }
    }
}

/// How much may wait for one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Messages.
    pub messages: u64,
    /// Bytes of their texts.
    pub bytes: u64,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { messages: 100, bytes: 256 * 1024 }
    }
}

/// Whether a message was taken into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits, under this number.
    Queued(u64),
    /// The queue is full; it was recorded as left out.
    LeftOut,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its number; they go up in the order in which messages are told.
    pub number: u64,
    /// The delivery it is of.
    pub sequence: u64,
    /// That delivery as `SOURCE/ID`.
    pub delivery: String,
    /// What the agent reads.
    pub text: String,
    /// What else goes with it.
    pub meta: Value,
    /// Whether it was told before.
    pub is_repeated: bool,
    /// Whether it was told, or offered and perhaps taken.
    pub is_offered: bool,
    /// When it was put here.
    pub enqueued_ms: u64,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Nobody has acknowledged it.
    Waiting,
    /// The session has it.
    Acknowledged,
    /// The queue was full.
    LeftOut,
    /// The session is gone.
    Gone,
}

impl MessageState {
    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Acknowledged => "acknowledged",
            Self::LeftOut => "left out",
            Self::Gone => "gone",
        }
    }

    fn read(word: &str) -> Option<Self> {
        let all = [Self::Waiting, Self::Acknowledged, Self::LeftOut, Self::Gone];
        all.into_iter().find(|it| it.as_str() == word)
    }
}

/// A message of a delivery, for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// For whom.
    pub session: SessionRef,
    /// What became of it.
    pub state: MessageState,
    /// How often it was told.
    pub times: u32,
    /// When it was put into the queue.
    pub enqueued_ms: u64,
    /// When it was last told or offered.
    pub told_ms: Option<u64>,
}

/// A queue in which something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingSession {
    /// Whose.
    pub session: SessionRef,
    /// Messages.
    pub waiting: u64,
    /// Left out and not told yet.
    pub left_out: u64,
    /// When the oldest was put there.
    pub oldest_ms: Option<u64>,
}

impl Look {
    /// What waits for a session after the message `after`, in order.
    pub fn pending(
        &self,
        session: &SessionRef,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Message>, InboxError> {
        self.all(
            "SELECT m.number, m.sequence, d.source || '/' || d.id, m.text, m.meta, m.times,
                m.enqueued_ms, m.told_ms IS NOT NULL
             FROM messages m JOIN deliveries d ON d.sequence = m.sequence
             WHERE m.owner = ?1 AND m.state = 'waiting' AND m.number > ?2
             ORDER BY m.number LIMIT ?3",
            params![session.owner(), signed(after.unwrap_or_default()), signed(limit as u64)],
            read_message,
        )
    }

    /// How many messages wait for a session, and how many were left out and not told of yet.
    pub fn queue(&self, session: &SessionRef) -> Result<(u64, u64), InboxError> {
        let waiting = "SELECT COUNT(*) FROM messages WHERE owner = ?1 AND state = 'waiting'";
        let left_out = "SELECT COUNT(*) FROM messages
             WHERE owner = ?1 AND state = 'left out' AND times = 0";
        let owner = session.owner();
        Ok((self.number(waiting, [&owner])?, self.number(left_out, [&owner])?))
    }

    /// Every queue in which something waits or was left out.
    pub fn waiting_sessions(&self) -> Result<Vec<WaitingSession>, InboxError> {
        self.all(
            "SELECT key, session_id, SUM(state = 'waiting'), SUM(state = 'left out'),
                MIN(CASE WHEN state = 'waiting' THEN enqueued_ms END)
             FROM (
                SELECT * FROM messages WHERE state = 'waiting'
                UNION ALL SELECT * FROM messages WHERE state = 'left out' AND times = 0)
             GROUP BY owner ORDER BY owner",
            [],
            |row| {
                Ok(WaitingSession {
                    session: SessionRef { key: row.get(0)?, session_id: row.get(1)? },
                    waiting: number(row, 2)?,
                    left_out: number(row, 3)?,
                    oldest_ms: number_or_none(row, 4)?,
                })
            },
        )
    }

    /// The messages of a delivery.
    pub fn messages_of(&self, sequence: u64) -> Result<Vec<Told>, InboxError> {
        self.all(
            "SELECT key, session_id, state, times, enqueued_ms, told_ms FROM messages
             WHERE sequence = ?1 ORDER BY number",
            [signed(sequence)],
            |row| {
                let state: String = row.get(2)?;
                Ok(Told {
                    session: SessionRef { key: row.get(0)?, session_id: row.get(1)? },
                    state: known(&state, MessageState::read(&state))?,
                    times: row.get(3)?,
                    enqueued_ms: number(row, 4)?,
                    told_ms: number_or_none(row, 5)?,
                })
            },
        )
    }
}

fn read_message(row: &Row<'_>) -> Result<Message, InboxError> {
    let meta: String = row.get(4)?;
    Ok(Message {
        number: number(row, 0)?,
        sequence: number(row, 1)?,
        delivery: row.get(2)?,
        text: row.get(3)?,
        meta: parsed(serde_json::from_str(&meta))?,
        is_repeated: number(row, 5)? > 0,
        enqueued_ms: number(row, 6)?,
        is_offered: row.get(7)?,
    })
}

/// A message that leaves its queue.
struct Leaving {
    number: u64,
    sequence: u64,
    session: String,
}

impl Tx<'_> {
    /// Puts a message of a delivery into a session's queue; at most one of each delivery.
    ///
    /// # Errors
    /// When an earlier job has matched the delivery, or the session has its message already.
    pub fn enqueue(
        &mut self,
        sequence: u64,
        session: &SessionRef,
        text: &str,
        meta: &Value,
        limits: QueueLimits,
        at_ms: u64,
    ) -> Result<Enqueued, InboxError> {
        self.begin_match(sequence, at_ms)?;
        let owner = session.owner();
        let known = "SELECT COUNT(*) FROM messages WHERE sequence = ?1 AND owner = ?2";
        if self.number(known, params![signed(sequence), owner])? > 0 {
            let why = format!("{} has a message of delivery #{sequence} already", session.key);
            return Err(InboxError::Refused(why));
        }
        let size = text.len() as u64;
        let used = "SELECT COALESCE(SUM(size), 0) FROM messages
             WHERE owner = ?1 AND state = 'waiting'";
        let used = self.number(used, [&owner])?;
        let (waiting, _) = self.queue(session)?;
        // A single message that is larger than the queue must not wait for ever to fit.
        let is_full =
            waiting >= limits.messages || (waiting > 0 && used.saturating_add(size) > limits.bytes);
        let (state, text, meta, word) = if is_full {
            (MessageState::LeftOut, "", String::new(), "left out")
        } else {
            (MessageState::Waiting, text, meta.to_string(), "queued")
        };
        let number = self.insert(
            "INSERT INTO messages (sequence, owner, key, session_id, text, meta, size, state,
                enqueued_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                signed(sequence),
                owner,
                session.key,
                session.session_id,
                text,
                meta,
                signed(size),
                state.as_str(),
                signed(at_ms),
            ],
        )?;
        self.append(sequence, word, Some(&format!("for {}", session.key)), at_ms)?;
        if is_full {
            self.count(Counter::LeftOut, 1)?;
            return Ok(Enqueued::LeftOut);
        }
        Ok(Enqueued::Queued(number))
    }

    /// Messages are about to be written to their session: whoever reads them again sees them
    /// marked as repeated. Numbers that do not wait are passed over.
    pub fn told(&mut self, numbers: &[u64], at_ms: u64) -> Result<(), InboxError> {
        for number in numbers {
            self.change(
                "UPDATE messages SET times = times + 1, told_ms = ?2
                 WHERE number = ?1 AND state = 'waiting'",
                params![signed(*number), signed(at_ms)],
            )?;
        }
        Ok(())
    }

    /// Messages are about to be offered to their session's agent in its own way, which may take
    /// them or only hear that something waits.
    pub fn offer(&mut self, numbers: &[u64], at_ms: u64) -> Result<(), InboxError> {
        for number in numbers {
            self.change(
                "UPDATE messages SET told_ms = ?2 WHERE number = ?1 AND state = 'waiting'",
                params![signed(*number), signed(at_ms)],
            )?;
        }
        Ok(())
    }

    /// The agent certainly took none of these: takes [`Tx::offer`] back.
    pub fn not_taken(&mut self, numbers: &[u64]) -> Result<(), InboxError> {
        for number in numbers {
            self.change(
                "UPDATE messages SET told_ms = NULL WHERE number = ?1 AND times = 0",
                [signed(*number)],
            )?;
        }
        Ok(())
    }

    /// The session has these messages. Numbers that do not wait are passed over.
    pub fn acknowledge(&mut self, numbers: &[u64], at_ms: u64) -> Result<(), InboxError> {
        for number in numbers {
            let leaving = self.leaving("number = ?1", params![signed(*number)])?;
            self.leave(&leaving, MessageState::Acknowledged, at_ms)?;
        }
        Ok(())
    }

    /// The session has every message that it was told, up to this number; answers with how many.
    pub fn acknowledge_up_to(
        &mut self,
        session: &SessionRef,
        number: u64,
        at_ms: u64,
    ) -> Result<u64, InboxError> {
        let told = "owner = ?1 AND number <= ?2 AND times > 0";
        let leaving = self.leaving(told, params![session.owner(), signed(number)])?;
        self.leave(&leaving, MessageState::Acknowledged, at_ms)
    }

    /// The session was told how many messages were left out; answers with that number.
    pub fn tell_left_out(&mut self, session: &SessionRef) -> Result<u64, InboxError> {
        let told = self.change(
            "UPDATE messages SET times = 1 WHERE owner = ?1 AND state = 'left out' AND times = 0",
            [session.owner()],
        )?;
        Ok(told as u64)
    }

    /// The session is gone: what waits for it will never be told. Answers with how many.
    pub fn forget_session(&mut self, session_id: &str, at_ms: u64) -> Result<u64, InboxError> {
        let session = SessionRef { key: String::new(), session_id: Some(session_id.to_owned()) };
        self.forget(&session, at_ms)
    }

    /// As [`Tx::forget_session`], for a queue without a session id.
    pub fn forget_key(&mut self, key: &str, at_ms: u64) -> Result<u64, InboxError> {
        self.forget(&SessionRef { key: key.to_owned(), session_id: None }, at_ms)
    }

    fn forget(&mut self, session: &SessionRef, at_ms: u64) -> Result<u64, InboxError> {
        self.tell_left_out(session)?;
        let leaving = self.leaving("owner = ?1", [session.owner()])?;
        self.leave(&leaving, MessageState::Gone, at_ms)
    }

    fn leaving(
        &self,
        which: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<Leaving>, InboxError> {
        let sql = format!(
            "SELECT number, sequence, COALESCE(session_id, key) FROM messages
             WHERE state = 'waiting' AND {which} ORDER BY number"
        );
        self.all(&sql, params, |row| {
            Ok(Leaving { number: number(row, 0)?, sequence: number(row, 1)?, session: row.get(2)? })
        })
    }

    /// A message that has left its queue keeps its row for the story, without its text.
    fn leave(
        &mut self,
        leaving: &[Leaving],
        state: MessageState,
        at_ms: u64,
    ) -> Result<u64, InboxError> {
        for message in leaving {
            self.change(
                "UPDATE messages SET state = ?2, text = '', meta = '' WHERE number = ?1",
                params![signed(message.number), state.as_str()],
            )?;
            self.touched.insert(message.sequence, at_ms);
            let told = match state {
                MessageState::Acknowledged => DeliveryState::Delivered(message.session.clone()),
                _ => DeliveryState::Declined(format!("session {} is gone", message.session)),
            };
            self.append(message.sequence, told.as_str(), told.detail(), at_ms)?;
        }
        let count = leaving.len() as u64;
        if state == MessageState::Acknowledged {
            self.count(Counter::Delivered, count)?;
        }
        Ok(count)
    }
}
