//! The file as other programs know it survives every edit.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use agent_box_session::{Agent, SessionSpec};
use agent_box_session_store::{Change, Transaction};
use serde_json::Value;

use crate::home::{Home, REFERENCE, name, operator};

#[test]
fn a_reference_registry_is_read_as_the_reference_reads_it() {
    let home = Home::with(REFERENCE);
    let registry = home.store.read().unwrap().registry;
    let main = registry.entry(&name("main")).unwrap();
    assert_eq!(main.spec.agent, Some(Agent::Claude));
    assert_eq!(main.conversation.as_deref(), Some("6f1c2d7e-0f5d-4a0e-9f57-0f8f3f6f0001"));
    assert!(main.has_run && !main.stopped && main.id.is_none() && main.generation == 0);
    let helper = registry.entry(&name("helper")).unwrap();
    assert!(helper.spec.skip_permissions && !helper.spec.remote_control && helper.stopped);
    assert_eq!(helper.spec.extra_args, ["-i", ""]);
    assert_eq!((&helper.spec.remote_control_name, &helper.spec.initial_prompt), (&None, &None));
    let bare = registry.entry(&name("bare")).unwrap();
    assert!(bare.spec.agent.is_none() && bare.spec.remote_control);
    let unusable: Vec<_> =
        registry.unusable().iter().map(|it| (it.key.as_str(), it.reason.as_str())).collect();
    assert_eq!(unusable[0].0, "bad name");
    assert_eq!(unusable[1], ("half", "it is not an object"));
    assert_eq!(unusable[2], ("wrong", "`extraArgs` is not a list of texts"));
}

#[test]
fn an_edit_changes_its_own_fields_and_not_one_other_byte() {
    let home = Home::with(REFERENCE);
    home.store
        .transact(operator("mirror"), |tx| {
            let entry = tx.registry.entry_mut(&name("helper")).unwrap();
            entry.has_run = true;
            entry.stopped = false;
            entry.spec.extra_args = vec!["a\nb".to_owned()];
            Ok::<_, std::convert::Infallible>(())
        })
        .unwrap();
    let expect = REFERENCE
        .replace("false,\n      \"stopped\": true", "true")
        .replace("        \"-i\",\n        \"\"\n", "        \"a\\nb\"\n");
    assert_eq!(home.text(), expect);
}

#[test]
fn a_new_session_is_appended_in_the_reference_shape() {
    let home = Home::with(REFERENCE);
    let id = home.add("task");
    let text = home.text();
    assert!(text.starts_with(REFERENCE.trim_end().trim_end_matches("\n  }\n}")), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    let entry = value["sessions"]["task"].as_object().unwrap();
    let keys: Vec<&str> = entry.keys().map(String::as_str).collect();
    let expect = "agent skipPermissions remoteControl remoteControlName workingDirectory extraArgs \
                  initialPrompt resumePrompt boxSessionId hasRun id generation createdBy";
    assert_eq!(keys.join(" "), expect);
    assert_eq!(entry["id"], id.to_string());
    assert_eq!(entry["boxSessionId"], Value::Null);
    assert_eq!((&entry["hasRun"], &entry["generation"]), (&Value::Bool(false), &Value::from(1)));
    assert_eq!(value["note"], "kept by hand");
}

#[test]
fn restart_deletes_the_stop_flag_and_keeps_what_it_does_not_know() {
    let home = Home::with(REFERENCE);
    let store = &home.store;
    store.transact(operator("restart"), |tx| tx.restart(&name("helper"))).unwrap();
    let text = home.text();
    assert!(!text.contains("stopped"), "{text}");
    for kept in ["\"bl\\u00fce\"", "1.50", "123456789012345678901234567890", "\"half\": 7"] {
        assert!(text.contains(kept), "{kept}");
    }
    home.stop("helper");
    assert!(home.text().contains("\"stopped\": true,\n      \"stoppedBy\": \"test\""));
}

#[test]
fn unusable_entries_can_be_removed_by_name_and_stay_otherwise() {
    let home = Home::with(REFERENCE);
    let store = &home.store;
    store.transact(operator("rm"), |tx| tx.delist(&name("wrong"), "test")).unwrap();
    let text = home.text();
    assert!(!text.contains("wrong") && text.contains("bad name") && text.contains("\"half\": 7"));
}

#[test]
fn a_repeated_key_is_removed_in_every_occurrence() {
    let twice = r#"{"sessions":{"a":{"agent":"shell"},"b":{},"a":{"agent":"codex"}}}"#;
    let home = Home::with(twice);
    let registry = home.store.read().unwrap().registry;
    assert_eq!(registry.entry(&name("a")).unwrap().spec.agent, Some(Agent::Codex), "the last");
    home.delist("a");
    assert_eq!(home.names(), ["b"]);
}

#[test]
fn a_transaction_without_a_change_writes_nothing() {
    let home = Home::with(REFERENCE);
    let before = fs::metadata(home.registry()).unwrap().modified().unwrap();
    let nothing = |_: &mut Transaction<'_>| Ok::<_, std::convert::Infallible>(());
    home.store.transact(Change::Mirror, nothing).unwrap();
    assert_eq!(fs::metadata(home.registry()).unwrap().modified().unwrap(), before);
    assert!(home.store.history().unwrap().is_empty());
}

#[test]
fn a_refusal_leaves_everything_as_it_was() {
    let home = Home::with(REFERENCE);
    let state = Home::files(&home.store.paths().state());
    let result = home.store.transact(operator("add twice"), |tx| {
        tx.add(name("new"), SessionSpec::new(Agent::Shell), "test")?;
        tx.add(name("main"), SessionSpec::new(Agent::Shell), "test")
    });
    assert!(result.unwrap_err().to_string().contains("already exists"));
    assert_eq!(home.text(), REFERENCE);
    assert_eq!(Home::files(&home.store.paths().state()), state);
}

#[test]
fn mode_and_symlink_of_the_registry_are_kept() {
    let home = Home::new();
    home.add("one");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.registry()), 0o600);
    assert_eq!(mode(&home.store.paths().config()), 0o700);
    fs::set_permissions(home.registry(), fs::Permissions::from_mode(0o640)).unwrap();
    home.add("two");
    assert_eq!(mode(&home.registry()), 0o640);

    let dotfiles = home.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let target = dotfiles.join("sessions.json");
    crate::home::put(&target, home.text().as_bytes());
    fs::remove_file(home.registry()).unwrap();
    symlink("../../dotfiles/sessions.json", home.registry()).unwrap();
    home.add("three");
    assert!(fs::symlink_metadata(home.registry()).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), home.text());
    assert_eq!(home.names(), ["one", "two", "three"]);
    assert_eq!(Home::files(&dotfiles).len(), 1, "no temporary file is left");
}

#[test]
fn a_renamed_key_keeps_its_place_and_its_unknown_fields() {
    let home = Home::new();
    home.add("one");
    home.add("two");
    let marked = home.text().replacen("\"hasRun\"", "\"colour\": 7.0,\n      \"hasRun\"", 1);
    home.write(marked.replace("\"one\"", "\"uno\"").as_bytes());
    assert_eq!(home.settle().len(), 1);
    // The rename is undone by key, in place.
    home.store.undo("test", 1).unwrap();
    assert_eq!(home.names(), ["one", "two"]);
    assert!(home.text().contains("7.0"));
}

#[test]
fn tombstones_outlive_the_session_and_hold_what_was_known_of_it() {
    let home = Home::new();
    let id = home.add("one");
    assert!(home.store.tombstone(id).unwrap().is_none());
    assert_eq!(home.delist("one"), id);
    let tombstone = home.store.tombstone(id).unwrap().unwrap();
    assert_eq!((tombstone.identity.name, tombstone.by.as_str()), (name("one"), "test"));
    assert_ne!(home.add("one"), id);
    // An old copy of the file brings the name back, but not the id.
    let text = home.text();
    home.delist("one");
    home.write(text.as_bytes());
    home.settle();
    let listed = home.store.read().unwrap().registry;
    let new = listed.entry(&name("one")).unwrap().id.unwrap();
    assert!(home.store.tombstone(new).unwrap().is_none());
}
