//! Which batches have their session: the registry's top-level object `claimedBatches`.

use std::collections::BTreeMap;

use agent_box_event::BatchId;
use agent_box_event::contract::CLAIMED_BATCHES;
use agent_box_session::SessionId;
use serde_json::{Map, Value};
use thiserror::Error;

/// The claims as they stand in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims(Map<String, Value>);

/// The claims cannot be read, so nobody knows whether a batch has its session.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the registry's `{CLAIMED_BATCHES}` {0}; mend or remove it in sessions.json")]
pub struct ClaimsError(String);

impl Claims {
    /// Reads them; a registry without them has none.
    pub(crate) fn read(extra: Option<Value>) -> Result<Self, ClaimsError> {
        match extra {
            None | Some(Value::Null) => Ok(Self(Map::new())),
            Some(Value::Object(claims)) => Ok(Self(claims)),
            Some(_) => Err(ClaimsError("is not an object".to_owned())),
        }
    }

    /// The session that has this batch.
    pub(crate) fn session(&self, batch: &BatchId) -> Result<Option<SessionId>, ClaimsError> {
        let Some(claim) = self.0.get(&batch.to_string()) else { return Ok(None) };
        let session = claim.as_str().and_then(|id| id.parse().ok());
        session
            .map(Some)
            .ok_or_else(|| ClaimsError(format!("does not name a session's id for batch {batch}")))
    }

    /// The highest claimed batch of each inbox.
    pub(crate) fn highest(&self) -> Vec<BatchId> {
        let mut highest = BTreeMap::new();
        for batch in self.0.keys().filter_map(|id| BatchId::parse(id).ok()) {
            let number = highest.entry(batch.inbox).or_insert(batch.number);
            *number = batch.number.max(*number);
        }
        highest.into_iter().map(|(inbox, number)| BatchId { inbox, number }).collect()
    }

    /// Claims a batch and forgets those below `lowest`. What is no batch's id stays.
    pub(crate) fn claim(
        mut self,
        batch: &BatchId,
        session: SessionId,
        lowest: Option<&BatchId>,
    ) -> Value {
        if let Some(lowest) = lowest {
            self.0.retain(|id, _| {
                !BatchId::parse(id).is_ok_and(|claimed| claimed.is_settled_below(lowest))
            });
        }
        self.0.insert(batch.to_string(), Value::String(session.to_string()));
        Value::Object(self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SESSION: &str = "0193b2c0-0000-7000-8000-00000000000a";

    fn id(inbox: u64, number: u64) -> BatchId {
        BatchId { inbox, number }
    }

    #[test]
    fn settled_batches_of_the_same_inbox_are_forgotten() {
        let batches = [id(1, 4), id(1, 5), id(1, 6), id(2, 1)];
        let mut before = Map::new();
        for batch in &batches {
            before.insert(batch.to_string(), json!(SESSION));
        }
        before.insert("a note".to_owned(), json!(7));
        let claims = Claims::read(Some(Value::Object(before))).unwrap();
        let after = claims.clone().claim(&id(1, 9), SESSION.parse().unwrap(), Some(&id(1, 5)));
        let after = Claims::read(Some(after)).unwrap();
        for (batch, kept) in [(1, 4), (1, 5), (1, 6), (2, 1), (1, 9)]
            .map(|(i, n)| id(i, n))
            .iter()
            .zip([false, true, true, true, true])
        {
            assert_eq!(after.session(batch).unwrap().is_some(), kept, "{batch}");
        }
        assert!(after.0.contains_key("a note"));
        assert_eq!(after.highest(), [id(1, 9), id(2, 1)]);
        let kept = claims.claim(&id(1, 9), SESSION.parse().unwrap(), None);
        assert_eq!(kept.as_object().unwrap().len(), 6, "without a lowest nothing is forgotten");
    }

    #[test]
    fn claims_that_cannot_be_read_are_not_taken_for_none() {
        assert!(Claims::read(Some(json!([]))).is_err());
        let claims = Claims::read(Some(json!({ id(1, 1).to_string(): 7 }))).unwrap();
        assert!(claims.session(&id(1, 1)).unwrap_err().to_string().contains("batch"));
        assert_eq!(claims.session(&id(1, 2)).unwrap(), None);
        assert_eq!(Claims::read(None).unwrap(), Claims::read(Some(Value::Null)).unwrap());
    }
}
