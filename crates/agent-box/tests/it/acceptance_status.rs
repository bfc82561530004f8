//! How the box itself is.

use std::fs;

use agent_box_testkit::TestBox;
use serde_json::Value;

use crate::scene::{PROGRAM, add_claude, ask, put_registry, quiet_box, say, supervise, wait_state};
use crate::webhook_box::WebhookBox;

#[test]
fn status_tells_of_supervisor_server_and_list() {
    let mut scene = quiet_box();
    let status = ask(&scene, &["status"]);
    assert!(status["supervisor"].is_null(), "{status}");
    assert!(status["tmux"]["trouble"].as_str().unwrap().contains("does not run"), "{status}");

    let supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let status = ask(&scene, &["status"]);
    let holder = status["supervisor"].as_str().unwrap();
    assert!(holder.contains(&supervisor.pid().to_string()), "{status}");
    assert_eq!(status["tmux"]["pid"], scene.tmux().server_pid().unwrap());
    assert_eq!(status["tmux"]["outdated"], false);
    assert_eq!(status["sessions"], 1);

    // Another tmux was installed since.
    let newer = scene.command(&["status"]).env("AGENT_BOX_TMUX_INSTALLED", "/bin/cat").run();
    assert!(newer.expect_success().stdout.contains("until the next reboot"));

    put_registry(&scene, "");
    let damaged = scene.run(&["status"]).expect_code(3);
    assert!(damaged.stdout.contains("is empty"), "{}", damaged.stdout);
    assert!(say(&scene, &["--help"]).contains("status"));
}

/// The one concern that status has, if it has any.
fn concern(scene: &TestBox) -> Option<String> {
    let status = ask(scene, &["status"]);
    let concerns = status["concerns"].as_array().unwrap();
    assert!(concerns.len() < 2, "{status}");
    concerns.first().and_then(Value::as_str).map(str::to_owned)
}

#[test]
fn status_is_concerned_about_webhooks_that_nobody_receives() {
    let never = quiet_box();
    assert_eq!(concern(&never), None, "webhooks were never set up");

    let mut webhooks = WebhookBox::new(PROGRAM);
    let dead = concern(&webhooks.scene).unwrap();
    assert!(dead.contains("no webhook receiver runs") && dead.contains("agent-box up"), "{dead}");
    let receiver = webhooks.serve();
    assert_eq!(concern(&webhooks.scene), None);
    receiver.kill();
    // Its number is another program's now.
    let said = fs::read_to_string(webhooks.paths.receiver()).unwrap();
    let mut said: Value = serde_json::from_str(&said).unwrap();
    said["pid"] = std::process::id().into();
    webhooks.scene.put(".local/state/local-webhook/receiver.json", &said.to_string());
    assert_eq!(concern(&webhooks.scene), Some(dead));
}

#[test]
fn status_is_concerned_about_webhook_files_that_cannot_be_read() {
    let mut webhooks = WebhookBox::new(PROGRAM);
    let receiver = webhooks.serve();
    let sources = ".local/state/local-webhook/sources.json";
    let good = webhooks.scene.read(sources);
    webhooks.scene.put(sources, "{");
    let broken = concern(&webhooks.scene).unwrap();
    assert!(broken.contains("sources.json: no JSON"), "{broken}");
    webhooks.scene.put(sources, &good);
    receiver.terminate().expect_success();
    // It is said what keeps a receiver from running, and not that none runs as well.
    webhooks.scene.put(".local/state/local-webhook/inbox.db", "not an inbox");
    let damaged = concern(&webhooks.scene).unwrap();
    assert!(damaged.contains("the inbox is damaged") && damaged.contains(".recover"), "{damaged}");
}
