//! What the gate lets through and what it refuses.

use std::fs::File;

use agent_box_session::{Agent, Ending, Exit, LaunchRecord, LaunchState, SessionName, SessionSpec};
use agent_box_session_store::{Change, EventKind, Transaction};

use crate::test_box::{Launcher, TestBox};

fn change() -> Change {
    Change::Operator { by: "test".to_owned(), summary: "change".to_owned() }
}

/// Prepares a launch, lets `spoil` change the world, and expects a quiet refusal.
fn refused(why: &str, spoil: impl FnOnce(&TestBox, &mut LaunchRecord)) {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("echo started > out");
    spoil(&test_box, &mut record);
    let output = test_box.run(&record);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "a refusal looks like no failure: {output:?}");
    assert!(said.contains(why), "{said}");
    assert_eq!(test_box.read("out"), "");
    let refusals = test_box.events(EventKind::Refusal);
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusals[0].text.contains(why) && refusals[0].launch == Some(record.launch));
}

fn edit(test_box: &TestBox, work: impl FnOnce(&mut Transaction<'_>, &SessionName)) {
    let name = SessionName::parse("main").unwrap();
    let done = test_box.store.transact(change(), |tx| {
        work(tx, &name);
        Ok::<(), std::convert::Infallible>(())
    });
    done.unwrap();
}

#[test]
fn a_removed_session_starts_nothing() {
    refused("session `main`", |test_box, _| {
        edit(test_box, |tx, name| drop(tx.delist(name, "test").unwrap()));
    });
}

#[test]
fn a_removed_session_whose_name_was_given_away_starts_nothing() {
    refused("session `main`", |test_box, _| {
        edit(test_box, |tx, name| drop(tx.delist(name, "test").unwrap()));
        edit(test_box, |tx, name| {
            tx.add(name.clone(), SessionSpec::new(Agent::Claude), "test").unwrap();
        });
    });
}

#[test]
fn a_session_that_nobody_lists_starts_nothing() {
    refused("not listed", |test_box, _| {
        let empty = "{\n  \"version\": 1,\n  \"sessions\": {}\n}\n";
        test_box.write(".config/agent-box/sessions.json", empty);
    });
}

#[test]
fn a_stopped_session_starts_nothing() {
    refused("is stopped", |test_box, _| {
        edit(test_box, |tx, name| {
            tx.stop(name, "test").unwrap();
        });
    });
}

#[test]
fn a_newer_intent_refuses_the_launch_before_it() {
    refused("generation 1", |test_box, _| {
        edit(test_box, |tx, name| {
            tx.restart(name).unwrap();
        });
    });
}

#[test]
fn a_replaced_launch_starts_nothing() {
    refused("was replaced", |test_box, record| {
        record.launch = test_box.store.mint_launch();
    });
}

#[test]
fn a_session_without_a_record_starts_nothing() {
    refused("no launch record", |test_box, record| {
        test_box.store.remove_launch(record.session).unwrap();
    });
}

#[test]
fn a_session_whose_last_launch_still_lives_starts_nothing() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started > out");
    let held = test_box.store.lifetime_lock(record.session).unwrap().unwrap();
    let output = test_box.run(&record);
    assert!(String::from_utf8_lossy(&output.stdout).contains("still runs"), "{output:?}");
    assert!(output.status.success());
    drop(held);
    assert_eq!(test_box.record(record.session).state, LaunchState::Prepared);
    assert_eq!(test_box.events(EventKind::Refusal).len(), 1);
}

#[test]
fn of_two_launchers_of_one_record_one_starts() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started >> out; exec sleep 1000");
    let both: [Launcher; 2] = [test_box.start(&record), test_box.start(&record)];
    crate::wait::until_true("a refusal", || test_box.events(EventKind::Refusal).len() == 1);
    test_box.wait_for_agent(record.session);
    assert_eq!(test_box.read_when_written("out"), "started\n");
    for launcher in &both {
        launcher.signal("TERM");
    }
    test_box.wait_for_end(record.session);
}

#[test]
fn passing_mirrors_the_launch_into_the_registry() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("exit 3");
    edit(&test_box, |tx, name| {
        tx.registry.entry_mut(name).unwrap().spec.initial_prompt = Some("do it".to_owned());
    });
    record.prompt = Some("do it".to_owned());
    record.carries_prompt = true;
    record.conversation = Some("c-1".to_owned());
    test_box.store.write_launch(&record).unwrap();
    test_box.run(&record);
    let document = test_box.store.read().unwrap();
    let (_, entry) = document.registry.by_id(record.session).unwrap();
    assert!(entry.has_run);
    assert_eq!(entry.conversation.as_deref(), Some("c-1"));
    assert_eq!(entry.spec.initial_prompt, None);
    assert_eq!(test_box.record(record.session).prompt_handed, 1);
}

#[test]
fn a_lock_that_is_not_had_in_time_is_an_error_and_the_launch_stays_prepared() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started > out");
    let lock = File::open(test_box.store.paths().registry_lock()).unwrap();
    lock.lock().unwrap();
    let output = test_box.run(&record);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    let pid = std::process::id().to_string();
    assert!(said.contains("nothing was started") && said.contains(&pid), "{said}");
    drop(lock);
    assert_eq!(test_box.record(record.session).state, LaunchState::Prepared);
    assert_eq!(test_box.read("out"), "");
    assert_eq!(test_box.events(EventKind::Trouble).len(), 1);
}

#[test]
fn a_damaged_registry_is_an_error_and_starts_nothing() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started > out");
    test_box.write(".config/agent-box/sessions.json", "{\"ver");
    let output = test_box.run(&record);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(test_box.record(record.session).state, LaunchState::Prepared);
    assert_eq!(test_box.read("out"), "");
    assert_eq!(test_box.read(".config/agent-box/sessions.json"), "{\"ver");
}

#[test]
fn a_launch_that_was_used_is_not_started_again() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started >> out; kill -9 $$");
    test_box.run(&record);
    let ended = test_box.wait_for_end(record.session);
    assert!(matches!(
        ended.state,
        LaunchState::Ended { exit: Exit::Signal(9), ending: Ending::Respawn, .. }
    ));
    assert!(test_box.run(&record).status.success());
    assert_eq!(test_box.read("out"), "started\n");
}

#[test]
fn words_that_no_supervisor_writes_are_refused() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("true");
    let mut command = test_box.command(&record);
    command.arg("more");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("agent-box up"), "{output:?}");
}
