//! Whose entry is it? Attaching ids to entries that a hand edit left without one, and taking
//! ids away from entries that must not have them.
//!
//! Rules (protocol, section 6): an entry without an id belongs to the last seen, unlisted id of
//! its name if its conversation says so, or, without one, if agent, directory and prompt agree.
//! Anything else is a new session. A tombstoned id, conversation or prompt that reappears gets a
//! new id and starts without conversation and prompt. Of two entries with one id, the recorded
//! name keeps it. A renamed key keeps its id.

use crate::{
    Entry, Identities, Identity, PromptHash, Registry, SessionId, SessionName, VerbRefusal,
};

/// What [`settle_identities`] did to one entry, for the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// An id was given back to an entry that had lost it.
    Attached(SessionName, SessionId),
    /// A new id was minted.
    Minted(SessionName, SessionId),
    /// The entry was a reappearance of a removed session and got a new id.
    Reappeared(SessionName, SessionId),
    /// The entry shared its id with another one and got a new one.
    Copied(SessionName, SessionId),
    /// The entry's key changed; the id stays.
    Renamed {
        /// The key before.
        from: SessionName,
        /// The key now.
        to: SessionName,
        /// The session.
        id: SessionId,
    },
}

/// Brings all entries' ids in order and records what was seen of each.
///
/// Changes nothing (and returns nothing) when all is in order, so it may run on every pass.
/// `identities` must hold every tombstone.
pub fn settle_identities(
    registry: &mut Registry,
    identities: &mut Identities,
    mint: &mut dyn FnMut() -> SessionId,
) -> Vec<Settled> {
    let mut done = Vec::new();
    let names: Vec<SessionName> = registry.entries().map(|(name, _)| name.clone()).collect();
    for name in &names {
        settle(registry, identities, name, mint, &mut done);
    }
    // Only after all ids are in order: what was seen decides the next hand edit.
    for (name, entry) in registry.entries() {
        if let Some(identity) = entry.id.and_then(|id| identities.live.get(&id))
            && identity.name != *name
        {
            done.push(Settled::Renamed {
                from: identity.name.clone(),
                to: name.clone(),
                id: identity.id,
            });
        }
        identities.see(name, entry);
    }
    done
}

/// Brings one entry's id in order; the verbs call it inside their own transaction.
///
/// # Errors
/// When the name is not listed.
pub fn settle_one(
    registry: &mut Registry,
    identities: &mut Identities,
    name: &SessionName,
    mint: &mut dyn FnMut() -> SessionId,
) -> Result<(), VerbRefusal> {
    if registry.entry(name).is_none() {
        return Err(VerbRefusal::NotListed(name.clone()));
    }
    settle(registry, identities, name, mint, &mut Vec::new());
    Ok(())
}

fn settle(
    registry: &mut Registry,
    identities: &mut Identities,
    name: &SessionName,
    mint: &mut dyn FnMut() -> SessionId,
    done: &mut Vec<Settled>,
) {
    let Some(entry) = registry.entry(name) else { return };
    let verdict = match entry.id {
        None => whose(registry, identities, name, entry),
        Some(id) if identities.is_removed(id) => Whose::Removed,
        Some(id) if is_copy(registry, identities, name, id) => Whose::Copy,
        Some(_) if entry.generation == 0 => Whose::Unnumbered,
        Some(_) => return,
    };
    let fresh = match &verdict {
        Whose::Known(_) | Whose::Unnumbered => None,
        _ => Some(mint()),
    };
    let entry = registry.entry_mut(name).expect("BUG: looked up above");
    match (verdict, fresh) {
        (Whose::Known(identity), _) => {
            entry.id = Some(identity.id);
            entry.generation = entry.generation.max(identity.generation).max(1);
            done.push(Settled::Attached(name.clone(), identity.id));
        }
        (Whose::Unnumbered, _) => {
            let id = entry.id.expect("BUG: only identified entries are unnumbered");
            let seen = identities.live.get(&id).map_or(0, |identity| identity.generation);
            entry.generation = seen.max(1);
        }
        (Whose::New, Some(id)) => {
            entry.id = Some(id);
            entry.generation = entry.generation.max(1);
            done.push(Settled::Minted(name.clone(), id));
        }
        (Whose::Removed, Some(id)) => {
            *entry = Entry {
                id: Some(id),
                generation: 1,
                conversation: None,
                has_run: false,
                spec: crate::SessionSpec { initial_prompt: None, ..entry.spec.clone() },
                ..entry.clone()
            };
            done.push(Settled::Reappeared(name.clone(), id));
        }
        (Whose::Copy, Some(id)) => {
            *entry = Entry {
                id: Some(id),
                generation: 1,
                conversation: None,
                has_run: false,
                ..entry.clone()
            };
            done.push(Settled::Copied(name.clone(), id));
        }
        (_, None) => unreachable!("BUG: these verdicts mint"),
    }
}

enum Whose {
    /// The session that this identity describes.
    Known(Identity),
    /// Nobody's yet.
    New,
    /// A removed session's.
    Removed,
    /// Another entry's.
    Copy,
    /// Its own, but without a generation.
    Unnumbered,
}

/// Decides for an entry without an id.
fn whose(registry: &Registry, identities: &Identities, name: &SessionName, entry: &Entry) -> Whose {
    // Ids sort by age, so the last one seen under this name is the greatest.
    let last_seen = identities
        .live
        .values()
        .rfind(|identity| identity.name == *name && !registry.lists(identity.id));
    if let Some(identity) = last_seen
        && !identities.is_removed(identity.id)
        && matches(identity, entry)
    {
        return Whose::Known(identity.clone());
    }
    let prompt = entry.spec.initial_prompt.as_deref().map(PromptHash::of);
    let reappears = identities.removed.values().any(|tombstone| {
        let gone = &tombstone.identity;
        let same_conversation =
            entry.conversation.as_ref().is_some_and(|it| gone.conversations.contains(it));
        let same_prompt = gone.name == *name && prompt.is_some() && prompt == gone.prompt;
        same_conversation || same_prompt
    });
    if reappears { Whose::Removed } else { Whose::New }
}

fn matches(identity: &Identity, entry: &Entry) -> bool {
    // A conversation alone decides, both ways.
    if let Some(conversation) = &entry.conversation {
        return identity.conversations.contains(conversation);
    }
    let same_prompt = match &entry.spec.initial_prompt {
        // The mirror nulls a prompt that was consumed.
        None => true,
        Some(prompt) => identity.prompt.as_ref() == Some(&PromptHash::of(prompt)),
    };
    same_prompt
        && identity.agent == entry.spec.agent
        && identity.directory == entry.spec.working_directory
}

/// Whether another entry has the better claim on this id.
fn is_copy(
    registry: &Registry,
    identities: &Identities,
    name: &SessionName,
    id: SessionId,
) -> bool {
    let mut holders =
        registry.entries().filter(|(_, entry)| entry.id == Some(id)).map(|(name, _)| name);
    let Some(first) = holders.next() else { return false };
    if holders.next().is_none() {
        return false;
    }
    let recorded = identities.live.get(&id).map(|identity| &identity.name);
    let keeper = recorded
        .filter(|recorded| registry.entry(recorded).is_some_and(|it| it.id == Some(id)))
        .unwrap_or(first);
    keeper != name
}

/// Whether [`settle_identities`] would change nothing, judged by the live identities alone (the
/// caller looks for tombstones of listed ids).
pub fn is_settled(registry: &Registry, identities: &Identities) -> bool {
    let mut ids = std::collections::BTreeSet::new();
    registry.entries().all(|(name, entry)| {
        let Some(id) = entry.id else { return false };
        let seen = identities.live.get(&id).is_some_and(|it| !it.clone().see(name, entry));
        entry.generation > 0 && ids.insert(id) && seen
    })
}

#[cfg(test)]
mod tests;
