//! What is kept, for how long, and the counts.

use agent_box_event::{LEASE_MS, REMEMBER_MS, WaitReason};
use agent_box_webhook::inbox::{Counter, Look, Removed, Retention, Stored};

use super::rig::{Rig, answer, decline, incoming};

const NONE: Removed = Removed { deliveries: 0, bodies: 0, is_more: false };

#[tokio::test]
async fn a_delivery_is_remembered_for_a_week_and_what_is_not_settled_for_ever() {
    let rig = Rig::new();
    rig.new_delivery("settled", 0).await;
    rig.waiting("waits", 0).await;
    rig.new_delivery("unmatched", 0).await;
    rig.write(|tx| decline(tx, 1, 1000)).await;
    let impatient = Retention { keep_ms: 0, body_bytes: 0, at_once: 99 };
    let retain = async |now_ms| rig.write(move |tx| tx.retain(now_ms, &impatient)).await;
    let end = 1000 + REMEMBER_MS;
    assert_eq!(retain(end - 1).await, Removed { bodies: 1, ..NONE }, "its body may go before");
    let again = rig.store(incoming("github", "settled", b"body of settled", 5)).await;
    assert_eq!(again, Stored::Duplicate { of: 1 });
    let error = rig.refused(|tx| tx.replay(1, 6)).await;
    assert!(error.starts_with("the body of delivery #1 is not kept any more"), "{error}");
    assert_eq!(retain(end).await, Removed { deliveries: 1, ..NONE });
    let again = rig.store(incoming("github", "settled", b"body of settled", 6)).await;
    assert_eq!(again, Stored::New(4), "forgotten; a place is never used again");
    assert_eq!(retain(u64::MAX).await, NONE);
    let unmatched = rig.inbox().read(|look| look.unmatched(9)).await.unwrap();
    assert_eq!(unmatched.len(), 2);
    assert_eq!(rig.state(2).await, "waiting (window)");
}

#[tokio::test]
async fn bodies_go_the_oldest_first_and_only_as_many_as_must() {
    let rig = Rig::new();
    for number in 1..=4_u8 {
        rig.store(incoming("github", &format!("d{number}"), &[number; 10], 0)).await;
    }
    rig.write(|tx| [1, 2, 4].into_iter().try_for_each(|it| decline(tx, it, 5))).await;
    let retention = Retention { body_bytes: 10, ..Retention::default() };
    let removed = rig.write(move |tx| tx.retain(10, &retention)).await;
    assert_eq!(removed, Removed { bodies: 2, ..NONE });
    for (sequence, kept) in [(1, false), (2, false), (3, true), (4, true)] {
        let body = rig.inbox().read(move |look| look.body(sequence)).await.unwrap();
        assert_eq!(body.is_some(), kept, "{sequence}");
    }
}

#[tokio::test]
async fn a_little_is_removed_at_a_time_and_the_file_shrinks() {
    let rig = Rig::new();
    rig.write(|_| Ok(())).await;
    for number in 0..50_u8 {
        rig.store(incoming("github", &format!("d{number}"), &vec![number; 20_000], 0)).await;
    }
    rig.write(|tx| (1..=50).try_for_each(|it| decline(tx, it, 5))).await;
    let pages = async || {
        let path = rig.path();
        let db = rusqlite::Connection::open(path).unwrap();
        db.query_row("PRAGMA page_count", [], |row| row.get::<_, u32>(0)).unwrap()
    };
    let before = pages().await;
    let retention = Retention { keep_ms: 0, at_once: 20, ..Retention::default() };
    let mut rounds = Vec::new();
    loop {
        let removed = rig.write(move |tx| tx.retain(u64::MAX, &retention)).await;
        rounds.push(removed.deliveries);
        if !removed.is_more {
            break;
        }
    }
    assert_eq!(rounds, [20, 20, 10]);
    let after = pages().await;
    assert!(after < before / 4, "{before} pages before, {after} after");
}

#[tokio::test]
async fn ended_batches_lanes_at_rest_and_leases_that_ran_out_go_too() {
    let rig = Rig::new();
    rig.waiting("a", 0).await;
    let batch = rig.frozen(&[1], 1).await;
    rig.write(move |tx| tx.attempt(batch, 2)).await;
    rig.write(move |tx| tx.settle(batch, &answer("s"), 3)).await;
    let retention = Retention { keep_ms: 0, ..Retention::default() };
    rig.write(move |tx| tx.retain(3 + LEASE_MS, &retention)).await;
    assert_eq!(rig.inbox().read(Look::leases).await.unwrap().len(), 1);
    rig.write(move |tx| tx.retain(4 + LEASE_MS, &retention)).await;
    assert_eq!(rig.inbox().read(Look::leases).await.unwrap(), []);
    assert!(rig.inbox().read(|look| look.batch(1)).await.unwrap().is_some());
    rig.write(move |tx| tx.retain(4 + REMEMBER_MS, &retention)).await;
    rig.write(move |tx| tx.retain(4 + REMEMBER_MS, &retention)).await;
    assert!(rig.inbox().read(|look| look.batch(1)).await.unwrap().is_none());
    let lowest = rig.inbox().read(Look::lowest_unsettled).await.unwrap();
    assert_eq!(lowest.number, 2, "a number is never used again");
}

#[tokio::test]
async fn everything_is_counted() {
    let mut rig = Rig::new();
    for id in ["a", "b"] {
        rig.new_delivery(id, 0).await;
    }
    rig.store(incoming("github", "a", b"body of a", 1)).await;
    rig.write(|tx| decline(tx, 1, 2)).await;
    rig.waiting("c", 3).await;
    let batch = rig.frozen(&[3], 4).await;
    rig.write(move |tx| tx.attempt(batch, 5)).await;
    rig.write(move |tx| tx.defer(batch, 0, 6)).await;
    rig.reopen();
    let counters = rig.inbox().read(Look::counters).await.unwrap();
    let ever = |counter| counters.ever[&counter];
    assert_eq!(ever(Counter::Received), 3);
    assert_eq!(ever(Counter::Duplicate), 1);
    assert_eq!(ever(Counter::Declined), 1);
    assert_eq!((ever(Counter::Deferred), ever(Counter::Spawned)), (1, 0));
    assert_eq!((counters.unsettled, counters.unmatched), (2, 1));
    assert_eq!(counters.unsettled_bytes, 18);
    assert_eq!(counters.waiting_for(WaitReason::Cap), 1);
    assert_eq!((counters.frozen, counters.untold), (0, 0));
}
