//! What waits for running sessions: one bounded queue for each.
//!
//! A message is told at least once: it leaves the queue when it is acknowledged, and one that was
//! told before without that is marked as repeated. A full queue keeps the oldest; what comes then
//! is recorded as left out, and the next reader is told how many.

use serde_json::Value;

use super::{InboxError, Look, Tx};

/// Whose queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef {
    /// The name of its filter file.
    pub key: String,
    /// The session's id. With one, the id alone tells whose the queue is, so that a successor of
    /// the same name gets nothing; without, the key does.
    pub session_id: Option<String>,
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
    /// When it was last told.
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

impl Look<'_> {
    /// What waits for a session after the message `after`, in order.
    pub fn pending(
        &self,
        session: &SessionRef,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Message>, InboxError> {
        let _ = (session, after, limit);
        Err(InboxError::Closed)
    }

    /// How many messages wait for a session, and how many were left out and not told of yet.
    pub fn queue(&self, session: &SessionRef) -> Result<(u64, u64), InboxError> {
        let _ = session;
        Err(InboxError::Closed)
    }

    /// Every queue in which something waits or was left out.
    pub fn waiting_sessions(&self) -> Result<Vec<WaitingSession>, InboxError> {
        Err(InboxError::Closed)
    }

    /// The messages of a delivery.
    pub fn messages_of(&self, sequence: u64) -> Result<Vec<Told>, InboxError> {
        let _ = sequence;
        Err(InboxError::Closed)
    }
}

impl Tx<'_> {
    /// Puts a message of a delivery into a session's queue; at most one of each delivery.
    pub fn enqueue(
        &mut self,
        sequence: u64,
        session: &SessionRef,
        text: &str,
        meta: &Value,
        limits: QueueLimits,
        at_ms: u64,
    ) -> Result<Enqueued, InboxError> {
        let _ = (sequence, session, text, meta, limits, at_ms);
        Err(InboxError::Closed)
    }

    /// Messages are about to be written to their session: whoever reads them again sees them
    /// marked as repeated. Numbers that do not wait are passed over.
    pub fn told(&mut self, numbers: &[u64], at_ms: u64) -> Result<(), InboxError> {
        let _ = (numbers, at_ms);
        Err(InboxError::Closed)
    }

    /// The session has these messages. Numbers that do not wait are passed over.
    pub fn acknowledge(&mut self, numbers: &[u64], at_ms: u64) -> Result<(), InboxError> {
        let _ = (numbers, at_ms);
        Err(InboxError::Closed)
    }

    /// The session has every message that it was told, up to this number; answers with how many.
    pub fn acknowledge_up_to(
        &mut self,
        session: &SessionRef,
        number: u64,
        at_ms: u64,
    ) -> Result<u64, InboxError> {
        let _ = (session, number, at_ms);
        Err(InboxError::Closed)
    }

    /// The session was told how many messages were left out; answers with that number.
    pub fn tell_left_out(&mut self, session: &SessionRef) -> Result<u64, InboxError> {
        let _ = session;
        Err(InboxError::Closed)
    }

    /// The session is gone: what waits for it will never be told. Answers with how many.
    pub fn forget_session(&mut self, session_id: &str, at_ms: u64) -> Result<u64, InboxError> {
        let _ = (session_id, at_ms);
        Err(InboxError::Closed)
    }

    /// As [`Tx::forget_session`], for a queue without a session id.
    pub fn forget_key(&mut self, key: &str, at_ms: u64) -> Result<u64, InboxError> {
        let _ = (key, at_ms);
        Err(InboxError::Closed)
    }
}
