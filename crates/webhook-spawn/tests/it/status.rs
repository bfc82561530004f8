//! What a receiver may learn of sessions.

use agent_box_session::Agent;
use serde_json::json;

use crate::scene::{Scene, batch};

#[test]
fn the_status_lists_sessions_and_counts_as_the_wrapper_does() {
    let mut scene = Scene::new();
    let main = scene.add("main", Agent::Codex);
    let stopped = scene.add("hook-stopped", Agent::Claude);
    scene.stop("hook-stopped");
    scene.test_box.tmux().start("hook-unlisted", &["sleep", "1000"]);
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "2");
    let status = |scene: &Scene| -> serde_json::Value {
        let done = scene.test_box.run(&["status", "--json"]).expect_success();
        assert_eq!(done.stderr, "");
        serde_json::from_str(&done.stdout).unwrap()
    };
    assert_eq!(
        status(&scene),
        json!({
            "hookSessions": {"live": 1, "max": 2},
            "sessions": [
                {"sessionId": main.to_string(), "name": "main", "agent": "codex", "active": true},
                {
                    "sessionId": stopped.to_string(),
                    "name": "hook-stopped",
                    "agent": "claude",
                    "active": false,
                },
            ],
            "claimedUpTo": [],
        })
    );
    scene.spawn(&batch(7), "events").expect_success();
    assert_eq!(status(&scene)["hookSessions"]["live"], 2);
    assert_eq!(status(&scene)["claimedUpTo"], json!([batch(7).batch.unwrap().to_string()]));
    scene.spawn(&batch(8), "events").expect_code(75);
    let text = scene.test_box.run(&["status"]).expect_success().stdout;
    for said in [
        "2 of 2 hook sessions",
        "hook-stopped (claude, stopped)",
        "last made to wait at",
        "agent-box rm",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_fresh_box_has_no_session_and_a_damaged_one_no_answer() {
    let scene = Scene::new();
    let fresh = scene.test_box.run(&["status", "--json"]).expect_success();
    let fresh: serde_json::Value = serde_json::from_str(&fresh.stdout).unwrap();
    let nothing = json!({"hookSessions": {"live": 0, "max": 4}, "sessions": [], "claimedUpTo": []});
    assert_eq!(fresh, nothing);
    for damage in ["{", r#"{"version": 1, "sessions": {}, "claimedBatches": []}"#] {
        scene.test_box.put(".config/agent-box/sessions.json", damage);
        let damaged = scene.test_box.run(&["status", "--json"]).expect_code(1);
        assert_eq!(damaged.stdout, "");
        assert!(damaged.stderr.contains("sessions.json"), "{}", damaged.stderr);
        // Nobody can say whether this batch has its session: that is no failure of the batch.
        scene.spawn(&batch(7), "events").expect_code(74);
    }
}

#[test]
fn the_status_waits_for_no_lock() {
    let scene = Scene::new();
    scene.test_box.points().arm("spawn.locked", "pause-once");
    let holder = scene.wrapper(&batch(7), "events").start();
    scene.test_box.points().wait_reached("spawn.locked");
    scene.test_box.run(&["status", "--json"]).expect_success();
    scene.test_box.points().release("spawn.locked");
    holder.wait().expect_success();
}

#[test]
fn help_and_version_are_there() {
    let scene = Scene::new();
    let help = scene.test_box.run(&["--help"]).expect_success().stdout;
    for said in ["Examples:", "75 the box is full", "--preamble", "status", "deliver"] {
        assert!(help.contains(said), "{said}: {help}");
    }
    let version = scene.test_box.run(&["--version"]).expect_success().stdout;
    assert!(version.starts_with("agent-box-webhook-spawn "), "{version}");
    scene.test_box.run(&["--nonsense"]).expect_code(2);
}
