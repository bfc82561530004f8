//! The subscription verbs as a person, a session and a program call them.

use std::os::unix::fs::PermissionsExt as _;

use agent_box_webhook::filters::Owner;
use serde_json::json;

use crate::beside::Beside;
use crate::verbs::{Scene, put, read_json};

#[test]
fn a_session_subscribes_with_topic_and_note() {
    let scene = Scene::in_session();
    let words = ["subscribe", "defangdevs/agent-box", "--note", "watch the build"];
    let done = scene.run(&words).expect(0);
    assert_eq!(done.stderr, "");
    let said = "subscribed to github:defangdevs/agent-box: watch the build; expires in 1h; ";
    assert!(done.stdout.starts_with(said), "{}", done.stdout);
    let path = scene.paths().state().join("filter.alice-main.json");
    let file = read_json(&path);
    assert_eq!(file["enabled"], true);
    assert_eq!(file["topics"][0]["topic"], "github:defangdevs/agent-box");
    assert_eq!(file["topics"][0]["note"], "watch the build");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let state = scene.paths().state().metadata().unwrap();
    assert_eq!(state.permissions().mode() & 0o777, 0o700);
    let again = scene.run(&["subscribe", "DefangDevs/Agent-Box", "--ttl-hours", "3"]).expect(0);
    assert!(again.stdout.contains("renewed subscription to"), "{}", again.stdout);
    assert!(again.stdout.contains("watch the build; expires in 3h"), "{}", again.stdout);
    assert_eq!(scene.list()["topics"].as_array().unwrap().len(), 1);
    let gone = scene.run(&["unsubscribe", "defangdevs/AGENT-BOX"]).expect(0);
    assert!(gone.stdout.starts_with("unsubscribed from"), "{}", gone.stdout);
    let twice = scene.run(&["unsubscribe", "defangdevs/agent-box"]).expect(0);
    assert!(twice.stdout.starts_with("not subscribed to"), "{}", twice.stdout);
}

#[test]
fn every_flag_and_every_older_name_of_it_is_understood() {
    let scene = Scene::in_session();
    let rule = r#"{"path":"action","in":["opened"]}"#;
    let words = [
        "subscribe",
        "gitea:team/app",
        "--note",
        "--dashed",
        "--ttl",
        "0.5",
        "--renew-on-event",
        "--ignore-sender",
        "@self,joe",
        "--ignore-senders",
        "my-app[bot]",
        "--when",
        rule,
        "--drop",
        r#"{"path":"event","in":["push"]}"#,
        "--deliver-to",
        "session",
    ];
    let done = scene.run(&words).expect(0);
    assert!(done.stdout.contains("[include+exclude rules]"), "{}", done.stdout);
    let row = &scene.list()["topics"][0];
    assert_eq!(row["note"], "--dashed");
    assert_eq!(row["ttlHours"], 0.5);
    assert_eq!(row["renewOnEvent"], true);
    assert_eq!(row["ignoreSenders"], json!(["@self", "joe", "my-app[bot]"]));
    assert_eq!(row["include"]["in"], json!(["opened"]));
    assert_eq!(row["exclude"]["path"], "event");
    let words = [
        "subscribe",
        "gitea:team/app",
        "--note=",
        "--no-renew-on-event",
        "--ignore-sender=",
        "--include={}",
        "--exclude={}",
    ];
    scene.run(&words).expect(0);
    let list = scene.list();
    let row = &list["topics"][0];
    for cleared in ["note", "renewOnEvent", "ignoreSenders", "include", "exclude"] {
        assert!(row.get(cleared).is_none(), "{cleared} in {row}");
    }
    assert_eq!(row["takesNoise"], true, "an empty exclude asks for noise");
    assert_eq!(row["ttlHours"], 0.5, "what was not said stays");
}

#[test]
fn a_refusal_is_1_and_a_wrong_call_2_and_stdout_stays_empty() {
    let scene = Scene::in_session();
    let check = |code: i32, words: &[&str], hint: &str| {
        let done = scene.run(words).expect(code);
        assert_eq!(done.stdout, "", "{words:?}");
        assert!(done.stderr.contains(hint), "{words:?}: {}", done.stderr);
    };
    check(1, &["subscribe", "github:*"], "would match everything");
    check(1, &["subscribe", "no topic"], "write `source:key`");
    check(1, &["subscribe", "o/r", "--include", r#"{"path":"a"}"#], "with one OP of `in`");
    check(1, &["subscribe", "o/r", "--exclude", "7"], "is no rule");
    check(1, &["subscribe", "o/r", "--ignore-sender", "a b"], "cannot be a login");
    check(1, &["unsubscribe", "no topic"], "write `source:key`");
    check(2, &["subscribe"], "<TOPIC>");
    check(2, &["subscribe", "o/r", "--note"], "--note");
    check(2, &["subscribe", "o/r", "--nonsense"], "--nonsense");
    check(2, &["subscribe", "o/r", "extra"], "extra");
    check(2, &["subscribe", "o/r", "--include", "{"], "must be JSON");
    check(2, &["subscribe", "o/r", "--ttl", "-1"], "no number of hours");
    check(2, &["subscribe", "o/r", "--ttl", "NaN"], "no number of hours");
    check(2, &["subscribe", "o/r", "--ttl", "soon"], "soon");
    check(2, &["subscribe", "o/r", "--deliver-to", "nobody"], "nobody");
    check(2, &["subscribe", "o/r", "--session", "a b"], "a b");
    check(2, &["subscribe", "o/r", "--session", "x", "--deliver-to", "subagent"], "--session");
    check(2, &["unsubscribe"], "<TOPIC>");
    check(2, &["self", "--nonsense"], "--nonsense");
    check(2, &["nonsense"], "nonsense");
    assert!(!scene.paths().state().join("filter.alice-main.json").exists());
    let help = scene.run(&[]).expect(0);
    assert!(help.stdout.contains("subscribe"), "{}", help.stdout);
    let help = scene.run(&["--help"]).expect(0);
    assert!(help.stdout.contains("--deliver-to subagent"), "{}", help.stdout);
    assert!(help.stdout.contains("--ignore-sender"), "{}", help.stdout);
}

#[test]
fn a_standing_watch_is_the_boxs_and_pinned() {
    let scene = Scene::in_session();
    let words = ["subscribe", "o/*", "--deliver-to", "subagent", "--note", "triage"];
    let done = scene.run(&words).expect(0);
    assert!(done.stdout.contains("pinned (never expires); each event starts a session"));
    assert!(done.stderr.contains("no receiver has run here yet"), "{}", done.stderr);
    let file = read_json(&scene.paths().dispatch_filter());
    assert_eq!(file["topics"][0]["ttlHours"], 0);
    assert_eq!(file["topics"][0].get("exclude"), None, "no noise rule");
    let list = scene.list();
    assert_eq!(
        (list["filterState"].as_str(), list["topics"].as_array().unwrap().len()),
        (Some("absent"), 0)
    );
    assert_eq!(list["dispatch"]["topics"][0]["expiresIn"], "never (pinned)");
    assert!(list["dispatch"]["warning"].as_str().unwrap().contains("no receiver"));
    let receiver = |spawn: bool| {
        let text = json!({"pid": 1, "version": "0", "spawn": spawn}).to_string();
        put(&scene.paths().receiver(), &text);
    };
    receiver(true);
    assert_eq!(scene.list()["dispatch"].get("warning"), None);
    assert_eq!(scene.run(&["subscribe", "o/*", "--deliver-to", "subagent"]).expect(0).stderr, "");
    receiver(false);
    assert!(scene.list()["dispatch"]["warning"].as_str().unwrap().contains("starts nothing"));
    scene.run(&["unsubscribe", "o/*", "--deliver-to", "subagent"]).expect(0);
    assert_eq!(scene.list()["dispatch"]["topics"], json!([]));
}

#[test]
fn whose_subscriptions_are_meant_is_told_by_the_caller() {
    let mut scene = Scene::new();
    let done = scene.run(&["subscribe", "o/keyless"]).expect(0);
    assert!(done.stderr.contains("--session NAME"), "{}", done.stderr);
    scene.run(&["subscribe", "o/side", "--session", "side"]).expect(0);
    scene.set("LOCAL_WEBHOOK_SELF", "my-app[bot]");
    scene.run(&["subscribe", "o/app"]).expect(0);
    scene.set("LOCAL_WEBHOOK_SESSION", "dispatch");
    scene.run(&["subscribe", "o/never-a-watch"]).expect(0);
    scene.set("LOCAL_WEBHOOK_SESSION", "alice-main");
    scene.run(&["subscribe", "o/main"]).expect(0);
    let topic = |name: &str| {
        let file = read_json(&scene.paths().state().join(name));
        let topics = file["topics"].as_array().unwrap().iter();
        topics.map(|row| row["topic"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(topic("filter.json"), ["github:o/keyless", "github:o/never-a-watch"]);
    assert_eq!(topic("filter.alice-side.json"), ["github:o/side"]);
    assert_eq!(topic("filter.my-appbot.json"), ["github:o/app"]);
    assert_eq!(topic("filter.alice-main.json"), ["github:o/main"]);
    assert!(!scene.paths().dispatch_filter().exists());
    assert_eq!(scene.list()["self"], "my-app[bot]");
    let own = ["subscribe", "o/main", "--ignore-sender", "@self"];
    assert_eq!(scene.run(&own).expect(0).stderr, "");
    let scene = Scene::in_session();
    let said = scene.run(&own).expect(0).stderr;
    assert!(said.contains("@self is nobody yet; `agent-box webhook self`"), "{said}");
}

#[test]
fn muting_keeps_the_rows() {
    let scene = Scene::in_session();
    scene.run(&["subscribe", "o/r"]).expect(0);
    assert!(scene.run(&["mute"]).expect(0).stdout.starts_with("muted"));
    let list = scene.list();
    assert_eq!((&list["enabled"], list["topics"].as_array().unwrap().len()), (&json!(false), 1));
    assert!(list["warning"].as_str().unwrap().contains("unmute"));
    scene.run(&["unmute"]).expect(0);
    assert_eq!(scene.list()["enabled"], true);
    scene.run(&["mute"]).expect(0);
    scene.run(&["subscribe", "o/s"]).expect(0);
    assert_eq!(scene.list()["enabled"], true, "who subscribes wants to be told");
    scene.run(&["mute", "--deliver-to", "subagent"]).expect(0);
    assert_eq!(scene.list()["dispatch"]["enabled"], false);
}

#[test]
fn rows_that_can_never_match_are_listed_with_the_reason_and_can_be_removed() {
    let scene = Scene::in_session();
    let path = Owner::Session("alice-main".to_owned()).path(&scene.paths());
    let text = r#"{"topics":["github:*","*",7,"o/r",{"note":"no topic"}],"mine":[1]}"#;
    put(&path, text);
    let list = scene.list();
    let dead: Vec<&str> = list["topics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["invalid"] == true)
        .map(|row| row["topic"].as_str().unwrap())
        .collect();
    assert_eq!(dead, ["github:*", "*", "7", r#"{"note":"no topic"}"#]);
    for row in dead {
        let done = scene.run(&["unsubscribe", "--", row]).expect(0);
        assert!(done.stdout.starts_with("unsubscribed from"), "{}", done.stdout);
    }
    let file = read_json(&path);
    assert_eq!((&file["topics"], &file["mine"]), (&json!(["o/r"]), &json!([1])));
}

#[test]
fn the_list_is_json_whatever_happened_and_warnings_go_to_stderr() {
    let scene = Scene::in_session();
    let path = Owner::Session("alice-main".to_owned()).path(&scene.paths());
    let text = r#"{"topics":[{"topic":"o/old","subscribedAt":"2020-01-01T00:00:00Z"},"o/r"]}"#;
    put(&path, text);
    let done = scene.run(&["subscriptions"]).expect(0);
    let list: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(list["topics"].as_array().unwrap().len(), 1);
    assert_eq!(done.stderr, "agent-box: expired just now: github:o/old\n");
    assert_eq!(read_json(&path)["topics"], json!(["o/r"]), "it is removed from the file, too");
    put(&path, "my { notes");
    let list = scene.list();
    assert_eq!(list["filterState"], "invalid");
    assert!(list["warning"].as_str().unwrap().contains("cannot be read"), "{list}");
    let done = scene.run(&["unsubscribe", "o/r"]).expect(0);
    assert!(done.stderr.contains("left as it is"), "{}", done.stderr);
    assert_eq!(std::fs::read(&path).unwrap(), b"my { notes");
    let done = scene.run(&["subscribe", "o/r"]).expect(0);
    assert!(done.stderr.contains("filter.alice-main.json.damaged-"), "{}", done.stderr);
    assert_eq!(scene.list()["filterState"], "ok");
    put(&path, "{}");
    assert_eq!(scene.list()["filterState"], "unconfigured");
}

#[test]
fn declared_rules_are_shown_as_they_count() {
    let mut scene = Scene::in_session();
    let words = ["subscribe", "o/*", "--deliver-to", "subagent", "--ignore-sender", "joe"];
    scene.run(&words).expect(0);
    let policy = scene.home().join("policy.json");
    put(
        &policy,
        r#"{"GITHUB:o/*":{"when":{"path":"action","in":["opened"]},"drop":null,"note":"declared"}}"#,
    );
    scene.set("AGENT_BOX_WEBHOOK_POLICY", policy);
    let list = scene.list();
    let row = &list["dispatch"]["topics"][0];
    assert_eq!((&row["declared"], &row["note"]), (&json!(true), &json!("declared")));
    assert_eq!(row["include"]["in"], json!(["opened"]));
    assert_eq!(row.get("ignoreSenders"), None);
    let file = read_json(&scene.paths().dispatch_filter());
    assert_eq!(
        file["topics"][0]["ignoreSenders"],
        json!(["joe"]),
        "the file is nobody's but theirs"
    );
}

#[test]
fn at_the_ceiling_the_list_warns_on_stderr_and_stays_json() {
    let scene = Scene::in_session();
    scene.run(&["subscribe", "o/*", "--deliver-to", "subagent"]).expect(0);
    let (at_rest, beside) = (scene.list(), Beside::new(&scene));
    let list = |live: u64| {
        let status =
            json!({"hookSessions": {"live": live, "max": 2}, "sessions": [], "claimedUpTo": []});
        let done = beside.answer(&status).run(&scene, &["ls"]).expect(0);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&done.stdout).unwrap(), at_rest);
        done.stderr
    };
    assert_eq!(list(1), "");
    assert!(list(2).contains("as many as there may be (2)"));
    assert!(list(3).contains("`agent-box rm NAME`"));
}

#[test]
fn subscribing_a_session_that_is_not_there_is_warned_of() {
    let scene = Scene::new();
    let beside = Beside::new(&scene);
    let session = json!({"sessionId": "i", "name": "main", "agent": "claude", "active": true});
    let status =
        json!({"hookSessions": {"live": 0, "max": 2}, "sessions": [session], "claimedUpTo": []});
    let subscribe = |name: &str| {
        beside.answer(&status).run(&scene, &["subscribe", "o/r", "--session", name]).stderr
    };
    assert_eq!(subscribe("main"), "");
    assert!(subscribe("mian").contains("no session is called \"mian\""));
}
