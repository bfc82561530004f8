//! What a start knows from files beside the registry and the launch record. A file that cannot be
//! read stops no start, and the launch's notes say that it was not read: unreadable is not empty.

use std::cell::RefCell;

use agent_box_session::{Identities, LaunchRecord, Registry, SessionId, SessionName};
use agent_box_session_store::Store;

use crate::tasks::chain;

/// One start's look at those files.
pub(super) struct Beside<'a> {
    store: &'a Store,
    unread: RefCell<Vec<String>>,
}

impl<'a> Beside<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, unread: RefCell::default() }
    }

    /// What could not be read, for the launch's notes.
    pub(super) fn into_unread(self) -> Vec<String> {
        self.unread.into_inner()
    }

    /// Which conversation the one launched as `conversation` has moved on to.
    pub(super) fn rotation(&self, conversation: &str) -> Option<String> {
        self.said("so where the conversation moved on to is not known", || {
            self.store.rotation(conversation)
        })
        .flatten()
    }

    /// The launch id that the reference system noted for the session `name`.
    pub(super) fn reference_conversation(&self, name: &SessionName) -> Option<String> {
        self.said("so the older system's note of the conversation is not known", || {
            self.store.reference_conversation(name)
        })
        .flatten()
    }

    /// The operator's variables.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let file = self.said("so its variables are not set", || self.store.env());
        let file = file.unwrap_or_default();
        for line in file.ignored() {
            let path = self.store.paths().env_file();
            self.say(format!("{} line {line} is no KEY=value and means nothing", path.display()));
        }
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        file.variables().into_iter().map(owned).collect()
    }

    /// Conversations that other sessions hold.
    pub(super) fn other_conversations(
        &self,
        registry: &Registry,
        session: SessionId,
    ) -> Vec<String> {
        let mut others: Vec<String> = registry
            .entries()
            .filter(|(_, entry)| entry.id != Some(session))
            .filter_map(|(_, entry)| entry.conversation.clone())
            .collect();
        // What cannot be read here refuses the commit that follows.
        if let Ok(identities) = self.store.identities(registry) {
            for identity in identities.live.values().filter(|identity| identity.id != session) {
                others.extend(identity.conversations.iter().cloned());
            }
        }
        others
    }

    fn said<T, E: std::error::Error>(
        &self,
        consequence: &str,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        read().map_err(|error| self.say(format!("{}, {consequence}", chain(&error)))).ok()
    }

    fn say(&self, text: String) {
        let mut unread = self.unread.borrow_mut();
        if !unread.contains(&text) {
            unread.push(text);
        }
    }
}

/// Notes the record's conversation as this session's, unless another one holds it: two starts
/// prepared in one moment may have chosen the same. The loser is prepared again and finds it taken
/// (`c33_two_sessions_that_moved_to_one_conversation_do_not_both_resume_it`).
pub(super) fn claim_conversation(
    registry: &Registry,
    identities: &mut Identities,
    record: &LaunchRecord,
) -> bool {
    // What is not started claims nothing.
    let Some(conversation) = record.conversation.as_ref().filter(|_| record.trouble.is_none())
    else {
        return true;
    };
    let listed = registry.entries().any(|(_, entry)| {
        entry.id != Some(record.session) && entry.conversation.as_ref() == Some(conversation)
    });
    let known = identities
        .live
        .values()
        .any(|it| it.id != record.session && it.conversations.contains(conversation));
    if listed || known {
        return false;
    }
    if let Some(own) = identities.live.get_mut(&record.session)
        && !own.conversations.contains(conversation)
    {
        own.conversations.push(conversation.clone());
    }
    true
}
