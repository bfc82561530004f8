//! What waits for running sessions.

use agent_box_webhook::inbox::{
    Enqueued, InboxError, Look, Message, MessageState, QueueLimits, SessionRef, Tx,
};
use serde_json::json;

use super::rig::{Rig, decline, session, wait};

const LIMITS: QueueLimits = QueueLimits { messages: 2, bytes: 100 };

fn put(
    tx: &mut Tx<'_>,
    sequence: u64,
    session: &SessionRef,
    text: &str,
) -> Result<Enqueued, InboxError> {
    tx.enqueue(sequence, session, text, &json!({"of": sequence}), LIMITS, 10)
}

/// A delivery with a message for a session.
async fn message(rig: &Rig, id: &str, session: &SessionRef) -> Enqueued {
    let sequence = rig.new_delivery(id, 1).await;
    let (session, text) = (session.clone(), format!("text of {id}"));
    rig.write(move |tx| put(tx, sequence, &session, &text)).await
}

async fn pending(rig: &Rig, session: &SessionRef) -> Vec<Message> {
    let session = session.clone();
    rig.inbox().read(move |look| look.pending(&session, None, 9)).await.unwrap()
}

async fn numbers(rig: &Rig, session: &SessionRef) -> Vec<u64> {
    pending(rig, session).await.into_iter().map(|it| it.number).collect()
}

async fn queue(rig: &Rig, session: &SessionRef) -> (u64, u64) {
    let session = session.clone();
    rig.inbox().read(move |look| look.queue(&session)).await.unwrap()
}

#[tokio::test]
async fn a_message_waits_until_it_is_acknowledged_and_is_marked_when_it_was_told_before() {
    let mut rig = Rig::new();
    let main = session("alice-main", "s1");
    assert_eq!(message(&rig, "a", &main).await, Enqueued::Queued(1));
    assert_eq!(rig.state(1).await, "waiting (session)", "not told yet");
    let first = Message {
        number: 1,
        sequence: 1,
        delivery: "github/a".to_owned(),
        text: "text of a".to_owned(),
        meta: json!({"of": 1}),
        is_repeated: false,
        is_offered: false,
        enqueued_ms: 10,
    };
    assert_eq!(pending(&rig, &main).await, std::slice::from_ref(&first));
    rig.write(|tx| tx.told(&[1], 20)).await;
    rig.reopen();
    assert_eq!(
        pending(&rig, &main).await,
        [Message { is_repeated: true, is_offered: true, ..first }]
    );
    assert_eq!(rig.delivery(1).await.settled_ms, None);
    rig.write(|tx| tx.acknowledge(&[1, 7], 30)).await;
    rig.write(|tx| tx.acknowledge(&[1], 31)).await;
    assert_eq!(pending(&rig, &main).await, []);
    assert_eq!(rig.state(1).await, "delivered (s1)");
    assert_eq!(rig.delivery(1).await.settled_ms, Some(30));
    assert_eq!(rig.words(1).await, ["queued", "delivered"]);
    let told = rig.inbox().read(|look| look.messages_of(1)).await.unwrap();
    assert_eq!((told[0].state, told[0].times), (MessageState::Acknowledged, 1));
    assert_eq!(told[0].told_ms, Some(20));
}

#[tokio::test]
async fn a_full_queue_keeps_the_oldest_and_says_how_many_were_left_out() {
    let rig = Rig::new();
    let main = session("alice-main", "s1");
    for id in ["a", "b"] {
        assert!(matches!(message(&rig, id, &main).await, Enqueued::Queued(_)));
    }
    for id in ["c", "d"] {
        assert_eq!(message(&rig, id, &main).await, Enqueued::LeftOut);
    }
    assert_eq!(numbers(&rig, &main).await, [1, 2]);
    assert_eq!(queue(&rig, &main).await, (2, 2));
    assert_eq!(rig.state(3).await, "failed (the queue of alice-main was full)");
    let waiting = rig.inbox().read(Look::waiting_sessions).await.unwrap();
    assert_eq!((waiting.len(), &waiting[0].session), (1, &main));
    assert_eq!((waiting[0].waiting, waiting[0].left_out), (2, 2));
    assert_eq!(waiting[0].oldest_ms, Some(10));

    let reader = main.clone();
    assert_eq!(rig.write(move |tx| tx.tell_left_out(&reader)).await, 2);
    assert_eq!(queue(&rig, &main).await, (2, 0));
    rig.write(|tx| tx.acknowledge(&[1], 20)).await;
    assert!(matches!(message(&rig, "e", &main).await, Enqueued::Queued(_)), "there is room again");
    assert_eq!(message(&rig, "f", &main).await, Enqueued::LeftOut);
    let reader = main.clone();
    assert_eq!(rig.write(move |tx| tx.tell_left_out(&reader)).await, 1);
}

#[tokio::test]
async fn a_queue_is_bounded_by_bytes_but_takes_any_single_message() {
    let rig = Rig::new();
    let main = session("alice-main", "s1");
    let sizes = [(60, true), (40, true), (1, false)];
    for (number, (size, fits)) in sizes.into_iter().enumerate() {
        let sequence = rig.new_delivery(&format!("d{number}"), 1).await;
        let main = main.clone();
        let limits = QueueLimits { messages: 9, bytes: 100 };
        let text = "x".repeat(size);
        let queued =
            rig.write(move |tx| tx.enqueue(sequence, &main, &text, &json!({}), limits, 10)).await;
        assert_eq!(matches!(queued, Enqueued::Queued(_)), fits, "{size}");
    }
    let other = session("alice-other", "s2");
    let sequence = rig.new_delivery("large", 1).await;
    let to = other.clone();
    let queued = rig.write(move |tx| put(tx, sequence, &to, &"x".repeat(101))).await;
    assert!(matches!(queued, Enqueued::Queued(_)), "it would never fit otherwise");
    assert_eq!(message(&rig, "next", &other).await, Enqueued::LeftOut);
}

#[tokio::test]
async fn a_session_is_its_id_and_a_successor_of_its_name_gets_nothing() {
    let rig = Rig::new();
    let old = session("alice-main", "s1");
    let renamed = session("alice-renamed", "s1");
    let successor = session("alice-main", "s2");
    let nameless = SessionRef { key: "alice-main".to_owned(), session_id: None };
    message(&rig, "a", &old).await;
    message(&rig, "b", &nameless).await;
    assert_eq!(numbers(&rig, &renamed).await, [1], "the id is the session");
    assert_eq!(numbers(&rig, &successor).await, Vec::<u64>::new());
    assert_eq!(numbers(&rig, &nameless).await, [2]);
    assert_eq!(rig.write(|tx| tx.forget_session("s1", 50)).await, 1);
    assert_eq!(rig.state(1).await, "declined (session is gone)");
    assert_eq!(numbers(&rig, &old).await, Vec::<u64>::new());
    assert_eq!(rig.write(|tx| tx.forget_session("s1", 51)).await, 0);
    assert_eq!(rig.write(|tx| tx.forget_key("alice-main", 52)).await, 1);
    assert_eq!(rig.state(2).await, "declined (session is gone)");
}

#[tokio::test]
async fn acknowledging_up_to_a_number_takes_what_was_told() {
    let rig = Rig::new();
    let main = session("alice-main", "s1");
    let other = session("alice-other", "s2");
    message(&rig, "a", &main).await;
    message(&rig, "b", &other).await;
    message(&rig, "c", &main).await;
    rig.write(|tx| tx.told(&[1, 2], 20)).await;
    let reader = main.clone();
    let taken = rig.write(move |tx| tx.acknowledge_up_to(&reader, 3, 30)).await;
    assert_eq!(taken, 1, "neither another session's nor one that was never told");
    assert_eq!(numbers(&rig, &main).await, [3]);
    assert_eq!(numbers(&rig, &other).await, [2]);
    let after = rig.inbox().read(move |look| look.pending(&main, Some(3), 9)).await.unwrap();
    assert_eq!(after, []);
}

#[tokio::test]
async fn a_delivery_is_settled_when_all_its_effects_are_and_shows_the_most_telling() {
    let rig = Rig::new();
    rig.new_delivery("a", 1).await;
    let (main, other) = (session("alice-main", "s1"), session("alice-other", "s2"));
    rig.write(move |tx| {
        put(tx, 1, &main, "x")?;
        put(tx, 1, &other, "x")?;
        wait(tx, 1, 10)
    })
    .await;
    assert_eq!(rig.state(1).await, "waiting (window)");
    rig.write(|tx| tx.acknowledge(&[1], 20)).await;
    assert_eq!(rig.state(1).await, "waiting (window)");
    rig.write(|tx| tx.withdraw(1, "claimed", 30)).await;
    assert_eq!(rig.state(1).await, "waiting (session)", "one message is still on its way");
    assert_eq!(rig.delivery(1).await.settled_ms, None);
    rig.write(|tx| tx.forget_session("s2", 40)).await;
    assert_eq!(rig.state(1).await, "delivered (s1)", "more telling than what was declined");
    assert_eq!(rig.delivery(1).await.settled_ms, Some(40));

    rig.new_delivery("b", 1).await;
    let main = session("alice-main", "s1");
    rig.write(move |tx| {
        decline(tx, 2, 10)?;
        put(tx, 2, &main, "x").map(|_| ())
    })
    .await;
    assert_eq!(rig.state(2).await, "waiting (session)");
    let main = session("alice-main", "s1");
    let refused = rig.refused(move |tx| put(tx, 2, &main, "x")).await;
    assert_eq!(refused, "delivery #2 was matched before");
    rig.new_delivery("c", 1).await;
    let main = session("alice-main", "s1");
    let refused =
        rig.refused(move |tx| put(tx, 3, &main, "x").and_then(|_| put(tx, 3, &main, "y")));
    assert_eq!(refused.await, "alice-main has a message of delivery #3 already");
}
