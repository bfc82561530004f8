//! The subscription that a hook session has from its start.

use std::os::unix::fs::PermissionsExt as _;

use agent_box_event::contract::Request;
use agent_box_event::{EventKey, Object};
use serde_json::Value;

use crate::scene::{Scene, batch};

#[test]
fn a_session_is_subscribed_to_the_events_own_topic() {
    let scene = Scene::new();
    let done = scene.spawn(&batch(7), "events").expect_success();
    let file = format!("filter.{}-{}.json", scene.user(), Scene::answer(&done).1);
    assert_eq!(scene.filters(), std::slice::from_ref(&file));
    let path = scene.webhook().join(file);
    let filter: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((&filter["enabled"], &filter["ttlHours"]), (&true.into(), &2.into()));
    let topics = filter["topics"].as_array().unwrap();
    assert_eq!(topics.len(), 1);
    let row = &topics[0];
    assert_eq!(row["topic"], "github:defangdevs/agent-box", "never the watch's wildcard");
    assert_eq!(row["renewOnEvent"], true);
    assert_eq!(row["ignoreSenders"], serde_json::json!(["@self"]));
    assert!(row["note"].as_str().unwrap().contains("seeded"));
    assert_eq!(row["subscribedAt"], row["lastActivityAt"]);
    assert_eq!(row.get("include"), None, "it claims nothing by rules");
    assert_eq!(row.get("objects"), None, "these events named none");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&scene.webhook())), (0o600, 0o700));
}

/// Seen red with a subscription of the whole topic: what else failed in the repository started
/// nothing while the session lived.
#[test]
fn a_session_hears_of_its_topic_what_it_was_started_for() {
    let scene = Scene::new();
    let objects = vec![Object::PullRequest(7), Object::Branch("o/r@\"main\"".to_owned())];
    let done = scene.spawn(&Request { objects, ..batch(7) }, "events").expect_success();
    let name = Scene::answer(&done).1;
    let path = scene.webhook().join(format!("filter.{}-{name}.json", scene.user()));
    let filter: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let objects = &filter["topics"][0]["objects"];
    assert_eq!(*objects, serde_json::json!(["pr:7", "branch:o/r@\"main\""]));
    assert!(scene.prompt(&name).contains("about the same pull request, issue, branch"));
}

#[test]
fn the_state_directory_may_be_elsewhere() {
    let mut scene = Scene::new();
    let elsewhere = scene.test_box.home().join("state");
    scene.set("LOCAL_WEBHOOK_STATE_DIR", elsewhere.to_str().unwrap());
    scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 1);
    assert_eq!(scene.filters(), [] as [String; 0]);
}

#[test]
fn without_a_topic_of_its_own_a_session_starts_unsubscribed() {
    let scene = Scene::new();
    let starred = EventKey::parse("o/*").unwrap();
    for (number, request) in [
        (1, Request { key: None, ..batch(1) }),
        (2, Request { source: None, ..batch(2) }),
        (3, Request { key: Some(starred), ..batch(3) }),
    ] {
        let done = scene.spawn(&request, "events").expect_success();
        let prompt = scene.prompt(&Scene::answer(&done).1);
        assert!(number == 3 || !prompt.contains("already subscribed"), "{prompt}");
    }
    let seeded = scene.filters();
    assert_eq!(seeded.len(), 1, "{seeded:?}");
}

#[test]
fn a_seed_that_cannot_be_written_only_warns() {
    let mut scene = Scene::new();
    scene.test_box.put("file", "");
    let inside = scene.test_box.home().join("file/state");
    scene.set("LOCAL_WEBHOOK_STATE_DIR", inside.to_str().unwrap());
    let done = scene.spawn(&batch(7), "events").expect_success();
    assert!(done.stderr.contains("starts without a subscription"), "{}", done.stderr);
    assert!(!scene.prompt(&Scene::answer(&done).1).contains("already subscribed"));
}
