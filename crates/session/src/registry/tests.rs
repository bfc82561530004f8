//! What every sequence of verbs keeps.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::{Agent, PromptHash};

fn id(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
}

fn name(text: &str) -> SessionName {
    SessionName::parse(text).unwrap()
}

fn spec(prompt: Option<&str>) -> SessionSpec {
    SessionSpec { initial_prompt: prompt.map(str::to_owned), ..SessionSpec::new(Agent::Claude) }
}

const NOW: Timestamp = Timestamp::from_millis(1);

/// A registry with its identities and the counter that ids come from.
#[derive(Debug, Default)]
struct World {
    registry: Registry,
    identities: Identities,
    minted: u128,
}

impl World {
    fn mint(&mut self) -> SessionId {
        self.minted += 1;
        id(self.minted)
    }

    fn add(&mut self, key: &str) -> Result<SessionId, AddRefusal> {
        let id = self.mint();
        self.registry.add(&mut self.identities, name(key), spec(None), id, "test", NOW)?;
        Ok(id)
    }

    fn delist(&mut self, key: &str) -> Result<Delisted, VerbRefusal> {
        let minted = &mut self.minted;
        let mut mint = || {
            *minted += 1;
            id(*minted)
        };
        self.registry.delist(&mut self.identities, &name(key), &mut mint, NOW, "test")
    }

    fn intend(&mut self, key: &str, launched: u64, stop: bool) -> Result<SessionId, VerbRefusal> {
        let minted = &mut self.minted;
        let mut mint = || {
            *minted += 1;
            id(*minted)
        };
        let (name, launched) = (name(key), move |_| launched);
        if stop {
            self.registry.stop(&mut self.identities, &name, &mut mint, &launched, "test")
        } else {
            self.registry.restart(&mut self.identities, &name, &mut mint, &launched)
        }
    }

    fn keys(&self) -> Vec<String> {
        self.registry.entries().map(|(name, _)| name.as_str().to_owned()).collect()
    }
}

/// One change of the registry, by a verb or by hand.
#[derive(Clone, Debug)]
enum Change {
    Add(&'static str),
    Delist(&'static str),
    Stop(&'static str, u64),
    Restart(&'static str, u64),
    Park(&'static str),
    DropId(&'static str),
    Lower(&'static str),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let key = || prop::sample::select(vec!["a", "b", "c"]);
    let change = prop_oneof![
        key().prop_map(Change::Add),
        key().prop_map(Change::Delist),
        (key(), 0_u64..9).prop_map(|(key, launched)| Change::Stop(key, launched)),
        (key(), 0_u64..9).prop_map(|(key, launched)| Change::Restart(key, launched)),
        key().prop_map(Change::Park),
        key().prop_map(Change::DropId),
        key().prop_map(Change::Lower),
    ];
    prop::collection::vec(change, 0..40)
}

fn apply(world: &mut World, change: &Change) {
    match *change {
        Change::Add(key) => drop(world.add(key)),
        Change::Delist(key) => drop(world.delist(key)),
        Change::Stop(key, launched) => drop(world.intend(key, launched, true)),
        Change::Restart(key, launched) => drop(world.intend(key, launched, false)),
        Change::Park(key) => {
            let entry = world.registry.entry(&name(key));
            let found = entry.and_then(|entry| Some((entry.id?, entry.generation)));
            if let Some((id, generation)) = found {
                world.registry.park(&mut world.identities, id, generation, "test");
            }
        }
        Change::DropId(key) => {
            if let Some(entry) = world.registry.entry_mut(&name(key)) {
                entry.id = None;
                entry.generation = 0;
            }
        }
        Change::Lower(key) => {
            if let Some(entry) = world.registry.entry_mut(&name(key)) {
                entry.generation = entry.generation.min(1);
            }
        }
    }
}

proptest! {
    #[test]
    fn verbs_keep_ids_unique_and_tombstones_unlisted(changes in changes()) {
        let mut world = World::default();
        for change in &changes {
            apply(&mut world, change);
            let ids: Vec<_> = world.registry.entries().filter_map(|(_, it)| it.id).collect();
            let unique: BTreeSet<_> = ids.iter().copied().collect();
            prop_assert_eq!(ids.len(), unique.len(), "after {:?}", change);
            prop_assert!(
                unique.iter().all(|id| !world.identities.is_removed(*id)),
                "a tombstoned id is listed after {:?}", change
            );
        }
    }

    #[test]
    fn every_intent_raises_the_generation_above_all_that_was_seen(changes in changes()) {
        let mut world = World::default();
        let mut highest: BTreeMap<SessionId, u64> = BTreeMap::new();
        for change in &changes {
            apply(&mut world, change);
            let (Change::Stop(key, launched) | Change::Restart(key, launched)) = change else {
                continue;
            };
            let Some(entry) = world.registry.entry(&name(key)) else { continue };
            let id = entry.id.unwrap();
            prop_assert!(entry.generation > *launched);
            let before = highest.insert(id, entry.generation);
            prop_assert!(
                before.is_none_or(|before| entry.generation > before),
                "{} after {:?}", entry.generation, before
            );
        }
    }

    #[test]
    fn verbs_keep_the_order_of_the_file(changes in changes()) {
        let mut world = World::default();
        for change in &changes {
            let before = world.keys();
            apply(&mut world, change);
            let after = world.keys();
            let kept: Vec<_> = before.iter().filter(|key| after.contains(key)).collect();
            let old: Vec<_> = after.iter().filter(|key| before.contains(key)).collect();
            prop_assert_eq!(kept, old);
            // What is new stands at the end.
            let first_new = after.iter().position(|key| !before.contains(key));
            prop_assert!(first_new.is_none_or(|at| at + 1 == after.len()));
        }
    }

    #[test]
    fn a_refusal_changes_nothing(changes in changes()) {
        let mut world = World::default();
        for change in &changes {
            let (registry, identities) = (world.registry.clone(), world.identities.clone());
            let refused = match *change {
                Change::Add(key) => world.add(key).is_err(),
                Change::Delist(key) => world.delist(key).is_err(),
                Change::Stop(key, launched) => world.intend(key, launched, true).is_err(),
                Change::Restart(key, launched) => world.intend(key, launched, false).is_err(),
                _ => continue,
            };
            if refused {
                prop_assert_eq!(&world.registry, &registry);
                prop_assert_eq!(&world.identities, &identities);
            }
        }
    }
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let mut world = World::default();
    world.add("a").unwrap();
    assert_eq!(world.add("a"), Err(AddRefusal::NameTaken(name("a"))));
    let unusable = Unusable { key: "b".to_owned(), id: None, reason: "no object".to_owned() };
    world.registry = Registry::from_parts(Vec::new(), vec![unusable]);
    assert_eq!(world.add("b"), Err(AddRefusal::NameTaken(name("b"))));
}

#[test]
fn what_no_program_can_be_given_is_refused() {
    let mut world = World::default();
    let with_nul = spec(Some("a\0b"));
    let added = world.registry.add(&mut world.identities, name("a"), with_nul, id(1), "test", NOW);
    assert_eq!(added, Err(AddRefusal::Nul("the prompt")));
    let mut with_nul = spec(None);
    with_nul.extra_args = vec!["\0".to_owned()];
    let added = world.registry.add(&mut world.identities, name("a"), with_nul, id(1), "test", NOW);
    assert_eq!(added, Err(AddRefusal::Nul("an argument")));
}

#[test]
fn add_buries_a_predecessor_that_was_taken_off_without_a_tombstone() {
    let mut world = World::default();
    let first = world.add("a").unwrap();
    // A crash between the two writes of `rm`, or an editor, leaves the identity alone behind.
    world.registry = Registry::default();
    world.add("a").unwrap();
    assert!(world.identities.is_removed(first));
}

#[test]
fn removing_an_entry_without_id_removes_the_session_that_it_is() {
    let mut world = World::default();
    let first = world.add("a").unwrap();
    world.registry.entry_mut(&name("a")).unwrap().id = None;
    assert_eq!(world.delist("a").unwrap().id, Some(first));
    assert!(world.identities.is_removed(first));
}

#[test]
fn removing_an_unusable_entry_buries_its_id() {
    let mut world = World::default();
    let first = world.add("a").unwrap();
    let unusable =
        Unusable { key: "a".to_owned(), id: Some(first), reason: "no object".to_owned() };
    world.registry = Registry::from_parts(Vec::new(), vec![unusable]);
    assert!(matches!(world.intend("a", 0, true), Err(VerbRefusal::Unusable { .. })));
    assert_eq!(world.delist("a").unwrap(), Delisted { id: Some(first), entry: None });
    assert!(world.identities.is_removed(first));
    assert_eq!(world.delist("a"), Err(VerbRefusal::NotListed(name("a"))));
}

#[test]
fn a_stop_and_a_restart_say_who_and_forget_it() {
    let mut world = World::default();
    world.add("a").unwrap();
    world.intend("a", 7, true).unwrap();
    let entry = world.registry.entry(&name("a")).unwrap();
    assert_eq!((entry.stopped, entry.stopped_by.as_deref()), (true, Some("test")));
    assert_eq!(entry.generation, 8);
    world.intend("a", 0, false).unwrap();
    let entry = world.registry.entry(&name("a")).unwrap();
    assert_eq!((entry.stopped, entry.stopped_by.as_deref(), entry.generation), (false, None, 9));
}

#[test]
fn parking_waits_for_nothing_newer() {
    let mut world = World::default();
    let first = world.add("a").unwrap();
    let park = |world: &mut World, generation| {
        world.registry.park(&mut world.identities, first, generation, "a clean exit")
    };
    world.intend("a", 0, false).unwrap();
    assert!(!park(&mut world, 1), "a restart came after the end");
    assert!(park(&mut world, 2));
    assert_eq!(world.registry.entry(&name("a")).unwrap().generation, 3);
    assert!(!park(&mut world, 3), "parked twice");
    world.delist("a").unwrap();
    assert!(!park(&mut world, 3), "not listed");
}

#[test]
fn an_identity_remembers_the_prompt_that_was_consumed() {
    let mut world = World::default();
    let added =
        world.registry.add(&mut world.identities, name("a"), spec(Some("go")), id(1), "t", NOW);
    added.unwrap();
    let entry = world.registry.entry_mut(&name("a")).unwrap();
    entry.spec.initial_prompt = None;
    entry.conversation = Some("c".to_owned());
    let entry = entry.clone();
    assert!(world.identities.see(&name("a"), &entry));
    assert!(!world.identities.see(&name("a"), &entry));
    let identity = &world.identities.live[&id(1)];
    assert_eq!(identity.prompt, Some(PromptHash::of("go")));
    assert_eq!(identity.conversations, ["c"]);
}
