//! The undo transition: one change taken back, written forward as a new intent.
//!
//! A change is what differs between the document before it and the one after it. Only that is set
//! back, on the registry as it is now: what the programs mirrored meanwhile (a consumed prompt, a
//! conversation, a parking) stays. Sessions that the change removed come back with their id and
//! conversation, and their tombstones are lifted: that is undo's purpose, and only undo does it.

use crate::{Entry, Identities, Identity, PromptHash, Registry, SessionId, SessionName, Timestamp};

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Sessions that are listed again, with the id they had.
    pub restored: Vec<(SessionName, SessionId)>,
    /// Sessions that are not listed any more; their launches are to be ended.
    pub delisted: Vec<(SessionName, SessionId)>,
    /// Sessions whose intent was set back.
    pub changed: Vec<SessionName>,
}

impl Undone {
    /// What happened from one registry to the other.
    pub fn between(before: &Registry, after: &Registry) -> Self {
        let missing = |from: &Registry, among: &Registry| {
            let ids = from.entries().filter_map(|(name, entry)| Some((name.clone(), entry.id?)));
            ids.filter(|(_, id)| among.by_id(*id).is_none()).collect()
        };
        let changed = after.entries().filter(|(name, entry)| {
            let old = entry.id.and_then(|id| before.by_id(id));
            old.is_some_and(|(old_name, old)| old != *entry || old_name != *name)
        });
        Self {
            restored: missing(after, before),
            delisted: missing(before, after),
            changed: changed.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// Takes back the change from `before` to `after`.
///
/// All ids of `registry` must be in order, and `identities` must hold every tombstone (see
/// [`crate::settle_identities`]). `launched` is the generation of the launch on record, 0 if there
/// is none.
#[expect(clippy::too_many_arguments, reason = "a pure transition takes all of its world")]
pub fn undo(
    registry: &mut Registry,
    identities: &mut Identities,
    before: &Registry,
    after: &Registry,
    mint: &mut dyn FnMut() -> SessionId,
    launched: &dyn Fn(SessionId) -> u64,
    now: Timestamp,
    by: &str,
) {
    let mut entries: Vec<(SessionName, Entry)> =
        registry.entries().map(|(name, entry)| (name.clone(), entry.clone())).collect();
    let mut unusable = registry.unusable().to_vec();
    let had = |list: &Registry, key: &str| list.unusable().iter().any(|entry| entry.key == key);
    unusable.retain(|entry| had(before, &entry.key) || !had(after, &entry.key));

    // Entries of old documents may lack the id that they got later under the same name.
    let identify = |name: &SessionName, entry: &Entry| {
        entry.id.or_else(|| registry.entry(name).and_then(|entry| entry.id))
    };
    let find = |list: &Registry, id| {
        let mut found = list.entries().filter(|(name, entry)| identify(name, entry) == Some(id));
        found.next().map(|(name, entry)| (name.clone(), entry.clone()))
    };

    for (name, entry) in after.entries() {
        let Some(id) = identify(name, entry) else { continue };
        if find(before, id).is_some() {
            continue;
        }
        if let Some(position) = entries.iter().position(|(_, entry)| entry.id == Some(id)) {
            let (name, entry) = entries.remove(position);
            identities.see(&name, &entry);
            if let Some(identity) = identities.live.get(&id).cloned() {
                identities.bury(identity, now, by);
            }
        }
    }
    for (name, old) in before.entries() {
        let id = identify(name, old);
        let new = id.and_then(|id| find(after, id));
        match (id, new) {
            (Some(id), Some((new_name, new))) => {
                let Some(position) = entries.iter().position(|(_, entry)| entry.id == Some(id))
                else {
                    continue;
                };
                let free = name != &new_name && !entries.iter().any(|(listed, _)| listed == name);
                let (listed, entry) = &mut entries[position];
                let was = (listed.clone(), entry.clone());
                if free {
                    *listed = name.clone();
                }
                set_back(entry, old, &new);
                if was != (listed.clone(), entry.clone()) {
                    let seen = identities.live.get(&id).map_or(0, |identity| identity.generation);
                    entry.generation = entry.generation.max(seen).max(launched(id)) + 1;
                    identities.see(listed, entry);
                }
            }
            // Listed again already, or never identified and not changed.
            (Some(id), None) if entries.iter().any(|(_, entry)| entry.id == Some(id)) => {}
            _ if after.entry(name).is_some_and(|new| new.id == old.id) => {}
            _ => {
                let taken = |key: &str| {
                    entries.iter().any(|(listed, _)| listed.as_str() == key)
                        || unusable.iter().any(|entry| entry.key == key)
                };
                let name = free_name(name, &taken);
                let entry = restore(identities, &name, old, mint, launched);
                entries.push((name, entry));
            }
        }
    }
    for entry in before.unusable() {
        let taken = entries.iter().any(|(name, _)| name.as_str() == entry.key)
            || unusable.iter().any(|listed| listed.key == entry.key);
        if !taken && !had(after, &entry.key) {
            unusable.push(entry.clone());
        }
    }
    *registry = Registry::from_parts(entries, unusable);
}

/// Sets the intents back in which `old` and `new` differ.
fn set_back(entry: &mut Entry, old: &Entry, new: &Entry) {
    macro_rules! set_back {
        ($($field:ident).+) => {
            if old.$($field).+ != new.$($field).+ {
                entry.$($field).+.clone_from(&old.$($field).+);
            }
        };
    }
    set_back!(spec.agent);
    set_back!(spec.skip_permissions);
    set_back!(spec.remote_control);
    set_back!(spec.remote_control_name);
    set_back!(spec.working_directory);
    set_back!(spec.extra_args);
    set_back!(spec.resume_prompt);
    set_back!(spec.limits);
    if old.stopped != new.stopped {
        entry.stopped = old.stopped;
        entry.stopped_by.clone_from(&old.stopped_by);
    }
    // A prompt that was consumed since is not handed out again.
    if old.spec.initial_prompt != new.spec.initial_prompt
        && entry.spec.initial_prompt == new.spec.initial_prompt
        && !(new.spec.initial_prompt.is_none() && entry.has_run)
    {
        entry.spec.initial_prompt.clone_from(&old.spec.initial_prompt);
    }
}

/// The entry of a removed session, listed again under the id that it had.
fn restore(
    identities: &mut Identities,
    name: &SessionName,
    old: &Entry,
    mint: &mut dyn FnMut() -> SessionId,
    launched: &dyn Fn(SessionId) -> u64,
) -> Entry {
    let id = old.id.or_else(|| last_seen(identities, name, old)).unwrap_or_else(mint);
    if let Some(tombstone) = identities.removed.remove(&id) {
        identities.live.insert(id, tombstone.identity);
    }
    let seen = identities.live.get(&id);
    let mut entry = old.clone();
    entry.id = Some(id);
    if entry.conversation.is_none() {
        entry.conversation = seen.and_then(|identity| identity.conversations.last().cloned());
    }
    let generation = seen.map_or(0, |identity| identity.generation);
    entry.generation = entry.generation.max(generation).max(launched(id)) + 1;
    identities.see(name, &entry);
    entry
}

/// The removed session that an entry without an id was.
fn last_seen(identities: &Identities, name: &SessionName, entry: &Entry) -> Option<SessionId> {
    let is_it = |identity: &Identity| {
        let prompt = entry.spec.initial_prompt.as_deref().map(PromptHash::of);
        let same_prompt = prompt.is_none() || prompt == identity.prompt;
        identity.name == *name
            && match &entry.conversation {
                Some(conversation) => identity.conversations.contains(conversation),
                None => same_prompt && identity.agent == entry.spec.agent,
            }
    };
    let removed = identities.removed.values().map(|tombstone| &tombstone.identity);
    removed.filter(|identity| is_it(identity)).map(|identity| identity.id).max()
}

/// The name itself, or with a number behind it if somebody else has it by now.
fn free_name(name: &SessionName, taken: &dyn Fn(&str) -> bool) -> SessionName {
    if !taken(name.as_str()) {
        return name.clone();
    }
    (2..=u32::MAX)
        .map(|number| format!("{name}-{number}"))
        .find(|candidate| !taken(candidate))
        .and_then(|free| SessionName::parse(&free).ok())
        .expect("BUG: a registry does not hold four billion names")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{Agent, SessionSpec, settle_identities};

    fn name(text: &str) -> SessionName {
        SessionName::parse(text).unwrap()
    }

    fn id(number: u128) -> SessionId {
        SessionId::from_uuid(Uuid::from_u128(number))
    }

    #[derive(Clone, Default)]
    struct World {
        registry: Registry,
        identities: Identities,
    }

    impl World {
        fn add(&mut self, key: &str, number: u128, prompt: Option<&str>) {
            let mut spec = SessionSpec::new(Agent::Claude);
            spec.initial_prompt = prompt.map(str::to_owned);
            let World { registry, identities } = self;
            registry
                .add(identities, name(key), spec, id(number), "test", Timestamp::default())
                .unwrap();
        }

        fn delist(&mut self, key: &str) {
            let World { registry, identities } = self;
            let mint = &mut || id(1);
            registry.delist(identities, &name(key), mint, Timestamp::default(), "test").unwrap();
        }

        fn undo(&mut self, before: &World, after: &World, launched: u64) -> Undone {
            let World { registry, identities } = self;
            let start = registry.clone();
            undo(
                registry,
                identities,
                &before.registry,
                &after.registry,
                &mut || id(999),
                &|_| launched,
                Timestamp::default(),
                "test",
            );
            Undone::between(&start, registry)
        }
    }

    #[test]
    fn a_removed_session_comes_back_with_id_and_conversation_and_without_tombstone() {
        let mut world = World::default();
        world.add("a", 7, None);
        let entry = world.registry.by_id_mut(id(7)).unwrap();
        entry.conversation = Some("talk".to_owned());
        let before = world.clone();
        world.delist("a");
        let after = world.clone();
        assert!(world.identities.is_removed(id(7)));
        let undone = world.undo(&before, &after, 4);
        assert_eq!(undone.restored, [(name("a"), id(7))]);
        let entry = world.registry.entry(&name("a")).unwrap();
        assert_eq!(entry.conversation.as_deref(), Some("talk"));
        assert_eq!(entry.generation, 5, "above every launch it had");
        assert!(!world.identities.is_removed(id(7)));
        // It is in order: nothing takes the id away again.
        let World { mut registry, mut identities } = world.clone();
        assert_eq!(settle_identities(&mut registry, &mut identities, &mut || id(1)), []);
        // Undoing the undo redoes.
        let redone = world.clone().undo(&after, &world, 0);
        assert_eq!(redone.delisted, [(name("a"), id(7))]);
    }

    #[test]
    fn an_added_session_is_delisted_and_buried() {
        let mut world = World::default();
        let before = world.clone();
        world.add("a", 7, None);
        let after = world.clone();
        let undone = world.undo(&before, &after, 0);
        assert_eq!(undone.delisted, [(name("a"), id(7))]);
        assert!(world.registry.entry(&name("a")).is_none());
        assert!(world.identities.is_removed(id(7)));
    }

    #[test]
    fn what_was_mirrored_since_is_not_set_back() {
        let mut world = World::default();
        world.add("a", 7, Some("go"));
        world.add("b", 8, None);
        let before = world.clone();
        let stop = |entry: &mut Entry| entry.stopped = true;
        let mint = &mut || id(1);
        let World { registry, identities } = &mut world;
        registry.intend(identities, &name("a"), mint, &|_| 0, stop).unwrap();
        let after = world.clone();
        // The programs go on: a prompt is consumed, another session parks.
        let entry = world.registry.by_id_mut(id(7)).unwrap();
        entry.has_run = true;
        entry.spec.initial_prompt = None;
        entry.conversation = Some("talk".to_owned());
        let World { registry, identities } = &mut world;
        assert!(registry.park(identities, id(8), 1, "its clean exit"));
        let undone = world.undo(&before, &after, 0);
        assert_eq!(undone.changed, [name("a")]);
        let entry = world.registry.entry(&name("a")).unwrap();
        assert!(!entry.stopped && entry.has_run && entry.spec.initial_prompt.is_none());
        assert_eq!((entry.conversation.as_deref(), entry.generation), (Some("talk"), 3));
        assert!(world.registry.entry(&name("b")).unwrap().stopped, "parking stays");
    }

    #[test]
    fn a_name_that_was_taken_meanwhile_gets_a_number() {
        let mut world = World::default();
        world.add("a", 7, None);
        let before = world.clone();
        world.delist("a");
        let after = world.clone();
        world.add("a", 8, None);
        let undone = world.undo(&before, &after, 0);
        assert_eq!(undone.restored, [(name("a-2"), id(7))]);
        assert_eq!(world.registry.entry(&name("a")).unwrap().id, Some(id(8)));
    }

    #[test]
    fn an_entry_without_id_is_found_by_its_name_or_its_prompt() {
        let mut world = World::default();
        world.add("a", 7, Some("go"));
        let mut before = world.clone();
        before.registry.entry_mut(&name("a")).unwrap().id = None;
        // Still listed: the same session, nothing to do.
        let after = before.clone();
        assert_eq!(world.undo(&before, &after, 0), Undone::default());
        // Removed: its tombstone says which id it was.
        world.delist("a");
        let after = world.clone();
        let undone = world.undo(&before, &after, 0);
        assert_eq!(undone.restored, [(name("a"), id(7))]);
        assert!(!world.identities.is_removed(id(7)));
    }

    #[test]
    fn unusable_entries_come_and_go_with_the_change() {
        let broken = |key: &str| crate::Unusable {
            key: key.to_owned(),
            id: None,
            reason: "it is not an object".to_owned(),
        };
        let with = |unusable| World {
            registry: Registry::from_parts(Vec::new(), unusable),
            ..World::default()
        };
        let (one, none) = (with(vec![broken("a b")]), with(vec![]));
        let mut world = none.clone();
        world.undo(&one, &none, 0);
        assert_eq!(world.registry, one.registry);
        world.undo(&none, &one, 0);
        assert_eq!(world.registry, none.registry);
    }
}
