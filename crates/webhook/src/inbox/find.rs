//! Finding deliveries, as an operator names them.

use agent_box_event::{DeliveryId, Source};
use rusqlite::params;

use super::delivery::{COLUMNS, read};
use super::look::signed;
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

impl Look {
    /// Every delivery that a reference means, the oldest first: ids may be shared by several.
    pub fn find(&self, reference: &Reference) -> Result<Vec<Delivery>, InboxError> {
        let (source, id) = match reference {
            Reference::Sequence(sequence) => {
                return Ok(self.delivery(*sequence)?.into_iter().collect());
            }
            Reference::Id(source, id) => (source.as_ref().map(Source::as_str), id.as_str()),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE id = ?1 AND (?2 IS NULL OR source = ?2)
             ORDER BY sequence"
        );
        let found = self.all(&sql, params![id, source], read)?;
        match id.parse() {
            // A shell takes `#12` for a comment, so people write 12.
            Ok(sequence) if found.is_empty() && source.is_none() => {
                Ok(self.delivery(sequence)?.into_iter().collect())
            }
            _ => Ok(found),
        }
    }

    /// The last `limit` deliveries that fit, the newest first.
    pub fn list(&self, criteria: &Criteria, limit: usize) -> Result<Vec<Delivery>, InboxError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries
             WHERE (?1 IS NULL OR source = ?1) AND (?2 IS NULL OR state = ?2)
                AND received_ms >= ?3
             ORDER BY sequence DESC LIMIT ?4"
        );
        let since = signed(criteria.since_ms.unwrap_or_default());
        let source = criteria.source.as_ref().map(Source::as_str);
        let limit = signed(limit as u64);
        self.all(&sql, params![source, criteria.state, since, limit], read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_places_ids_or_ids_of_a_source() {
        let id = |text: &str| DeliveryId::parse(text).unwrap();
        let github = Source::parse("github").unwrap();
        for (text, expected) in [
            ("#12", Some(Reference::Sequence(12))),
            ("12", Some(Reference::Id(None, id("12")))),
            ("72d3-1", Some(Reference::Id(None, id("72d3-1")))),
            ("github/72d3-1", Some(Reference::Id(Some(github), id("72d3-1")))),
            ("#x", None),
            ("", None),
            ("a b", None),
        ] {
            assert_eq!(Reference::parse(text), expected, "{text}");
        }
    }
}
