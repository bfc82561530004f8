//! A stored delivery.

use agent_box_event::{BodyDigest, DeliveryId, DeliveryState, EventKey, Source, Topic};

use super::{Format, InboxError, Look};

/// A stored delivery, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its place in the inbox; the order of arrival.
    pub sequence: u64,
    /// Who sent it.
    pub source: Source,
    /// How it is read.
    pub format: Format,
    /// What happened, in the sender's word.
    pub kind: String,
    /// What it is about.
    pub key: Option<EventKey>,
    /// Who acted.
    pub sender: Option<String>,
    /// Its id.
    pub id: DeliveryId,
    /// Whether the id was made here.
    pub is_id_ours: bool,
    /// Of the body.
    pub digest: BodyDigest,
    /// Bytes of the body.
    pub size: u64,
    /// When it came.
    pub received_ms: u64,
    /// How it relates to an earlier one.
    pub relation: Relation,
    /// How often the same came again.
    pub duplicates: u64,
    /// When that was, the last time.
    pub duplicate_ms: Option<u64>,
    /// The most telling of its effects.
    pub state: DeliveryState,
    /// When the last of its effects was settled; `None` while one is not.
    pub settled_ms: Option<u64>,
}

impl Delivery {
    /// What it is about, with its source.
    pub fn topic(&self) -> Option<Topic> {
        Some(Topic::new(self.source.clone(), self.key.clone()?))
    }
}

/// How a delivery relates to an earlier one, by that one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Nothing like it was known.
    New,
    /// That one has the same id, and another body.
    OtherBody(u64),
    /// That one has the same body, and another id.
    SameContent(u64),
    /// An operator asked for that one again.
    Replay(u64),
}

/// A delivery that nobody has looked at yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// What is known of it.
    pub delivery: Delivery,
    /// As it was signed.
    pub body: Vec<u8>,
}

impl Look<'_> {
    /// The deliveries that nobody has looked at, in order; fewer than `limit` if their bodies are
    /// large, at least one if there is one.
    pub fn unmatched(&self, limit: usize) -> Result<Vec<Unmatched>, InboxError> {
        let _ = limit;
        Err(InboxError::Closed)
    }

    /// One delivery.
    pub fn delivery(&self, sequence: u64) -> Result<Option<Delivery>, InboxError> {
        let _ = sequence;
        Err(InboxError::Closed)
    }

    /// The body of a delivery, unless retention has removed it.
    pub fn body(&self, sequence: u64) -> Result<Option<Vec<u8>>, InboxError> {
        let _ = sequence;
        Err(InboxError::Closed)
    }
}
