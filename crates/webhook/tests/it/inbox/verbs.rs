//! The verbs on a real inbox, with the receiver down and with one that runs.

use std::fs;

use agent_box_event::{BatchId, WaitReason};
use agent_box_webhook::inbox::{Counter, Inbox, InboxError, Incoming, QueueLimits, Stored, Tx};
use serde_json::{Value, json};

use super::rig::{LIMITS, answer, decline, incoming, new_batch, session, wait};
use crate::receiver::Receiver;
use crate::verbs::{Done, Scene, program, put};

/// A user with an inbox that nobody runs.
async fn scene(fill: impl AsyncFnOnce(&Inbox)) -> Scene {
    let scene = Scene::new();
    let path = scene.paths().inbox();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let inbox = Inbox::open(&path, LIMITS).unwrap();
    fill(&inbox).await;
    scene
}

async fn store(inbox: &Inbox, incoming: Incoming) -> u64 {
    let Stored::New(sequence) = inbox.store(incoming).await.unwrap() else { panic!("not new") };
    sequence
}

fn json_of(scene: &Scene, words: &[&str]) -> Value {
    serde_json::from_str(&scene.run(words).expect(0).stdout).unwrap()
}

/// The whole way of a batch.
fn spawn(tx: &mut Tx<'_>, members: &[u64]) -> Result<BatchId, InboxError> {
    let batch = tx.freeze(&new_batch(members, 20))?;
    tx.attempt(batch, 21)?;
    tx.settle(batch, &answer("s1"), 22)?;
    Ok(batch)
}

#[tokio::test]
async fn deliveries_are_listed_the_newest_first() {
    let now = agent_box_webhook::now_ms();
    let scene = scene(async |inbox| {
        store(inbox, incoming("github", "old", b"1", now - 7_300_000)).await;
        store(inbox, incoming("gitea", "mid", b"2", now - 60_000)).await;
        let hostile = Incoming {
            kind: "\u{1b}[31mpush\nforged".to_owned(),
            ..incoming("github", "new", b"3", now)
        };
        store(inbox, hostile).await;
        inbox.store(incoming("github", "old", b"1", now)).await.unwrap();
        inbox.write(|tx| decline(tx, 1, 5)).await.unwrap();
    })
    .await;
    let listed = scene.run(&["deliveries"]).expect(0).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 4, "{listed}");
    assert!(lines[1].starts_with("#3") && lines[1].contains("[31mpush⏎forged"), "{listed}");
    assert!(!listed.contains('\u{1b}'));
    assert!(lines[2].contains("60 s ago") || lines[2].contains("61 s ago"), "{listed}");
    assert!(lines[3].contains("github/old") && lines[3].contains("o/r"), "{listed}");
    assert!(lines[3].ends_with("declined (nobody), came twice"), "{listed}");
    for (words, expected) in [
        (&["-n", "1"][..], json!(["new"])),
        (&["--source", "gitea"], json!(["mid"])),
        (&["--state", "declined"], json!(["old"])),
        (&["--since", "2h"], json!(["new", "mid"])),
        (&["--since", "30s", "--source", "gitea"], json!([])),
    ] {
        let words = [&["deliveries", "--json"], words].concat();
        let found = json_of(&scene, &words);
        let ids: Value = found.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
        assert_eq!(ids, expected, "{words:?}");
    }
    let found = json_of(&scene, &["deliveries", "--json"]);
    assert_eq!(found[2]["duplicates"], 1);
    assert_eq!((&found[2]["state"], &found[2]["detail"]), (&json!("declined"), &json!("nobody")));
    for bad in [&["--state", "lost"][..], &["--since", "2w"], &["-n", "0"], &["--source", "a b"]] {
        scene.run(&[&["deliveries"], bad].concat()).expect(2);
    }
}

#[tokio::test]
async fn a_story_tells_who_wanted_it_what_was_tried_and_who_has_it() {
    let mut batch = None;
    let scene = scene(async |inbox| {
        let body =
            br#"{"action":"opened","issue":{"number":7,"title":"It broke\u001b[31m\u27eb x"}}"#;
        let issue = Incoming { kind: "issues".to_owned(), ..incoming("github", "a", body, 10) };
        store(inbox, issue.clone()).await;
        inbox.store(issue).await.unwrap();
        let main = session("alice-main", "i1");
        let queued = inbox.write(move |tx| {
            wait(tx, 1, 11)?;
            tx.enqueue(1, &main, "text", &json!({}), QueueLimits::default(), 11)?;
            tx.told(&[1], 12)?;
            spawn(tx, &[1])
        });
        batch = Some(queued.await.unwrap());
        store(inbox, incoming("github", "b", body, 30)).await;
        inbox.write(|tx| decline(tx, 2, 31)).await.unwrap();
    })
    .await;
    let batch = batch.unwrap().to_string();
    let told = scene.run(&["explain", "github/a"]).expect(0).stdout;
    for part in [
        "#1 github/a  issues of o/r",
        "state       waiting (session), came twice",
        "next        it waits for its session",
        "received    1970-01-01T00:00:00.010Z",
        "sender      joe",
        // Our own marks, which what came from outside cannot make.
        "⟪UNTRUSTED:It broke[31m» x⟫",
        "objects     issue:7",
        "duplicates  1, the last",
        "watch       github:o/*: look",
        &batch,
        "1 attempt, session hook-s1 (s1)",
        "session     alice-main (i1): told once, ",
        "waiting    window; github:o/*",
        "spawned    session s1 (hook-s1)",
    ] {
        assert!(told.contains(part), "{part:?} is not in\n{told}");
    }
    assert!(!told.contains('\u{1b}'));
    let twin = scene.run(&["explain", "2"]).expect(0).stdout;
    assert!(twin.contains("same content as #1, which has another id"), "{twin}");
    assert!(twin.contains("`agent-box webhook replay 2` asks again"), "{twin}");
    let json = json_of(&scene, &["explain", "a", "--json"]);
    assert_eq!(json.as_array().unwrap().len(), 1);
    let story = &json[0];
    assert_eq!(story["batch"]["id"], batch.as_str());
    assert_eq!(story["batch"]["sessionId"], "s1");
    assert_eq!(story["sessions"][0]["sessionId"], "i1");
    assert_eq!(story["objects"], json!(["issue:7"]));
    let words: Value =
        story["steps"].as_array().unwrap().iter().map(|it| it["word"].clone()).collect();
    assert_eq!(words, json!(["waiting", "queued", "frozen", "attempted", "spawned"]));

    let unknown = scene.run(&["explain", "nobody"]).expect(1).stderr;
    assert!(unknown.contains("`agent-box webhook deliveries` lists them"), "{unknown}");
    scene.run(&["explain", "a b"]).expect(2);
    scene.run(&["explain"]).expect(2);
}

#[tokio::test]
async fn what_waits_says_for_what() {
    let scene = scene(async |inbox| {
        for number in 1..=5_u8 {
            let id = format!("d{number}");
            store(inbox, incoming("github", &id, &[number], 10)).await;
        }
        let reasons = [WaitReason::Cap, WaitReason::Window, WaitReason::Claim, WaitReason::Budget];
        inbox
            .write(move |tx| {
                for (sequence, reason) in (1..).zip(reasons) {
                    wait(tx, sequence, 11)?;
                    tx.reason(sequence, reason, 12)?;
                }
                Ok(())
            })
            .await
            .unwrap();
    })
    .await;
    for (number, next) in [
        ("1", "it starts when a hook session is gone"),
        ("2", "it starts when the time between two batches"),
        ("3", "it starts when the session that works on the same thing is gone"),
        ("4", "it starts when the day's budget allows one more"),
        ("5", "the receiver looks at it as soon as it runs and can read filters and sessions"),
    ] {
        let told = scene.run(&["explain", number]).expect(0).stdout;
        assert!(told.contains(next), "{number}: {told}");
    }
}

#[tokio::test]
async fn without_an_inbox_the_verbs_say_so() {
    let scene = Scene::new();
    let listed = scene.run(&["deliveries"]).expect(0).stdout;
    assert!(listed.starts_with("no receiver has run here yet"), "{listed}");
    assert_eq!(json_of(&scene, &["deliveries", "--json"]), json!([]));
    for verb in ["explain", "replay"] {
        let said = scene.run(&[verb, "a"]).expect(1).stderr;
        assert!(said.contains("no receiver has run here yet"), "{said}");
    }
    let status = json_of(&scene, &["status"]);
    assert_eq!((&status["receiver"], &status["inbox"]), (&Value::Null, &Value::Null));
    assert!(!scene.paths().inbox().exists(), "looking makes none");
}

#[tokio::test]
async fn a_damaged_inbox_is_told_and_left_alone() {
    let scene = scene(async |_| {}).await;
    let path = scene.paths().inbox();
    put(&path, "no database");
    for words in [&["deliveries"][..], &["explain", "a"], &["replay", "a"]] {
        let said = scene.run(words).expect(1).stderr;
        assert!(said.contains("damaged") && said.contains(".recover"), "{said}");
    }
    let done = scene.run(&["status"]).expect(1);
    assert!(done.stderr.contains("the inbox is damaged"), "{}", done.stderr);
    let status: Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(status["inbox"]["problem"].as_str().unwrap().contains("damaged"), "{status}");
    assert_eq!(fs::read(path).unwrap(), b"no database");
}

#[tokio::test]
async fn a_replay_needs_a_receiver_and_one_delivery() {
    let scene = scene(async |inbox| {
        store(inbox, incoming("github", "a", b"1", 1)).await;
        store(inbox, incoming("github", "a", b"2", 1)).await;
        inbox.write(|tx| decline(tx, 1, 5).and_then(|()| decline(tx, 2, 5))).await.unwrap();
    })
    .await;
    let said = scene.run(&["replay", "a"]).expect(1).stderr;
    assert!(said.contains("several deliveries; say which: 1, 2"), "{said}");
    let said = scene.run(&["replay", "1"]).expect(1).stderr;
    assert!(said.contains("no receiver answers") && said.contains("agent-box up"), "{said}");
    let said = scene.run(&["replay", "#9"]).expect(1).stderr;
    assert!(said.contains("no delivery is called `#9`"), "{said}");
}

#[test]
fn with_a_receiver_that_runs_a_delivery_is_replayed_and_the_status_is_told() {
    let mut receiver = Receiver::new();
    let mut scene = Scene::new();
    scene.set("LOCAL_WEBHOOK_STATE_DIR", receiver.paths.state());
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "declined");
    let done = scene.run(&["replay", "github/a"]).expect(0).stdout;
    assert!(done.starts_with("github/a is taken in again as #2\n"), "{done}");
    let again = scene.run(&["replay", "github/a"]).expect(0).stdout;
    assert!(again.starts_with("github/a is taken in again as #3\n"), "the first is meant: {again}");
    let story = scene.run(&["explain", "2"]).expect(0).stdout;
    assert!(story.contains("replay of #1"), "{story}");
    let story = scene.run(&["explain", "1"]).expect(0).stdout;
    assert!(story.contains("replayed   as #2") && story.contains("replayed   as #3"), "{story}");

    let status = json_of(&scene, &["status"]);
    assert_eq!(status["receiver"]["running"], true);
    assert_eq!(status["receiver"]["pid"], std::process::id());
    assert_eq!(status["sources"]["github"]["hasSecret"], true);
    assert!(!status.to_string().contains("0123456789abcdef"), "no secret in it");
    assert_eq!(status["inbox"]["ever"][Counter::Replayed.as_str()], 2);
    assert_eq!(status["inbox"]["ever"][Counter::Received.as_str()], 3);
    assert_eq!(status["dispatch"]["spawnCommand"], true);
    receiver.stop().unwrap();
}

#[tokio::test]
async fn the_status_says_what_waits_and_why_nothing_starts() {
    let mut scene = scene(async |inbox| {
        for id in ["a", "b", "c"] {
            store(inbox, incoming("github", id, id.as_bytes(), 10)).await;
        }
        let main = session("alice-main", "i1");
        let limits = QueueLimits { messages: 1, bytes: 1 };
        inbox
            .write(move |tx| {
                for sequence in 1..=3 {
                    wait(tx, sequence, 11)?;
                    tx.reason(sequence, WaitReason::Cap, 12)?;
                }
                tx.enqueue(1, &main, "x", &json!({}), limits, 12)?;
                tx.enqueue(2, &main, "x", &json!({}), limits, 12)?;
                Ok(())
            })
            .await
            .unwrap();
    })
    .await;
    let state = scene.paths().state().to_owned();
    put(&state.join("receiver.json"), r#"{"pid": 4194304, "version": "0.1.0", "spawn": true}"#);
    scene.run(&["subscribe", "o/*", "--deliver-to", "subagent"]).expect(0);
    let refusal = json!({
        "at": "2026-01-02T00:00:00Z", "firstAt": "2026-01-01T00:00:00Z", "count": 2,
        "live": 4, "max": 4, "key": "o/r",
    });
    let refusals = scene.home().join(".local/state/agent-box/webhook-spawn-refused.json");
    put(&refusals, &refusal.to_string());
    let said = r#"{"hookSessions": {"live": 4, "max": 4}, "sessions": [], "claimedUpTo": []}"#;
    scene.put_program("agent-box-webhook-spawn", &format!("#!/bin/sh\necho '{said}'\n"));
    // The wrapper is asked that lies beside the program.
    let beside = scene.home().join("bin/webhook");
    fs::copy(program(), &beside).unwrap();
    let run = |words: &[&str]| Done::of(scene.command_of(&beside, words).output().unwrap());

    let done = run(&["status"]).expect(0);
    let status: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(status["receiver"]["running"], false);
    assert_eq!(status["inbox"]["waiting"], json!({"cap": 3}));
    assert_eq!((&status["inbox"]["unsettled"], &status["inbox"]["untold"]), (&json!(3), &json!(1)));
    let queue = &status["inbox"]["sessions"][0];
    assert_eq!((&queue["key"], &queue["leftOut"]), (&json!("alice-main"), &json!(1)));
    assert_eq!(status["dispatch"]["lastRefusal"], refusal);
    assert_eq!(status["dispatchTopicCount"], 1, "{status}");
    let sessions = &status["dispatch"]["hookSessions"];
    assert_eq!(*sessions, json!({"live": 4, "max": 4, "atCapacity": true}));
    assert!(done.stderr.contains("as many as there may be (4)"), "{}", done.stderr);
}

#[test]
fn the_peers_of_the_older_kind_are_counted_while_they_live() {
    let scene = Scene::new();
    let instances = scene.paths().instances();
    for name in [format!("alice-main.{}.sock", std::process::id()), "x.4194304.sock".to_owned()] {
        put(&instances.join(name), "");
    }
    put(&instances.join("other"), "");
    assert_eq!(json_of(&scene, &["status"])["peers"]["legacy"], 1);
}
