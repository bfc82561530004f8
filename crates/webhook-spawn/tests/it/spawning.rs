//! One batch, one session: names, claims, collisions.

use agent_box_event::contract::Request;
use agent_box_event::{EventKey, hook_name};
use agent_box_session::Agent;
use serde_json::Value;

use crate::scene::{Scene, batch};

#[test]
fn a_batch_gets_one_session_with_no_supervisor_about() {
    let scene = Scene::new();
    let request = batch(7);
    let done = scene.spawn(&request, "[UNTRUSTED webhook:github] push\n").expect_success();
    let (id, name) = Scene::answer(&done);
    assert!(name.starts_with("hook-defangdevs-agent-box-"), "{name}");
    assert_eq!(scene.hooks(), std::slice::from_ref(&name));
    let entry = scene.entry(&name);
    assert_eq!(entry["id"], Value::String(id.clone()));
    assert_eq!(entry["agent"], "claude");
    assert_eq!(entry["createdBy"], "webhook");
    let registry = scene.registry();
    assert_eq!(registry["claimedBatches"][request.batch.unwrap().to_string()], Value::String(id));
    assert_eq!(done.stderr, "");
}

#[test]
fn a_rerun_changes_nothing_and_answers_the_same() {
    let scene = Scene::new();
    let first = scene.spawn(&batch(7), "events").expect_success();
    let before = std::fs::read(scene.test_box.registry()).unwrap();
    let again = scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(std::fs::read(scene.test_box.registry()).unwrap(), before);
}

#[test]
fn an_agent_that_removed_itself_is_not_started_again() {
    let scene = Scene::new();
    let first = scene.spawn(&batch(7), "events").expect_success();
    scene.remove(&Scene::answer(&first).1);
    assert_eq!(scene.hooks(), [] as [String; 0]);
    let again = scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(scene.hooks(), [] as [String; 0]);
}

#[test]
fn a_claimed_batch_is_answered_whatever_else_is_wrong() {
    let mut scene = Scene::new();
    let first = scene.spawn(&batch(7), "events").expect_success();
    scene.set("AGENT_BOX_DEFAULT_AGENT", "shell");
    let again = scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(again.stdout, first.stdout);
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "1");
    let again = scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(again.stdout, first.stdout);
    scene.spawn(&batch(8), "events").expect_code(75);
}

#[test]
fn two_wrappers_of_one_batch_make_one_session() {
    let scene = Scene::new();
    scene.test_box.points().arm("spawn.locked", "pause");
    let wrappers: Vec<_> = (0..2).map(|_| scene.wrapper(&batch(7), "events").start()).collect();
    scene.test_box.points().wait_reached("spawn.locked");
    scene.test_box.points().release("spawn.locked");
    let answers: Vec<_> =
        wrappers.into_iter().map(|it| it.wait().expect_success().stdout).collect();
    assert_eq!(answers[0], answers[1]);
    assert_eq!(scene.hooks().len(), 1);
}

#[test]
fn settled_claims_are_forgotten_and_others_stay() {
    let scene = Scene::new();
    for number in [1, 2, 3] {
        scene.spawn(&batch(number), "events").expect_success();
    }
    let mut request = batch(4);
    request.lowest = batch(3).batch;
    scene.spawn(&request, "events").expect_success();
    let registry = scene.registry();
    let claims: Vec<&String> = registry["claimedBatches"].as_object().unwrap().keys().collect();
    let expected = [3, 4].map(|number| batch(number).batch.unwrap().to_string());
    assert_eq!(claims, expected.each_ref());
}

#[test]
fn a_session_of_somebody_else_with_that_name_is_left_alone() {
    let scene = Scene::new();
    let request = batch(7);
    let wanted = hook_name(request.key.as_ref(), &request.batch.unwrap()).name;
    let theirs = scene.add(&wanted, Agent::Shell);
    let first = scene.spawn(&request, "events").expect_success();
    let (_, name) = Scene::answer(&first);
    assert_eq!(name, format!("{wanted}-2"));
    assert_eq!(scene.entry(&wanted)["id"], Value::String(theirs.to_string()));
    assert!(scene.prompt(&name).contains(&format!("agent-box-session rm {name}`")));
    // Also after it went, the answer has the name that it had.
    scene.remove(&name);
    scene.add("another", Agent::Shell);
    assert_eq!(scene.spawn(&request, "events").expect_success().stdout, first.stdout);
}

#[test]
fn names_keep_the_key_whole_or_say_that_it_does_not_fit() {
    let mut scene = Scene::new();
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "9");
    let with = |key: &str, number| Request { key: EventKey::parse(key).ok(), ..batch(number) };
    for (number, key) in [(1, "owner-25-chars/repository"), (2, "owner-25-chars/repository-b")] {
        let (_, name) = Scene::answer(&scene.spawn(&with(key, number), "x").expect_success());
        assert!(name.starts_with(&format!("hook-{}-", key.replace('/', "-"))), "{name}");
    }
    let long = "k".repeat(200);
    let done = scene.spawn(&with(&long, 3), "x").expect_success();
    let (_, name) = Scene::answer(&done);
    assert_eq!(name.len(), "hook-".len() + 8, "{name}");
    assert!(done.stderr.contains("does not fit") && done.stderr.contains(&long), "{}", done.stderr);
    assert_eq!(scene.hooks().len(), 3);
}

#[test]
fn without_events_nothing_happens() {
    let scene = Scene::new();
    for events in ["", "\n", "  \r\n"] {
        let done = scene.spawn(&batch(7), events).expect_success();
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
    }
    assert_eq!(scene.registry(), serde_json::json!({}));
}

#[test]
fn by_hand_each_call_is_a_session_and_nothing_is_claimed() {
    let scene = Scene::new();
    let names: Vec<String> = (0..2)
        .map(|_| Scene::answer(&scene.spawn(&Request::default(), "look").expect_success()).1)
        .collect();
    assert!(names.iter().all(|name| name.starts_with("hook-event-")), "{names:?}");
    assert_eq!(scene.hooks(), names);
    assert_eq!(scene.registry().get("claimedBatches"), None);
    assert!(scene.prompt(&names[0]).contains("by hand"));
}

#[test]
fn a_damaged_registry_is_named_and_not_touched() {
    let scene = Scene::new();
    for text in ["{\"sessions\": {", "", "[]", r#"{"sessions":{},"claimedBatches":[]}"#] {
        scene.test_box.put(".config/agent-box/sessions.json", text);
        let done = scene.spawn(&batch(7), "events").expect_code(74);
        assert!(done.stderr.contains("sessions.json"), "{text:?}: {}", done.stderr);
        assert_eq!(std::fs::read_to_string(scene.test_box.registry()).unwrap(), text);
        assert_eq!(scene.filters(), [] as [String; 0], "{text:?}");
    }
}

#[test]
fn a_variable_that_cannot_be_read_is_named() {
    let scene = Scene::new();
    let wrapper = scene.wrapper(&batch(7), "events").env("AGENT_BOX_BATCH_ID", "7");
    let done = wrapper.run().expect_code(1);
    assert!(done.stderr.contains("AGENT_BOX_BATCH_ID"), "{}", done.stderr);
    assert_eq!(scene.hooks(), [] as [String; 0]);
}

#[test]
fn what_else_is_in_the_registry_stays() {
    let scene = Scene::new();
    let text = r#"{"version": 1, "sessions": {"a": {"agent": "shell", "mine": 1.50}}, "z": [ ]}"#;
    scene.test_box.put(".config/agent-box/sessions.json", text);
    scene.spawn(&batch(7), "events").expect_success();
    let after = std::fs::read_to_string(scene.test_box.registry()).unwrap();
    for kept in [r#""mine": 1.50"#, r#""z": [ ]"#] {
        assert!(after.contains(kept), "{after}");
    }
}

#[test]
fn a_box_whose_agent_takes_no_prompt_says_so() {
    let mut scene = Scene::new();
    scene.set("AGENT_BOX_DEFAULT_AGENT", "shell");
    let done = scene.spawn(&batch(7), "events").expect_code(1);
    assert!(done.stderr.contains("AGENT_BOX_DEFAULT_AGENT"), "{}", done.stderr);
    scene.set("AGENT_BOX_DEFAULT_AGENT", "codex");
    let (_, name) = Scene::answer(&scene.spawn(&batch(7), "events").expect_success());
    let entry = scene.entry(&name);
    assert_eq!((&entry["agent"], &entry["remoteControl"]), (&"codex".into(), &false.into()));
}
