//! A delivery as it comes in, and what storing it says.

use agent_box_event::{BodyDigest, DeliveryId, EventKey, Source};

use super::{InboxError, InboxLimits, Tx};

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

impl Tx<'_> {
    /// Stores a delivery, or counts a duplicate.
    pub(super) fn store(
        &mut self,
        incoming: &Incoming,
        limits: &InboxLimits,
    ) -> Result<Stored, InboxError> {
        let _ = (incoming, limits);
        Err(InboxError::Closed)
    }
}
