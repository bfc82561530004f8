//! Load of a known size, for measurements: the caller has the clock.

use std::sync::Arc;

use agent_box_event::{BodyDigest, DeliveryId, EventKey, Source};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use super::{Format, Inbox, InboxError, Incoming, Stored};

/// What is stored for a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Told apart from other loads of the same inbox.
    pub name: &'static str,
    /// Senders at the same time, each of which waits for its answer.
    pub senders: usize,
    /// Deliveries of each.
    pub each: usize,
    /// Bytes of each body.
    pub size: usize,
}

impl Load {
    /// Stores all of it; answers with how many are on disk when this returns.
    ///
    /// # Errors
    /// What the first store that fails says; a full inbox is one.
    pub async fn store(self, inbox: &Inbox) -> Result<u64, InboxError> {
        let filler: Arc<[u8]> = vec![b'x'; self.size].into();
        let mut senders = JoinSet::new();
        for sender in 0..self.senders {
            let (inbox, filler) = (inbox.clone(), Arc::clone(&filler));
            senders.spawn(async move {
                for number in 0..self.each {
                    let id = format!("{}-{sender}-{number}", self.name);
                    match inbox.store(delivery(&id, &filler)?).await? {
                        Stored::New(_) => {}
                        Stored::Duplicate { of } => {
                            return Err(InboxError::Refused(format!("{id} was stored as #{of}")));
                        }
                        Stored::Full(why) => return Err(InboxError::Full(why)),
                    }
                }
                Ok(self.each as u64)
            });
        }
        senders.join_all().await.into_iter().sum()
    }
}

/// A delivery whose body begins with its id, so that no two are the same.
fn delivery(id: &str, filler: &[u8]) -> Result<Incoming, InboxError> {
    let mut body = filler.to_vec();
    let length = id.len().min(body.len());
    body[..length].copy_from_slice(&id.as_bytes()[..length]);
    let unreadable = |error: &dyn std::fmt::Display| InboxError::Unreadable(error.to_string());
    Ok(Incoming {
        source: Source::parse("load").map_err(|error| unreadable(&error))?,
        format: Format::Generic,
        kind: "load".to_owned(),
        key: EventKey::parse("load").ok(),
        sender: None,
        id: DeliveryId::parse(id).map_err(|error| unreadable(&error))?,
        is_id_ours: false,
        digest: BodyDigest(Sha256::digest(&body).into()),
        body,
        received_ms: 0,
    })
}
