//! A stored delivery.

use agent_box_event::{BodyDigest, DeliveryId, DeliveryState, EventKey, Source, Topic};

use rusqlite::{Row, params};

use super::look::{known, number, number_or_none, parsed, signed};
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

impl Relation {
    /// The word and the place that are stored.
    pub(super) fn stored(self) -> (&'static str, Option<u64>) {
        match self {
            Self::New => ("new", None),
            Self::OtherBody(of) => ("other body", Some(of)),
            Self::SameContent(of) => ("same content", Some(of)),
            Self::Replay(of) => ("replay", Some(of)),
        }
    }

    fn read(word: &str, related: Option<u64>) -> Option<Self> {
        match (word, related) {
            ("new", None) => Some(Self::New),
            ("other body", Some(of)) => Some(Self::OtherBody(of)),
            ("same content", Some(of)) => Some(Self::SameContent(of)),
            ("replay", Some(of)) => Some(Self::Replay(of)),
            _ => None,
        }
    }
}

/// A delivery that nobody has looked at yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// What is known of it.
    pub delivery: Delivery,
    /// As it was signed.
    pub body: Vec<u8>,
}

/// So many bytes of bodies are held at a time.
const BODIES_AT_ONCE: u64 = 8 << 20;

/// The columns that [`read`] reads.
pub(super) const COLUMNS: &str = "sequence, source, format, kind, key, sender, id, is_id_ours, \
    digest, size, received_ms, relation, related, duplicates, duplicate_ms, state, detail, \
    settled_ms";

impl Look {
    /// The deliveries that nobody has looked at, in order; fewer than `limit` if their bodies are
    /// large, at least one if there is one.
    pub fn unmatched(&self, limit: usize) -> Result<Vec<Unmatched>, InboxError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE found IS NULL ORDER BY sequence LIMIT ?1"
        );
        let mut bytes = 0_u64;
        let mut found = Vec::new();
        for delivery in self.all(&sql, [signed(limit as u64)], read)? {
            bytes = bytes.saturating_add(delivery.size);
            if bytes > BODIES_AT_ONCE && !found.is_empty() {
                break;
            }
            let missing = || InboxError::Unreadable(format!("#{} has no body", delivery.sequence));
            let body = self.body(delivery.sequence)?.ok_or_else(missing)?;
            found.push(Unmatched { delivery, body });
        }
        Ok(found)
    }

    /// One delivery.
    pub fn delivery(&self, sequence: u64) -> Result<Option<Delivery>, InboxError> {
        let sql = format!("SELECT {COLUMNS} FROM deliveries WHERE sequence = ?1");
        self.one(&sql, [signed(sequence)], read)
    }

    /// The body of a delivery, unless retention has removed it.
    pub fn body(&self, sequence: u64) -> Result<Option<Vec<u8>>, InboxError> {
        let sql = "SELECT body FROM bodies WHERE sequence = ?1";
        self.one(sql, params![signed(sequence)], |row| Ok(row.get(0)?))
    }

    /// A delivery that must be there.
    pub(super) fn existing(&self, sequence: u64) -> Result<Delivery, InboxError> {
        let unknown = || InboxError::Unknown(format!("delivery #{sequence}"));
        self.delivery(sequence)?.ok_or_else(unknown)
    }
}

/// Reads a row of [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> Result<Delivery, InboxError> {
    let text = |column: usize| row.get::<_, String>(column);
    let key: Option<String> = row.get(4)?;
    let (format, relation, state) = (text(2)?, text(11)?, text(15)?);
    let detail: Option<String> = row.get(16)?;
    Ok(Delivery {
        sequence: number(row, 0)?,
        source: parsed(Source::parse(&text(1)?))?,
        format: known(&format, Format::parse(&format))?,
        kind: text(3)?,
        key: key.map(|key| parsed(EventKey::parse(&key))).transpose()?,
        sender: row.get(5)?,
        id: parsed(DeliveryId::parse(&text(6)?))?,
        is_id_ours: row.get(7)?,
        digest: BodyDigest(row.get(8)?),
        size: number(row, 9)?,
        received_ms: number(row, 10)?,
        relation: known(&relation, Relation::read(&relation, number_or_none(row, 12)?))?,
        duplicates: number(row, 13)?,
        duplicate_ms: number_or_none(row, 14)?,
        state: known(&state, DeliveryState::read(&state, detail.as_deref()))?,
        settled_ms: number_or_none(row, 17)?,
    })
}
