//! Edits of the session list by hand, while a supervisor runs.

use agent_box_testkit::{Launch, TestBox, within};
use serde_json::{Value, json};

use crate::scene::{
    add_claude, edit_registry, entry, events, id_of, names, registry, say, state, supervised_box,
    wait_launches, wait_mirrored, wait_state,
};

fn live_claude(scene: &TestBox, name: &str) -> Launch {
    add_claude(scene, name, &["--prompt", "do it"]);
    wait_state(scene, name, "live");
    let launch = wait_launches(scene, name, 1);
    // What the launcher mirrors into the list must not be overwritten by the edit.
    wait_mirrored(scene, name);
    launch
}

#[test]
fn an_entry_that_lost_its_id_gets_it_back_and_its_agent_goes_on() {
    let (scene, _supervisor) = supervised_box();
    let launch = live_claude(&scene, "one");
    let id = id_of(&scene, "one");
    edit_registry(&scene, |document| {
        let entry = document["sessions"]["one"].as_object_mut().unwrap();
        entry.remove("id");
        entry.remove("generation");
    });
    within(10).until("the id is back", || entry(&scene, "one")["id"] == json!(id));
    within(1).always("its agent goes on", || launch.is_alive());
    assert_eq!(scene.stubs().launches().len(), 1);
    assert_eq!(state(&scene, "one"), "live");
}

#[test]
fn a_copied_entry_becomes_a_session_of_its_own() {
    let (scene, _supervisor) = supervised_box();
    let launch = live_claude(&scene, "one");
    let id = id_of(&scene, "one");
    edit_registry(&scene, |document| {
        let copy = document["sessions"]["one"].clone();
        document["sessions"]["two"] = copy;
    });
    let second = wait_launches(&scene, "two", 1);
    assert!(!second.is_resumed());
    assert_ne!(second.conversation(), launch.conversation());
    assert_eq!(id_of(&scene, "one"), id);
    assert_ne!(id_of(&scene, "two"), id);
    assert!(launch.is_alive());
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn a_renamed_key_is_followed_without_a_new_launch() {
    let (scene, _supervisor) = supervised_box();
    let launch = live_claude(&scene, "old");
    let id = id_of(&scene, "old");
    edit_registry(&scene, |document| {
        let sessions = document["sessions"].as_object_mut().unwrap();
        let moved = sessions.remove("old").unwrap();
        sessions.insert("new".to_owned(), moved);
    });
    within(10).until("the terminal has the new name", || scene.tmux().sessions() == ["new"]);
    wait_state(&scene, "new", "live");
    assert_eq!(id_of(&scene, "new"), id);
    within(1).always("its agent goes on", || launch.is_alive());
    assert_eq!(scene.stubs().launches().len(), 1);
    say(&scene, &["rm", "new"]);
    assert!(!launch.is_alive());
}

#[test]
fn a_renamed_terminal_is_followed_without_a_new_launch() {
    let (scene, _supervisor) = supervised_box();
    let launch = live_claude(&scene, "one");
    assert!(scene.tmux().run(&["rename-session", "-t", "=one", "mine"]).status.success());
    edit_registry(&scene, |document| document["touched"] = true.into());
    within(2).always("no second one is started", || scene.stubs().launches().len() == 1);
    assert_eq!(state(&scene, "one"), "live");
    say(&scene, &["rm", "one"]);
    assert!(!launch.is_alive());
    within(10).until("its terminal is gone", || scene.tmux().sessions().is_empty());
}

#[test]
fn a_removed_session_that_an_editor_brings_back_is_a_new_one() {
    let (scene, _supervisor) = supervised_box();
    for (name, without_id) in [("with-id", false), ("without-id", true)] {
        let launch = live_claude(&scene, name);
        let mut stale = entry(&scene, name);
        stale["initialPrompt"] = "do it".into();
        let id = id_of(&scene, name);
        say(&scene, &["rm", name]);
        if without_id {
            stale.as_object_mut().unwrap().remove("id");
        }
        edit_registry(&scene, |document| document["sessions"][name] = stale);
        let again = wait_launches(&scene, name, 2);
        assert!(!again.is_resumed(), "{name}");
        assert_eq!(again.prompt(), None, "{name}");
        assert_ne!(again.conversation(), launch.conversation(), "{name}");
        assert_ne!(entry(&scene, name)["id"], json!(id), "{name}");
    }
}

#[test]
fn unknown_fields_keys_and_order_survive_every_command() {
    let (scene, _supervisor) = supervised_box();
    live_claude(&scene, "one");
    edit_registry(&scene, |document| {
        let sessions = document["sessions"].as_object_mut().unwrap();
        let one = sessions.remove("one").unwrap();
        sessions.insert("zero".to_owned(), json!({"agent": "generic", "note": {"deep": [1, 2]}}));
        sessions.insert("one".to_owned(), one);
        document["myKey"] = json!({"kept": true});
    });
    wait_state(&scene, "zero", "live");
    for change in [&["stop", "zero"][..], &["add", "two", "--agent", "generic"], &["rm", "one"]] {
        say(&scene, change);
    }
    let document = registry(&scene);
    assert_eq!(document["myKey"], json!({"kept": true}));
    assert_eq!(document["sessions"]["zero"]["note"], json!({"deep": [1, 2]}));
    assert_eq!(names(&scene), ["zero", "two"]);
    assert!(!events(&scene, "zero", "settled").is_empty());
}

#[test]
fn an_entry_that_cannot_be_used_ends_nothing_and_is_explained() {
    let (scene, _supervisor) = supervised_box();
    let launch = live_claude(&scene, "one");
    edit_registry(&scene, |document| {
        document["sessions"]["one"]["extraArgs"] = json!("not a list");
    });
    wait_state(&scene, "one", "error");
    assert!(state(&scene, "one").contains("extraArgs"), "{}", state(&scene, "one"));
    within(1).always("its agent goes on", || launch.is_alive());
    edit_registry(&scene, |document| document["sessions"]["one"]["extraArgs"] = Value::Null);
    wait_state(&scene, "one", "live");
    assert_eq!(scene.stubs().launches().len(), 1);
}

#[test]
fn a_session_with_no_id_of_an_older_box_is_taken_in_with_its_conversation() {
    let (scene, _supervisor) = supervised_box();
    let conversation = "11111111-2222-4333-8444-555555555555";
    say(&scene, &["add", "any", "--agent", "generic"]);
    wait_mirrored(&scene, "any");
    edit_registry(&scene, |document| {
        document["sessions"]["old"] = json!({
            "agent": "claude", "workingDirectory": scene.project().to_str(), "extraArgs": [],
            "skipPermissions": true, "remoteControl": false, "boxSessionId": conversation,
            "hasRun": false, "initialPrompt": "first task"
        });
    });
    let launch = wait_launches(&scene, "old", 1);
    assert_eq!(launch.conversation(), conversation);
    assert_eq!(launch.prompt(), Some("first task"));
    assert!(id_of(&scene, "old").len() == 36);
}
