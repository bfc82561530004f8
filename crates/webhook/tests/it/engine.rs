//! The engine against a wrapper that waits, fails, or says nothing.

use agent_box_event::contract::{DEFERRED, UNREADABLE};
use agent_box_testkit::within;
use agent_box_webhook::inbox::{BatchState, Inbox, InboxLimits};
use serde_json::json;

use crate::receiver::{Receiver, SOURCES};

/// Seen red with a box that is asked again only at the next tick.
#[test]
fn at_the_cap_a_batch_waits_and_starts_when_a_slot_is_free() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.sessions(4, &[]);
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (cap)");
    assert_eq!(receiver.runs(), [""; 0], "the wrapper is not even asked");
    receiver.sessions(3, &[]);
    receiver.wait_state("a", "spawned");
    assert_eq!(receiver.runs().len(), 1);
}

/// The wrapper knows of a full box what `status` did not say. Seen red with a batch that is kept.
#[test]
fn a_refused_batch_goes_back_and_comes_again_with_what_came_later() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.put("code", &DEFERRED.to_string());
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    within(20).until("it was refused", || {
        receiver.look(|look| look.batch(1)).is_some_and(|it| it.state == BatchState::Deferred)
    });
    let refused = receiver.runs().len();
    assert_eq!(receiver.send("b", "o/r", 2), 200);
    receiver.put("code", "0");
    receiver.sessions(0, &[]);
    receiver.wait_state("a", "spawned");
    receiver.wait_state("b", "spawned");
    let runs = receiver.runs();
    let mut different = runs.clone();
    different.dedup();
    assert_eq!(runs, different, "no refused batch is run again under its id");
    let text = receiver.read(&format!("text.{}", runs.last().unwrap()));
    assert!(text.contains("marker-1-end") && text.contains("marker-2-end"), "{text}");
    assert!(refused <= 3, "a full box is not asked without end: {refused}");
}

/// Seen red with a batch that is given up at once.
#[test]
fn a_failing_wrapper_is_tried_again_with_the_same_batch() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.put("code", "3");
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (retry)");
    receiver.put("code", "0");
    receiver.wait_state("a", "spawned");
    let runs = receiver.runs();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0], runs[1]);
}

/// Seen red with a queue that only peers empty.
#[test]
fn a_session_without_a_peer_is_told_in_its_agent_s_own_way_and_each_event_once() {
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    let told = || receiver.read("delivered");
    within(20).until("it was offered", || told().contains("marker-1-end"));
    assert!(told().starts_with("== i1\n"), "{}", told());
    assert_ne!(receiver.state("a"), "delivered (i1)", "it waits");
    assert_eq!(receiver.send("b", "o/r", 2), 200);
    within(20).until("the next was offered", || told().contains("marker-2-end"));
    assert_eq!(told().matches("marker-1-end").count(), 1, "a notice is not repeated");
    receiver.stop().unwrap();
    receiver.put("told", r#"{"told":"delivered"}"#);
    receiver.start();
    receiver.wait_state("a", "delivered (i1)");
    receiver.wait_state("b", "delivered (i1)");
}

/// Seen red with an offer that nobody noted.
#[test]
fn an_event_that_may_have_been_seen_is_marked_when_it_is_offered_again() {
    const MARK: &str = "was sent before and may have been seen";
    let receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    receiver.put("told", "");
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    let told = || receiver.read("delivered");
    within(20).until("it was offered again", || told().matches("== i1").count() > 1);
    receiver.put("told", r#"{"told":"delivered"}"#);
    receiver.wait_state("a", "delivered (i1)");
    let offers: Vec<bool> = told().split("== i1").skip(1).map(|it| it.contains(MARK)).collect();
    assert_eq!((offers[0], offers[1..].iter().all(|it| *it)), (false, true), "{}", told());
    assert_eq!(receiver.send("b", "o/r", 2), 200);
    receiver.wait_state("b", "delivered (i1)");
    assert!(!told().rsplit("== i1").next().unwrap().contains(MARK), "{}", told());
}

/// Seen red with a list of sessions that is empty when it cannot be read.
#[test]
fn nobody_is_forgotten_while_the_sessions_cannot_be_listed() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    within(20).until("it was offered", || receiver.read("delivered").contains("marker-1-end"));
    receiver.put("status", "");
    receiver.put(".config/agent-box/sessions.json", "{");
    assert_eq!(receiver.send("b", "o/r", 2), 200);
    within(20).until("it was offered too", || receiver.read("delivered").contains("marker-2-end"));
    receiver.sessions(0, &[("i2", "two")]);
    receiver.wait_state("a", "declined (session is gone)");
    receiver.wait_state("b", "declined (session is gone)");
}

/// Seen red with rules that take an unreadable file for an empty one.
#[test]
fn filters_that_cannot_be_read_say_what_they_said_before() {
    const WATCHES: &str = ".local/state/local-webhook/filter.dispatch.json";
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.sessions(4, &[]);
    assert_eq!(receiver.send("before", "o/r", 1), 200);
    receiver.wait_state("before", "waiting (cap)");
    // The receiver's own stamp, written beside this, would replace the damage with a whole file.
    within(10).until("it is stamped", || receiver.read(WATCHES).contains("lastActivityAt"));
    let good = receiver.read(WATCHES);
    receiver.put(WATCHES, "{");
    assert_eq!(receiver.send("while", "o/s", 2), 200);
    receiver.wait_state("while", "waiting (cap)");
    receiver.sessions(0, &[]);
    receiver.wait_state("before", "spawned");
    receiver.wait_state("while", "spawned");
    // A receiver that never read it decides nothing until it can.
    receiver.stop().unwrap();
    receiver.start();
    assert_eq!(receiver.send("after", "o/t", 3), 200);
    within(1).always("nothing is decided", || receiver.state("after") == "received");
    receiver.put(WATCHES, &good);
    assert_eq!(receiver.send("last", "o/u", 4), 200);
    receiver.wait_state("after", "spawned");
    receiver.wait_state("last", "spawned");
}

/// P3: what came while the registry could not be read is for the session that had the name then,
/// not for its successor. Seen red with a queue by key while the sessions are unknown.
#[test]
fn p3_events_wait_until_it_is_known_whose_they_are() {
    let mut receiver = Receiver::stopped();
    receiver.put("status", "");
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    receiver.start();
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    within(1).always("nothing is decided", || receiver.state("a") == "received");
    receiver.sessions(0, &[("i1", "main")]);
    receiver.wait_state("a", "waiting (session)");
    receiver.sessions(0, &[("i9", "main")]);
    receiver.wait_state("a", "declined (session is gone)");
}

/// Seen red with a list that says nothing being a failure like others.
#[test]
fn a_batch_is_held_while_the_session_list_is_damaged_and_asked_again_when_it_is_mended() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.put("code", &UNREADABLE.to_string());
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (sessions)");
    // Each change of the list is a chance; none of them spends an attempt.
    for _ in 0..8 {
        let runs = receiver.runs().len();
        receiver.put(".config/agent-box/sessions.json", "{");
        within(20).until("it was asked again", || receiver.runs().len() > runs);
        receiver.wait_state("a", "waiting (sessions)");
    }
    let batch = receiver.look(|look| look.batch(1)).unwrap();
    assert_eq!((batch.attempts, batch.state), (1, BatchState::Frozen));
    receiver.put("code", "0");
    receiver.put(".config/agent-box/sessions.json", "{}");
    receiver.wait_state("a", "spawned");
    let mut runs = receiver.runs();
    runs.dedup();
    assert_eq!(runs.len(), 1, "the same batch all the time");
}

/// Seen red with a hold that only the receiver knows of that noted it.
#[test]
fn a_held_batch_starts_when_the_list_was_mended_while_no_receiver_ran() {
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.put("code", &UNREADABLE.to_string());
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (sessions)");
    // Once it is still damaged when the next receiver starts, once it is mended by then.
    receiver.stop().unwrap();
    let runs = receiver.runs().len();
    receiver.start();
    within(20).until("it was asked again", || receiver.runs().len() > runs);
    receiver.wait_state("a", "waiting (sessions)");
    receiver.stop().unwrap();
    receiver.put("code", "0");
    receiver.start();
    receiver.wait_state("a", "spawned");
    assert_eq!(receiver.look(|look| look.batch(1)).unwrap().attempts, 1);
}

/// The numbers of an inbox that was put back from a copy are other batches' already. Seen red
/// with numbers that go on from the copy.
#[test]
fn a_batch_of_an_inbox_that_was_put_back_is_no_batch_that_has_its_session() {
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.stop().unwrap();
    let copy = std::fs::read(receiver.paths.inbox()).unwrap();
    receiver.start();
    for (id, number) in [("a", 1), ("b", 2)] {
        assert_eq!(receiver.send(id, "o/r", number), 200);
        receiver.wait_state(id, "spawned");
    }
    receiver.claimed.replace(receiver.runs());
    receiver.sessions(0, &[]);
    receiver.stop().unwrap();
    std::fs::File::create(receiver.paths.inbox())
        .and_then(|mut file| std::io::Write::write_all(&mut file, &copy))
        .unwrap();
    receiver.start();
    for (id, number) in [("c", 3), ("d", 4)] {
        assert_eq!(receiver.send(id, "o/r", number), 200);
        receiver.wait_state(id, "spawned");
    }
    let runs = receiver.runs();
    let distinct: std::collections::BTreeSet<&String> = runs.iter().collect();
    assert_eq!(distinct.len(), 4, "no number twice: {runs:?}");
}

/// Seen red with a batch that is frozen before anybody knows which numbers are claimed.
#[test]
fn nothing_is_frozen_before_it_is_known_which_batches_have_their_session() {
    let mut receiver = Receiver::stopped();
    receiver.put("status", "");
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.start();
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (sessions)");
    assert_eq!(receiver.look(|look| look.batch(1)), None);
    receiver.sessions(0, &[]);
    receiver.wait_state("a", "spawned");
}

/// Seen red without the check of budgets, and with limits that an unreadable file lifts.
#[test]
fn what_is_over_budget_waits_and_starts_when_the_budget_grows() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.dispatch(&json!({"perSender": 1}));
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "spawned");
    assert_eq!(receiver.send("b", "o/s", 2), 200);
    receiver.wait_state("b", "waiting (budget)");
    receiver.put(SOURCES, "{");
    receiver.sessions(0, &[]);
    within(1).always("the last limits count", || receiver.state("b") == "waiting (budget)");
    receiver.dispatch(&json!({"perSender": 2}));
    receiver.sessions(0, &[]);
    receiver.wait_state("b", "spawned");
}

/// Seen red with limits that a file lifts which never could be read.
#[test]
fn limits_that_nobody_could_read_yet_are_not_taken_for_none() {
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.dispatch(&json!({"perDay": 0}));
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (budget)");
    receiver.stop().unwrap();
    receiver.put(SOURCES, "{");
    receiver.start();
    receiver.sessions(0, &[]);
    within(1).always("nothing is started", || receiver.state("a") == "waiting (budget)");
    receiver.dispatch(&json!({}));
    receiver.sessions(0, &[]);
    receiver.wait_state("a", "spawned");
}

/// Seen red without the gate.
#[test]
fn strangers_start_nothing_where_that_is_asked_and_explain_says_so() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.dispatch(&json!({"minimumAssociation": "CONTRIBUTOR"}));
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "declined");
    assert!(
        receiver.state("a").contains("a stranger to the repository"),
        "{}",
        receiver.state("a")
    );
    assert_eq!(receiver.runs(), [""; 0]);
    receiver.dispatch(&json!({"minimumAssociation": "NONE"}));
    assert_eq!(receiver.send("b", "o/r", 2), 200);
    receiver.wait_state("b", "spawned");
}

/// Seen red with a batch that is tried for ever.
#[test]
fn a_batch_that_failed_to_the_last_attempt_is_parked_and_a_replay_starts_it_under_a_new_id() {
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.put("code", "3");
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (retry)");
    // The pauses before the sixth attempt are seventeen minutes long.
    receiver.stop().unwrap();
    rusqlite::Connection::open(receiver.paths.inbox())
        .and_then(|it| it.execute("UPDATE batches SET attempts = 5, not_before_ms = 0", []))
        .unwrap();
    receiver.start();
    receiver.wait_state("a", "failed");
    assert!(receiver.state("a").contains("exit code 3"), "{}", receiver.state("a"));
    let batch = receiver.look(|look| look.batch(1)).unwrap();
    assert_eq!((batch.attempts, matches!(batch.state, BatchState::Parked(_))), (6, true));
    receiver.put("code", "0");
    receiver.sessions(0, &[]);
    within(1).always("what is given up stays so", || receiver.state("a").starts_with("failed"));
    receiver.stop().unwrap();
    let runs = receiver.runs().len();
    let inbox = Inbox::open(&receiver.paths.inbox(), InboxLimits::default()).unwrap();
    let replay = inbox.write(|tx| tx.replay(1, 1));
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(replay)
        .unwrap();
    drop(inbox);
    receiver.start();
    within(20).until("the replay starts it", || receiver.runs().len() > runs);
    assert_ne!(receiver.runs().first(), receiver.runs().last());
}
