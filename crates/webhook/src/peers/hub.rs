//! What every connection of a peer shares: the inbox, who is there, and the engine's ear.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::engine::{Addressee, Roster, Sign};
use crate::inbox::{Inbox, InboxError, Message, Reference, SessionRef};
use crate::now_ms;

/// Shared by all connections.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    pub(crate) inbox: Inbox,
    pub(crate) roster: watch::Receiver<Arc<Roster>>,
    /// Changes when messages were put into queues.
    pub(crate) enqueued: watch::Receiver<u64>,
    pub(crate) signs: mpsc::Sender<Sign>,
}

/// The queues that one peer takes from: its session's, and the one of its key that was filled
/// while nobody knew the session.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    /// The one by which the peer is known.
    pub(crate) own: SessionRef,
    all: Vec<SessionRef>,
}

/// A queue's messages, and what was not among them.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) messages: Vec<Message>,
    /// All that wait, these included.
    pub(crate) count: u64,
    pub(crate) left_out: u64,
}

impl Hub {
    /// Whose queues a peer takes from that says this of itself.
    pub(crate) fn queues(&self, key: &str, session_id: Option<String>) -> Queues {
        let by_key = SessionRef { key: key.to_owned(), session_id: None };
        let own = match session_id {
            Some(id) => SessionRef { key: key.to_owned(), session_id: Some(id) },
            None => match self.roster.borrow().addressee(key) {
                Addressee::Queue(queue) => queue,
                Addressee::Gone => by_key.clone(),
            },
        };
        let mut all = vec![own.clone()];
        if own != by_key {
            all.push(by_key);
        }
        Queues { own, all }
    }

    /// What waits after a number, oldest first.
    pub(crate) async fn waiting(
        &self,
        queues: &Queues,
        after: u64,
        limit: usize,
    ) -> Result<Waiting, InboxError> {
        let all = queues.all.clone();
        self.inbox
            .read(move |look| {
                let mut waiting = Waiting { messages: Vec::new(), count: 0, left_out: 0 };
                for queue in &all {
                    waiting.messages.extend(look.pending(queue, Some(after), limit)?);
                    let (count, left_out) = look.queue(queue)?;
                    waiting.count += count;
                    waiting.left_out += left_out;
                }
                waiting.messages.sort_by_key(|message| message.number);
                waiting.messages.truncate(limit);
                Ok(waiting)
            })
            .await
    }

    /// Notes that messages are about to be written, and that it is told what was left out.
    pub(crate) async fn telling(
        &self,
        queues: &Queues,
        messages: &[Message],
        is_left_out_told: bool,
    ) -> Result<u64, InboxError> {
        let numbers: Vec<u64> = messages.iter().map(|message| message.number).collect();
        let (all, now) = (queues.all.clone(), now_ms());
        self.inbox
            .write(move |tx| {
                tx.told(&numbers, now)?;
                let mut left_out = 0;
                if is_left_out_told {
                    for queue in &all {
                        left_out += tx.tell_left_out(queue)?;
                    }
                }
                Ok(left_out)
            })
            .await
    }

    /// The session has all that it was told up to this number.
    pub(crate) async fn acknowledge(&self, queues: &Queues, up_to: u64) -> Result<(), InboxError> {
        let (all, now) = (queues.all.clone(), now_ms());
        self.inbox
            .write(move |tx| {
                all.iter().try_for_each(|queue| tx.acknowledge_up_to(queue, up_to, now).map(|_| ()))
            })
            .await?;
        let _ = self.signs.send(Sign::Acknowledged).await;
        Ok(())
    }

    /// Takes a delivery in again; else says why not.
    pub(crate) async fn replay(&self, named: &str) -> Result<u64, String> {
        let unreadable =
            || format!("`{}` names no delivery; write SOURCE/ID or #NUMBER", named.escape_debug());
        let reference = Reference::parse(named).ok_or_else(unreadable)?;
        let found = self.inbox.read(move |look| look.find(&reference)).await;
        let found = found.map_err(|error| error.to_string())?;
        let one = match found.as_slice() {
            [] => return Err(format!("there is no delivery `{}`", named.escape_debug())),
            [one] => one.sequence,
            several => {
                let places: Vec<String> =
                    several.iter().map(|it| format!("#{}", it.sequence)).collect();
                return Err(format!("several deliveries have this id: {}", places.join(", ")));
            }
        };
        let now = now_ms();
        let replayed = self.inbox.write(move |tx| tx.replay(one, now)).await;
        replayed.map_err(|error| error.to_string())
    }
}
