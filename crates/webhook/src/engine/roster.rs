//! Which sessions there are, as the spawn wrapper last said, and whom a filter file belongs to.
//!
//! Not knowing is a value: while nobody could say what sessions there are, nothing is declined
//! and nobody is forgotten because of it.

use std::collections::BTreeSet;

use agent_box_event::Holder;
use agent_box_event::contract::{SessionStatus, Status};

use crate::inbox::SessionRef;

/// Who is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster {
    /// The user's name, which begins the keys of its sessions.
    pub(crate) user: String,
    /// What the wrapper last said; `None` if it never could.
    pub(crate) status: Option<Status>,
    /// Keys under which somebody is connected.
    pub(crate) connected: BTreeSet<String>,
}

/// Whose queue a filter file fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// This one's.
    Queue(SessionRef),
    /// Nobody's: the session is not listed any more.
    Gone,
}

impl Roster {
    /// Whose queue the filter of this key fills.
    pub(crate) fn addressee(&self, key: &str) -> Addressee {
        let queue = |session_id| Addressee::Queue(SessionRef { key: key.to_owned(), session_id });
        let (Some(name), Some(status)) = (self.session_name(key), &self.status) else {
            return queue(None);
        };
        match status.sessions.iter().find(|session| session.name == name) {
            Some(session) => queue(Some(session.session_id.clone())),
            // Somebody without a session of the box, who chose a key that looks like one's.
            None if self.connected.contains(key) => queue(None),
            None => Addressee::Gone,
        }
    }

    /// Whether the key looks like a session's and nobody could say yet which.
    pub(crate) fn is_unknown(&self, key: &str) -> bool {
        self.status.is_none() && self.session_name(key).is_some()
    }

    /// The listed session with this id.
    pub(crate) fn session(&self, id: &str) -> Option<&SessionStatus> {
        self.status.as_ref()?.sessions.iter().find(|session| session.session_id == id)
    }

    /// What is known of a lease's holder.
    pub(crate) fn holder(&self, id: &str) -> Holder {
        match (&self.status, self.session(id)) {
            (None, _) => Holder::Unknown,
            (Some(_), Some(session)) if session.is_active => Holder::Alive,
            (Some(_), _) => Holder::Gone,
        }
    }

    /// Whether a queue's session is certainly gone.
    pub(crate) fn is_gone(&self, queue: &SessionRef) -> bool {
        match &queue.session_id {
            Some(id) => self.status.is_some() && self.session(id).is_none(),
            None => self.addressee(&queue.key) == Addressee::Gone,
        }
    }

    fn session_name<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.strip_prefix(&self.user)?.strip_prefix('-')
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn roster(sessions: &[(&str, &str, bool)]) -> Roster {
        let session = |&(id, name, is_active): &(&str, &str, bool)| SessionStatus {
            session_id: id.to_owned(),
            name: name.to_owned(),
            agent: "claude".to_owned(),
            is_active,
        };
        let sessions = sessions.iter().map(session).collect();
        Roster {
            user: "alice".to_owned(),
            status: Some(Status { live: 0, max: 4, sessions, claimed: Vec::new() }),
            connected: BTreeSet::new(),
        }
    }

    pub(crate) fn queue(key: &str, id: Option<&str>) -> SessionRef {
        SessionRef { key: key.to_owned(), session_id: id.map(str::to_owned) }
    }

    #[test]
    fn a_key_is_the_listed_session_s_and_nobody_s_once_that_is_gone() {
        let mut roster = roster(&[("i1", "main", true), ("i2", "a-b", false)]);
        roster.connected.insert("alice-here".to_owned());
        let check = |key: &str, expected: Option<SessionRef>| {
            let expected = expected.map_or(Addressee::Gone, Addressee::Queue);
            assert_eq!(roster.addressee(key), expected, "{key}");
        };
        check("alice-main", Some(queue("alice-main", Some("i1"))));
        check("alice-a-b", Some(queue("alice-a-b", Some("i2"))));
        check("alice-gone", None);
        check("alice-here", Some(queue("alice-here", None)));
        check("alice", Some(queue("alice", None)));
        check("bob-main", Some(queue("bob-main", None)));
        let unknown = Roster { status: None, ..roster.clone() };
        let expected = Addressee::Queue(queue("alice-gone", None));
        assert_eq!(unknown.addressee("alice-gone"), expected, "nobody knows");
    }

    #[test]
    fn a_holder_is_gone_when_it_is_stopped_or_not_listed_and_never_because_nobody_knows() {
        let roster = roster(&[("i1", "main", true), ("i2", "two", false)]);
        let unknown = Roster { status: None, ..roster.clone() };
        for (id, known) in [("i1", Holder::Alive), ("i2", Holder::Gone), ("i3", Holder::Gone)] {
            assert_eq!(roster.holder(id), known, "{id}");
            assert_eq!(unknown.holder(id), Holder::Unknown, "{id}");
        }
        for (id, gone) in [("i1", false), ("i2", false), ("i3", true)] {
            let queue = queue("alice-main", Some(id));
            assert_eq!((roster.is_gone(&queue), unknown.is_gone(&queue)), (gone, false), "{id}");
        }
        assert!(roster.is_gone(&queue("alice-x", None)));
        assert!(!unknown.is_gone(&queue("alice-x", None)));
    }
}
