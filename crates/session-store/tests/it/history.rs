//! History and undo as an operator meets them.

use agent_box_session::{Agent, SessionSpec};
use agent_box_session_store::{
    Change, GenerationKind, NameChange, TransactError, UndoRefusal, WhatChanged,
};

use crate::home::{Home, REFERENCE, name, operator};

fn mirror(home: &Home, key: &str, conversation: &str) {
    home.store
        .transact(Change::Mirror, |tx| {
            let entry = tx.registry.entry_mut(&name(key)).unwrap();
            entry.has_run = true;
            entry.conversation = Some(conversation.to_owned());
            let entry = entry.clone();
            tx.identities.see(&name(key), &entry);
            Ok::<_, std::convert::Infallible>(())
        })
        .unwrap();
}

#[test]
fn history_says_who_did_what_to_whom() {
    let home = Home::new();
    home.add("one");
    home.stop("one");
    home.delist("one");
    let history = home.store.history().unwrap();
    let told: Vec<_> = history
        .iter()
        .map(|it| (it.number, it.by.as_str(), it.summary.as_str(), it.changes.clone()))
        .collect();
    let change = |what| vec![NameChange { name: "one".to_owned(), what }];
    assert_eq!(
        told,
        [
            (1, "test", "add one", change(WhatChanged::Added)),
            (2, "test", "stop one", change(WhatChanged::Changed)),
            (3, "test", "rm one", change(WhatChanged::Removed)),
        ]
    );
}

#[test]
fn a_removed_session_comes_back_as_it_was_and_goes_again() {
    let home = Home::new();
    let id = home.add("one");
    home.add("two");
    let unknown = home.text().replacen("\"hasRun\"", "\"colour\": 7.0,\n      \"hasRun\"", 1);
    home.write(unknown.as_bytes());
    mirror(&home, "one", "talk");
    home.delist("one");
    let undone = home.store.undo("test", 1).unwrap();
    assert_eq!(undone.restored, [(name("one"), id)]);
    assert!(home.store.tombstone(id).unwrap().is_none());
    let registry = home.store.read().unwrap().registry;
    let entry = registry.entry(&name("one")).unwrap();
    assert_eq!((entry.id, entry.conversation.as_deref()), (Some(id), Some("talk")));
    assert!(entry.generation > 1 && entry.has_run);
    assert!(home.text().contains("\"colour\": 7.0"));
    // It stays itself: nobody takes its id away.
    home.store.transact(Change::Mirror, |tx| tx.settle().map(|done| assert_eq!(done, []))).unwrap();
    // Undo of the undo is a redo, and so on.
    assert_eq!(home.store.undo("test", 1).unwrap().delisted, [(name("one"), id)]);
    assert!(home.store.tombstone(id).unwrap().is_some());
    assert_eq!(home.store.undo("test", 1).unwrap().restored, [(name("one"), id)]);
}

#[test]
fn several_steps_go_back_over_what_was_mirrored_between() {
    let home = Home::new();
    let one = home.add("one");
    mirror(&home, "one", "talk");
    home.stop("one");
    let two = home.add("two");
    mirror(&home, "two", "chat");
    let undone = home.store.undo("test", 2).unwrap();
    assert_eq!(undone.delisted, [(name("two"), two)]);
    assert_eq!(undone.changed, [name("one")]);
    let registry = home.store.read().unwrap().registry;
    let entry = registry.entry(&name("one")).unwrap();
    assert!(!entry.stopped && entry.has_run && entry.id == Some(one));
    assert_eq!(entry.conversation.as_deref(), Some("talk"));
    assert_eq!(entry.generation, 3);
}

#[test]
fn undo_refuses_to_go_further_back_than_history() {
    let home = Home::new();
    home.add("one");
    let refusal = home.store.undo("test", 2).unwrap_err();
    assert!(
        matches!(refusal, TransactError::Refused(UndoRefusal::TooFar { available: 1 })),
        "{refusal}"
    );
    home.store.undo("test", 1).unwrap();
    assert_eq!(home.names(), [""; 0]);
}

#[test]
fn the_registry_that_a_box_brought_along_is_not_undone() {
    let home = Home::with(REFERENCE);
    home.add("one");
    home.store.undo("test", 1).unwrap();
    assert_eq!(home.names(), ["main", "helper", "bare"]);
    assert!(matches!(
        home.store.undo("test", 3),
        Err(TransactError::Refused(UndoRefusal::TooFar { available: 2 }))
    ));
}

#[test]
fn hand_edits_are_noted_once_and_can_be_undone() {
    let home = Home::new();
    let id = home.add("one");
    let document = home.store.read().unwrap();
    assert!(!home.store.note_hand_edit(&document).unwrap());
    home.write(b"{\"version\": 1, \"sessions\": {}}");
    let edited = home.store.read().unwrap();
    assert!(home.store.note_hand_edit(&edited).unwrap());
    assert!(!home.store.note_hand_edit(&edited).unwrap());
    // A look that is older than what history knows is not news.
    assert!(!home.store.note_hand_edit(&document).unwrap());
    let kinds: Vec<_> = home.store.history().unwrap().into_iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [GenerationKind::Operator, GenerationKind::HandEdit]);
    assert_eq!(home.store.undo("test", 1).unwrap().restored, [(name("one"), id)]);
    // One that nobody noted before is found by the next command.
    home.write(home.text().replace("\"one\"", "\"uno\"").as_bytes());
    home.stop("uno");
    assert_eq!(home.store.history().unwrap().len(), 5);
}

#[test]
fn thirty_two_changes_are_kept_however_much_is_mirrored() {
    let home = Home::new();
    home.add("one");
    for number in 0..40 {
        home.store
            .transact(operator(&number.to_string()), |tx| {
                tx.intend(&name("one"), |entry| {
                    entry.spec.working_directory = Some(format!("/{number}"));
                })
            })
            .unwrap();
        mirror(&home, "one", &format!("a{number}"));
        mirror(&home, "one", &format!("b{number}"));
    }
    let history = home.store.history().unwrap();
    let count = |kind| history.iter().filter(|generation| generation.kind == kind).count();
    assert_eq!(count(GenerationKind::Operator), 33, "32 changes and what was before them");
    assert!(count(GenerationKind::Mirror) <= 33);
    home.store.undo("test", 32).unwrap();
    let registry = home.store.read().unwrap().registry;
    let entry = registry.entry(&name("one")).unwrap();
    assert_eq!(entry.spec.working_directory.as_deref(), Some("/7"));
    assert_eq!(entry.conversation.as_deref(), Some("b39"), "mirrors are not set back");
}

#[test]
fn an_undo_of_a_stop_raises_the_generation_above_the_launch() {
    let home = Home::new();
    let id = home.add("one");
    home.stop("one");
    let (agent, launch) = (Agent::Shell, home.store.mint_launch());
    let now = home.store.now();
    let record = agent_box_session::LaunchRecord::blank(id, name("one"), launch, agent, 9, now);
    home.store.write_launch(&record).unwrap();
    home.store.undo("test", 1).unwrap();
    let registry = home.store.read().unwrap().registry;
    assert_eq!(registry.entry(&name("one")).unwrap().generation, 10);
}

#[test]
fn a_history_file_gives_back_the_document_by_hand() {
    let home = Home::new();
    home.store
        .transact(operator("add"), |tx| {
            tx.add(name("one"), SessionSpec::new(Agent::Claude), "test")
        })
        .unwrap();
    let (path, bytes) = Home::files(&home.store.paths().history()).pop().unwrap();
    assert!(path.ends_with("0000000001-operator.json"), "{}", path.display());
    let (_, document) = std::str::from_utf8(&bytes).unwrap().split_once('\n').unwrap();
    assert_eq!(document, home.text());
}
