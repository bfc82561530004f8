//! What was last seen of each session id, and which ids are gone for good.
//!
//! A hand edit can drop an id or bring an old entry back. These facts, kept beside the registry
//! and written only under its lock, decide whose entry it is.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::{Agent, Entry, SessionId, SessionName, Timestamp};

/// SHA-256 of a prompt: enough to recognise it, useless to read it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromptHash(String);

impl PromptHash {
    /// The hash of `prompt`.
    pub fn of(prompt: &str) -> Self {
        use fmt::Write as _;
        let digest = Sha256::digest(prompt.as_bytes());
        Self(digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }))
    }

    /// A hash read back from a file; anything that is not 64 hex digits never matches a prompt.
    pub fn from_hex(hex: &str) -> Self {
        Self(hex.to_owned())
    }

    /// Lower-case hexadecimal.
    pub fn as_hex(&self) -> &str {
        &self.0
    }
}

/// A removed session: its id must not come back by accident.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tombstone {
    /// What was known of the session.
    pub identity: Identity,
    /// When it was delisted.
    pub at: Timestamp,
    /// Who delisted it, in words for people.
    pub by: String,
}

/// What was last seen of a session id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The id.
    pub id: SessionId,
    /// The key it was listed under.
    pub name: SessionName,
    /// Its agent.
    pub agent: Option<Agent>,
    /// Its directory as the entry spells it.
    pub directory: Option<String>,
    /// Hash of its kickoff prompt, kept after the prompt was consumed.
    pub prompt: Option<PromptHash>,
    /// Every conversation it ever had.
    pub conversations: Vec<String>,
    /// The highest generation seen.
    pub generation: u64,
}

impl Identity {
    /// The first sight of an entry.
    pub fn first_seen(id: SessionId, name: &SessionName, entry: &Entry) -> Self {
        let mut identity = Self {
            id,
            name: name.clone(),
            agent: None,
            directory: None,
            prompt: None,
            conversations: Vec::new(),
            generation: 0,
        };
        identity.see(name, entry);
        identity
    }

    /// Takes over what the entry says now; returns whether anything changed.
    pub fn see(&mut self, name: &SessionName, entry: &Entry) -> bool {
        let before = self.clone();
        self.name = name.clone();
        self.agent.clone_from(&entry.spec.agent);
        self.directory.clone_from(&entry.spec.working_directory);
        if let Some(prompt) = &entry.spec.initial_prompt {
            self.prompt = Some(PromptHash::of(prompt));
        }
        if let Some(conversation) = &entry.conversation
            && !self.conversations.contains(conversation)
        {
            self.conversations.push(conversation.clone());
        }
        self.generation = self.generation.max(entry.generation);
        *self != before
    }
}

/// All identities: those still listed (or unlisted without a tombstone yet), and the removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identities {
    /// Ids without a tombstone.
    pub live: BTreeMap<SessionId, Identity>,
    /// Tombstones. A store may leave out those that the operation at hand cannot need.
    pub removed: BTreeMap<SessionId, Tombstone>,
}

impl Identities {
    /// Whether the id has a tombstone.
    pub fn is_removed(&self, id: SessionId) -> bool {
        self.removed.contains_key(&id)
    }

    /// Turns an id's identity into a tombstone.
    pub fn bury(&mut self, identity: Identity, at: Timestamp, by: &str) {
        self.live.remove(&identity.id);
        let tombstone = Tombstone { at, by: by.to_owned(), identity };
        self.removed.insert(tombstone.identity.id, tombstone);
    }

    /// Records what an identified entry says now; returns whether anything changed.
    pub fn see(&mut self, name: &SessionName, entry: &Entry) -> bool {
        let Some(id) = entry.id else { return false };
        if let Some(identity) = self.live.get_mut(&id) {
            return identity.see(name, entry);
        }
        self.live.insert(id, Identity::first_seen(id, name, entry));
        true
    }
}
