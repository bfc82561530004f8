//! Finding deliveries, as an operator names them.

use agent_box_event::{DeliveryId, Source};

use super::{Delivery, InboxError, Look};

/// How an operator names a delivery: `#12`, `ID` or `SOURCE/ID`; a number that is no id is a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// By its place.
    Sequence(u64),
    /// By its id, of one source or of any.
    Id(Option<Source>, DeliveryId),
}

impl Reference {
    /// Reads what was typed.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix('#') {
            return digits.parse().ok().map(Self::Sequence);
        }
        if let Some((source, id)) = text.split_once('/')
            && let (Ok(source), Ok(id)) = (Source::parse(source), DeliveryId::parse(id))
        {
            return Some(Self::Id(Some(source), id));
        }
        DeliveryId::parse(text).ok().map(|id| Self::Id(None, id))
    }
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criteria {
    /// Of this source.
    pub source: Option<Source>,
    /// In this state, by its word.
    pub state: Option<String>,
    /// Received at or after this time.
    pub since_ms: Option<u64>,
}

impl Look<'_> {
    /// Every delivery that a reference means, the oldest first: ids may be shared by several.
    pub fn find(&self, reference: &Reference) -> Result<Vec<Delivery>, InboxError> {
        let _ = reference;
        Err(InboxError::Closed)
    }

    /// The last `limit` deliveries that fit, the newest first.
    pub fn list(&self, criteria: &Criteria, limit: usize) -> Result<Vec<Delivery>, InboxError> {
        let _ = (criteria, limit);
        Err(InboxError::Closed)
    }
}
