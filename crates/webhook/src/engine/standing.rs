//! Who is connected, and when each was last heard.

use std::collections::{BTreeSet, HashMap};

use crate::inbox::SessionRef;

/// What the peers' side tells the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A channel is connected.
    Connected(SessionRef),
    /// It is not any more.
    Left(SessionRef),
    /// Somebody of the session did something: answered, acknowledged, began or ended a turn.
    /// A channel counts as listening by it.
    Alive(SessionRef, u64, IsChannel),
    /// Messages were acknowledged.
    Acknowledged,
    /// These keys have living peers of the older kind.
    Legacy(BTreeSet<String>, u64),
}

/// Whether a sign is a channel's.
pub(crate) type IsChannel = bool;

/// Who is connected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    channels: HashMap<SessionRef, Channel>,
    legacy: BTreeSet<String>,
    legacy_ms: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    connections: usize,
    heard_ms: u64,
}

impl Standing {
    pub(crate) fn connected(&mut self, session: SessionRef) {
        self.channels.entry(session).or_default().connections += 1;
    }

    pub(crate) fn left(&mut self, session: &SessionRef) {
        if let Some(channel) = self.channels.get_mut(session) {
            channel.connections -= 1;
            if channel.connections == 0 {
                self.channels.remove(session);
            }
        }
    }

    pub(crate) fn heard(&mut self, session: &SessionRef, at_ms: u64) {
        if let Some(channel) = self.channels.get_mut(session) {
            channel.heard_ms = channel.heard_ms.max(at_ms);
        }
    }

    /// Answers whether that is news.
    pub(crate) fn legacy(&mut self, keys: BTreeSet<String>, at_ms: u64) -> bool {
        self.legacy_ms = at_ms;
        let is_news = self.legacy != keys;
        self.legacy = keys;
        is_news
    }

    /// Whether somebody takes what waits in this queue.
    pub(crate) fn takes(&self, queue: &SessionRef) -> bool {
        let is_its = |session: &SessionRef| match &queue.session_id {
            Some(id) => session.session_id.as_ref() == Some(id),
            None => session.key == queue.key,
        };
        self.legacy.contains(&queue.key) || self.channels.keys().any(is_its)
    }

    /// When somebody under this key was last heard.
    pub(crate) fn heard_ms(&self, key: &str) -> Option<u64> {
        let channels = self.channels.iter().filter(|(session, _)| session.key == key);
        let legacy = self.legacy.contains(key).then_some(self.legacy_ms);
        channels.map(|(_, channel)| channel.heard_ms).chain(legacy).max()
    }

    /// The keys under which somebody is connected.
    pub(crate) fn keys(&self) -> BTreeSet<String> {
        let channels = self.channels.keys().map(|session| session.key.clone());
        channels.chain(self.legacy.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::roster::tests::queue;

    #[test]
    fn a_channel_counts_while_it_is_connected_and_from_when_it_was_heard() {
        let mut standing = Standing::default();
        let main = queue("alice-main", Some("i1"));
        standing.heard(&main, 5);
        assert_eq!(standing.heard_ms("alice-main"), None, "not connected");
        standing.connected(main.clone());
        standing.connected(main.clone());
        standing.heard(&main, 7);
        standing.heard(&main, 6);
        assert_eq!(standing.heard_ms("alice-main"), Some(7));
        assert!(standing.takes(&main));
        assert!(!standing.takes(&queue("alice-main", Some("i2"))), "a successor's queue");
        assert!(standing.takes(&queue("alice-main", None)));
        standing.left(&main);
        assert!(standing.takes(&main));
        standing.left(&main);
        assert!(!standing.takes(&main));
        assert!(standing.legacy(BTreeSet::from(["alice-old".to_owned()]), 9));
        assert!(standing.takes(&queue("alice-old", Some("i3"))));
        assert_eq!(standing.heard_ms("alice-old"), Some(9));
        assert!(!standing.legacy(BTreeSet::from(["alice-old".to_owned()]), 10));
    }
}
