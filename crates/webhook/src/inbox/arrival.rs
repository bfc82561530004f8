//! A delivery as it comes in, and what storing it says.

use std::path::Path;

use agent_box_event::{
    Arrival, BodyDigest, DeliveryId, EventKey, Remembered, Source, judge_arrival,
};
use rusqlite::params;

use super::look::{number, parsed, signed};
use super::{Counter, InboxError, InboxLimits, Look, Relation, Tx};

/// How a source's deliveries name their kind and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GitHub's headers and payloads.
    GitHub,
    /// Paths into the payload that the source's settings name.
    Generic,
}

impl Format {
    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Generic => "generic",
        }
    }

    /// Reads what [`Format::as_str`] wrote.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::GitHub, Self::Generic].into_iter().find(|it| it.as_str() == word)
    }
}

/// A delivery whose signature was right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Who sent it.
    pub source: Source,
    /// How it is read.
    pub format: Format,
    /// What happened, in the sender's word.
    pub kind: String,
    /// What it is about; without one it reaches nobody.
    pub key: Option<EventKey>,
    /// Who acted.
    pub sender: Option<String>,
    /// Its id.
    pub id: DeliveryId,
    /// Whether the sender gave none, so that the id was made here.
    pub is_id_ours: bool,
    /// Of the body.
    pub digest: BodyDigest,
    /// As it was signed.
    pub body: Vec<u8>,
    /// When it came.
    pub received_ms: u64,
}

/// What became of a delivery that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is on disk, at this place.
    New(u64),
    /// The same came before, and was counted there.
    Duplicate {
        /// The place of the first.
        of: u64,
    },
    /// There is no room for it, and why; the sender should try again later.
    Full(String),
}

/// What is remembered, with its place.
type Known = (u64, Remembered);

impl Tx<'_> {
    /// Stores a delivery, or counts a duplicate.
    pub(super) fn store(
        &mut self,
        incoming: &Incoming,
        limits: &InboxLimits,
    ) -> Result<Stored, InboxError> {
        let same_id = self.with_id(incoming)?;
        let same_body = self.with_body(incoming)?;
        let remembered: Vec<Remembered> =
            [&same_id, &same_body].into_iter().flatten().map(|it| it.1.clone()).collect();
        let place = |known: Option<Known>| known.map_or(0, |it| it.0);
        let relation = match judge_arrival(&incoming.id, &incoming.digest, &remembered) {
            Arrival::Duplicate => {
                let of = place(same_id);
                self.count_duplicate(of, incoming.received_ms)?;
                return Ok(Stored::Duplicate { of });
            }
            Arrival::New => Relation::New,
            Arrival::OtherBody => Relation::OtherBody(place(same_id)),
            Arrival::SameContent(_) => Relation::SameContent(place(same_body)),
        };
        if let Some(why) = self.is_full(incoming.body.len() as u64, limits)? {
            return Ok(Stored::Full(why));
        }
        self.take_in(incoming, relation).map(Stored::New)
    }

    /// Adds a delivery; nobody has looked at it.
    pub(super) fn take_in(
        &mut self,
        incoming: &Incoming,
        relation: Relation,
    ) -> Result<u64, InboxError> {
        let size = signed(incoming.body.len() as u64);
        let (word, related) = relation.stored();
        let sequence = self.insert(
            "INSERT INTO deliveries (source, format, kind, key, sender, id, is_id_ours, digest,
                size, received_ms, relation, related, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'received')",
            params![
                incoming.source.as_str(),
                incoming.format.as_str(),
                incoming.kind,
                incoming.key.as_ref().map(EventKey::as_str),
                incoming.sender,
                incoming.id.as_str(),
                incoming.is_id_ours,
                incoming.digest.0,
                size,
                signed(incoming.received_ms),
                word,
                related.map(signed),
            ],
        )?;
        self.change(
            "INSERT INTO bodies (sequence, size, body) VALUES (?1, ?2, ?3)",
            params![signed(sequence), size, incoming.body],
        )?;
        self.count(Counter::Received, 1)?;
        Ok(sequence)
    }

    fn count_duplicate(&mut self, of: u64, at_ms: u64) -> Result<(), InboxError> {
        self.change(
            "UPDATE deliveries SET duplicates = duplicates + 1, duplicate_ms = ?2
             WHERE sequence = ?1",
            params![signed(of), signed(at_ms)],
        )?;
        self.count(Counter::Duplicate, 1)
    }
}

impl Look {
    /// Of the deliveries with this id the one with this body, else the first.
    fn with_id(&self, incoming: &Incoming) -> Result<Option<Known>, InboxError> {
        self.one(
            "SELECT sequence, id, digest FROM deliveries WHERE source = ?1 AND id = ?2
             ORDER BY digest <> ?3, sequence LIMIT 1",
            params![incoming.source.as_str(), incoming.id.as_str(), incoming.digest.0],
            read_known,
        )
    }

    /// The first delivery with this body.
    fn with_body(&self, incoming: &Incoming) -> Result<Option<Known>, InboxError> {
        self.one(
            "SELECT sequence, id, digest FROM deliveries WHERE source = ?1 AND digest = ?2
             ORDER BY sequence LIMIT 1",
            params![incoming.source.as_str(), incoming.digest.0],
            read_known,
        )
    }

    /// Why a delivery of this size is not taken. What is known to be too much is refused here,
    /// so that some room stays for writing down what becomes of those that were taken.
    fn is_full(&self, size: u64, limits: &InboxLimits) -> Result<Option<String>, InboxError> {
        let backlog = self.one("SELECT unsettled, unsettled_bytes FROM inbox", [], |row| {
            Ok((number(row, 0)?, number(row, 1)?))
        })?;
        let (unsettled, bytes) = backlog.unwrap_or_default();
        if unsettled >= limits.unsettled {
            return Ok(Some(format!("{unsettled} deliveries wait to be settled")));
        }
        if bytes.saturating_add(size) > limits.unsettled_bytes {
            return Ok(Some(format!("{bytes} bytes of deliveries wait to be settled")));
        }
        let used = self.number(
            "SELECT (page_count - freelist_count) * page_size
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
            [],
        )?;
        if used.saturating_add(size) > limits.file_bytes {
            return Ok(Some(format!("the inbox has its full size of {used} bytes")));
        }
        if limits.disk_reserve_bytes == 0 {
            return Ok(None);
        }
        let free = self.db().path().map_or(u64::MAX, |path| free_bytes(Path::new(path)));
        // A body is written twice: to the log, and later to its place.
        if free < limits.disk_reserve_bytes.saturating_add(size.saturating_mul(2)) {
            return Ok(Some(format!("{free} bytes are left on the disk")));
        }
        Ok(None)
    }
}

/// The room on the disk; unknown is not none, for writing will tell.
fn free_bytes(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(u64::MAX, |it| it.f_bavail.saturating_mul(it.f_frsize))
}

fn read_known(row: &rusqlite::Row<'_>) -> Result<Known, InboxError> {
    let id: String = row.get(1)?;
    let remembered =
        Remembered { id: parsed(DeliveryId::parse(&id))?, digest: BodyDigest(row.get(2)?) };
    Ok((number(row, 0)?, remembered))
}
