//! An event on its whole way to an agent: sent, stored, matched, handed over by the MCP server.

use std::process::{Child, Stdio};
use std::time::Duration;

use agent_box_testkit::{process, within};
use serde_json::{Value, json};

use crate::beside::Beside;
use crate::mcp::Client;
use crate::verbs::{Scene, put};

const ID: &str = "0193a000-0000-7000-8000-000000000001";

/// A running receiver with a source; the session main is listed.
struct Receiver {
    scene: Scene,
    beside: Beside,
    child: Child,
}

impl Receiver {
    fn new() -> Self {
        let mut scene = Scene::in_session();
        scene.set("LOCAL_WEBHOOK_PORT", "0");
        scene.set("AGENT_BOX_SESSION_UUID", ID);
        let session = json!({"sessionId": ID, "name": "main", "agent": "claude", "active": true});
        let status = json!({"hookSessions": {"live": 0, "max": 4}, "sessions": [session], "claimedUpTo": []});
        let beside = Beside::new(&scene);
        let mut serve = beside.answer(&status).command(&scene, &["serve"]);
        let child = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let receiver = Self { scene, beside, child };
        let paths = receiver.scene.paths();
        within(20).until("it listens", || {
            paths.receiver().exists() && paths.ingress().exists() && paths.peers().exists()
        });
        receiver.run(&["setup", "github"]);
        receiver
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        self.beside.run(&self.scene, words).expect(0).stdout
    }

    #[track_caller]
    fn push(&self, sender: &str) {
        let payload = json!({
            "repository": {"full_name": "o/r"}, "sender": {"login": sender},
            "ref": "refs/heads/main", "commits": [],
        });
        self.run(&["emit", "github", &payload.to_string(), "--event", "push"]);
    }

    fn become_login(&self, login: &str) {
        put(&self.scene.paths().identity(), &format!("LOCAL_WEBHOOK_SELF={login}\n"));
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        process::send(self.child.id().try_into().unwrap(), rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

fn sender_of(pushed: &Value) -> &str {
    pushed["params"]["meta"]["sender"].as_str().unwrap()
}

#[test]
fn an_event_reaches_a_channel_and_what_the_box_itself_does_is_left_out() {
    let mut receiver = Receiver::new();
    receiver.become_login("octo");
    receiver.run(&["subscribe", "o/r", "--note", "my fix", "--ignore-sender", "@self"]);
    receiver.scene.set("AGENT_BOX_CHANNEL", "1");
    let mut client = Client::initialized(&receiver.scene, &json!({}));
    receiver.push("Octo");
    receiver.push("joe");
    let pushed = client.hear();
    assert_eq!(pushed["method"], "notifications/claude/channel");
    assert_eq!(sender_of(&pushed), "joe", "the order is kept, so the box's own did not come");
    let content = pushed["params"]["content"].as_str().unwrap();
    for expected in ["UNTRUSTED webhook:github", "o/r", "subscribed to github:o/r <1h ago: my fix"]
    {
        assert!(content.contains(expected), "{expected}: {content}");
    }
    // Somebody else since a moment ago, without a restart.
    receiver.become_login("joe");
    receiver.push("joe");
    receiver.push("octo");
    assert_eq!(sender_of(&client.hear()), "octo");
    assert_eq!(client.hears_within(Duration::from_millis(100)), None);
    client.end();
    let file =
        crate::verbs::read_json(&receiver.scene.paths().state().join("filter.alice-main.json"));
    assert!(file["topics"][0]["lastActivityAt"].is_string(), "{file}");
}

#[test]
fn what_came_while_nobody_listened_waits_and_is_read_once() {
    let receiver = Receiver::new();
    receiver.run(&["subscribe", "o/r"]);
    for sender in ["one", "two", "three"] {
        receiver.push(sender);
    }
    let mut client = Client::initialized(&receiver.scene, &json!({}));
    let mut text = String::new();
    within(10).until("all three are read", || {
        let (more, failed) = client.call("webhook_read", &json!({"max": 2}));
        assert!(!failed, "{more}");
        text.push_str(&more);
        ["one", "two", "three"].iter().all(|sender| text.contains(sender))
    });
    for sender in ["⟪UNTRUSTED:one⟫", "⟪UNTRUSTED:two⟫", "⟪UNTRUSTED:three⟫"] {
        assert_eq!(text.matches(sender).count(), 1, "{text}");
    }
    assert_eq!(client.call("webhook_read", &json!({})), ("nothing waits".to_owned(), false));
    client.end();
}
