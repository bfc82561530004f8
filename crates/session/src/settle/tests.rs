//! The rules about hand edits, one by one.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::{Agent, SessionSpec, Timestamp};

fn id(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
}

fn name(text: &str) -> SessionName {
    SessionName::parse(text).unwrap()
}

/// A registry of one entry `a` that was seen before it was edited.
struct Edited {
    registry: Registry,
    identities: Identities,
}

impl Edited {
    /// Session 1 ran with this conversation, its prompt `go` was consumed; generation 4.
    fn ran(conversation: &str) -> Self {
        let mut entry = entry(Some("go"));
        entry.id = Some(id(1));
        entry.generation = 4;
        entry.conversation = Some(conversation.to_owned());
        let mut identities = Identities::default();
        identities.see(&name("a"), &entry);
        entry.spec.initial_prompt = None;
        Self { registry: Registry::from_parts(vec![(name("a"), entry)], Vec::new()), identities }
    }

    /// The same, removed by `rm`.
    fn removed(conversation: &str) -> Self {
        let mut edited = Self::ran(conversation);
        edited.bury();
        edited.registry = Registry::default();
        edited
    }

    fn bury(&mut self) {
        let identity = self.identities.live[&id(1)].clone();
        self.identities.bury(identity, Timestamp::from_millis(1), "test");
    }

    fn with(mut self, key: &str, entry: Entry) -> Self {
        let mut entries: Vec<_> =
            self.registry.entries().map(|(name, entry)| (name.clone(), entry.clone())).collect();
        entries.retain(|(listed, _)| listed.as_str() != key);
        entries.push((name(key), entry));
        self.registry = Registry::from_parts(entries, Vec::new());
        self
    }

    fn edit(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        change(self.registry.entry_mut(&name("a")).unwrap());
        self
    }

    /// Settles; minted ids begin at 100.
    fn settle(&mut self) -> Vec<Settled> {
        let mut minted = 99;
        let mut mint = || {
            minted += 1;
            id(minted)
        };
        let done = settle_identities(&mut self.registry, &mut self.identities, &mut mint);
        assert!(is_settled(&self.registry, &self.identities), "settled once and for all");
        done
    }

    fn entry(&self, key: &str) -> &Entry {
        self.registry.entry(&name(key)).unwrap()
    }
}

/// An entry as a person writes it.
fn entry(prompt: Option<&str>) -> Entry {
    let spec = SessionSpec {
        initial_prompt: prompt.map(str::to_owned),
        working_directory: Some("/srv".to_owned()),
        ..SessionSpec::new(Agent::Claude)
    };
    Entry { id: None, generation: 0, ..Entry::new(id(0), spec) }
}

/// Whose entry `a` is after this edit of a session that ran: 1 is itself, 100 a new one.
fn check(edit: impl FnOnce(&mut Entry), expect: u128) {
    let mut edited = Edited::ran("c1").edit(|entry| {
        entry.id = None;
        entry.generation = 0;
        edit(entry);
    });
    edited.settle();
    let entry = edited.entry("a");
    assert_eq!(entry.id, Some(id(expect)));
    let expected = if expect == 1 { 4 } else { 1 };
    assert_eq!(entry.generation, expected, "attaching restores the generation");
}

#[test]
fn an_entry_that_lost_its_id_gets_it_back_if_it_is_the_same_session() {
    // A conversation alone decides, both ways.
    check(|_| {}, 1);
    check(|entry| entry.spec.agent = Some(Agent::Codex), 1);
    check(|entry| entry.spec.initial_prompt = Some("else".to_owned()), 1);
    check(|entry| entry.conversation = Some("c2".to_owned()), 100);
    // Without one, agent, directory and prompt decide; none matches a consumed prompt.
    let without = |entry: &mut Entry| entry.conversation = None;
    check(without, 1);
    check(
        |entry| {
            without(entry);
            entry.spec.initial_prompt = Some("go".to_owned());
        },
        1,
    );
    check(
        |entry| {
            without(entry);
            entry.spec.initial_prompt = Some("else".to_owned());
        },
        100,
    );
    check(
        |entry| {
            without(entry);
            entry.spec.agent = Some(Agent::Codex);
        },
        100,
    );
    check(
        |entry| {
            without(entry);
            entry.spec.working_directory = None;
        },
        100,
    );
}

#[test]
fn what_is_in_order_is_left_alone() {
    let mut edited = Edited::ran("c1");
    let before = (edited.registry.clone(), edited.identities.clone());
    assert_eq!(edited.settle(), []);
    assert_eq!((edited.registry, edited.identities), before);
}

#[test]
fn an_entry_of_nobody_is_a_new_session() {
    let mut edited = Edited::ran("c1").with("b", entry(Some("go")));
    assert_eq!(edited.settle(), [Settled::Minted(name("b"), id(100))]);
    assert_eq!(edited.entry("b").spec.initial_prompt.as_deref(), Some("go"));
}

/// A removed session that reappears so starts as a new one, without conversation and prompt.
fn check_reappears(key: &str, entry: Entry) {
    let mut edited = Edited::removed("c1").with(key, entry);
    assert_eq!(edited.settle(), [Settled::Reappeared(name(key), id(100))]);
    let entry = edited.entry(key);
    assert_eq!((entry.conversation.as_ref(), entry.has_run), (None, false));
    assert_eq!(entry.spec.initial_prompt, None);
    assert_eq!(entry.generation, 1);
}

#[test]
fn a_removed_session_reappears_as_a_new_one() {
    let by_id = Entry { id: Some(id(1)), generation: 9, has_run: true, ..entry(Some("go")) };
    check_reappears("a", by_id.clone());
    check_reappears("b", by_id);
    let by_conversation =
        Entry { conversation: Some("c1".to_owned()), has_run: true, ..entry(Some("other")) };
    check_reappears("a", by_conversation.clone());
    check_reappears("b", by_conversation);
    check_reappears("a", entry(Some("go")));
}

#[test]
fn a_prompt_makes_a_reappearance_only_under_its_own_name() {
    let mut edited = Edited::removed("c1").with("b", entry(Some("go")));
    assert_eq!(edited.settle(), [Settled::Minted(name("b"), id(100))]);
    assert_eq!(edited.entry("b").spec.initial_prompt.as_deref(), Some("go"));
}

#[test]
fn a_removed_session_does_not_get_an_entry_back() {
    // The tombstone was written, the entry without id came from an editor.
    let mut edited = Edited::removed("c1").with("a", entry(None));
    assert_eq!(edited.settle(), [Settled::Minted(name("a"), id(100))]);
}

#[test]
fn of_two_entries_with_one_id_the_recorded_name_keeps_it() {
    let copy = Edited::ran("c1").entry("a").clone();
    let mut edited = Edited::ran("c1").with("b", copy.clone());
    assert_eq!(edited.settle(), [Settled::Copied(name("b"), id(100))]);
    assert_eq!(edited.entry("a").id, Some(id(1)));
    let entry = edited.entry("b");
    assert_eq!((entry.conversation.as_ref(), entry.generation), (None, 1));

    // The same with the copy in front.
    let mut edited = Edited::ran("c1");
    let entries = vec![(name("b"), copy.clone()), (name("a"), copy)];
    edited.registry = Registry::from_parts(entries, Vec::new());
    assert_eq!(edited.settle(), [Settled::Copied(name("b"), id(100))]);
    assert_eq!(edited.entry("a").id, Some(id(1)));
}

#[test]
fn a_renamed_key_keeps_its_id() {
    let mut edited = Edited::ran("c1");
    let entry = edited.entry("a").clone();
    edited.registry = Registry::from_parts(vec![(name("b"), entry)], Vec::new());
    let renamed = Settled::Renamed { from: name("a"), to: name("b"), id: id(1) };
    assert_eq!(edited.settle(), [renamed]);
    assert_eq!(edited.entry("b").generation, 4);
    assert_eq!(edited.identities.live[&id(1)].name, name("b"));
}

#[test]
fn an_entry_whose_generation_was_dropped_gets_the_last_one_seen() {
    let mut edited = Edited::ran("c1").edit(|entry| entry.generation = 0);
    assert_eq!(edited.settle(), []);
    assert_eq!(edited.entry("a").generation, 4);
}

#[test]
fn the_verbs_refuse_a_name_that_is_not_listed() {
    let mut edited = Edited::ran("c1");
    let settled =
        settle_one(&mut edited.registry, &mut edited.identities, &name("z"), &mut || id(9));
    assert_eq!(settled, Err(VerbRefusal::NotListed(name("z"))));
}

fn an_entry() -> impl Strategy<Value = Entry> {
    let text = |texts: &'static [&'static str]| {
        prop::option::of(prop::sample::select(texts.to_vec()).prop_map(str::to_owned))
    };
    let id = prop::option::of((1_u128..5).prop_map(id));
    (id, 0_u64..4, text(&["c1", "c2", "c3"]), text(&["go", "else"])).prop_map(
        |(id, generation, conversation, prompt)| Entry {
            id,
            generation,
            conversation,
            ..entry(prompt.as_deref())
        },
    )
}

proptest! {
    #[test]
    fn any_file_is_settled_in_one_go(
        entries in prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), an_entry()), 0..4),
        removed in any::<bool>(),
    ) {
        let mut edited = if removed { Edited::removed("c1") } else { Edited::ran("c1") };
        let entries: Vec<_> =
            entries.into_iter().map(|(key, entry)| (name(key), entry)).collect();
        edited.registry = Registry::from_parts(entries, Vec::new());
        let keys = |registry: &Registry| {
            registry.entries().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let before = keys(&edited.registry);
        edited.settle();
        prop_assert_eq!(keys(&edited.registry), before);
        let ids: Vec<_> = edited.registry.entries().map(|(_, entry)| entry.id.unwrap()).collect();
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(ids.len(), unique.len());
        for (_, entry) in edited.registry.entries() {
            prop_assert!(!edited.identities.is_removed(entry.id.unwrap()));
            prop_assert!(entry.generation > 0);
            if removed {
                prop_assert_ne!(
                    (entry.id, entry.conversation.as_deref()),
                    (Some(id(1)), Some("c1"))
                );
            }
        }
        // Once more changes nothing.
        prop_assert_eq!(edited.settle(), vec![]);
    }
}
