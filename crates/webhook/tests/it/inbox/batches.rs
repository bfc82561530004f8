//! Lanes and batches: each transition is one transaction, and no other transition is possible.

use agent_box_event::{BatchId, Lease, Member, Object, WaitReason};
use agent_box_webhook::inbox::{BatchState, FrozenBatch, InboxError, Look};

use super::rig::{Rig, answer, decline, new_batch, topic, wait};

async fn batches(rig: &Rig) -> Vec<FrozenBatch> {
    rig.inbox().read(Look::unsettled_batches).await.unwrap()
}

async fn lowest(rig: &Rig) -> u64 {
    rig.inbox().read(Look::lowest_unsettled).await.unwrap().number
}

#[tokio::test]
async fn waiting_deliveries_stand_in_their_lane() {
    let mut rig = Rig::new();
    let first = rig.waiting("a", 10).await;
    let second = rig.waiting("b", 20).await;
    assert_eq!(rig.state(first).await, "waiting (window)");
    rig.write(move |tx| tx.reason(first, WaitReason::Cap, 30)).await;
    rig.write(move |tx| tx.reason(first, WaitReason::Cap, 40)).await;
    assert_eq!(rig.state(first).await, "waiting (cap)");
    assert_eq!(rig.words(first).await, ["waiting", "waiting"], "the same reason is no news");
    rig.reopen();
    let lanes = rig.inbox().read(Look::lanes).await.unwrap();
    assert_eq!(lanes.len(), 1);
    let member =
        |sequence, received_ms| Member { sequence, received_ms, sender: Some("joe".to_owned()) };
    assert_eq!(lanes[0].waiting, [member(first, 10), member(second, 20)]);
    assert_eq!((lanes[0].started_ms, lanes[0].is_running), (None, false));
    let place = rig.inbox().read(move |look| look.member(first)).await.unwrap().unwrap();
    assert_eq!((place.watch.as_str(), place.note.as_deref()), ("github:o/*", Some("look")));
    assert_eq!((place.topic, place.reason, place.batch), (topic(), Some(WaitReason::Cap), None));

    rig.write(move |tx| tx.withdraw(first, "claimed", 50)).await;
    assert_eq!(rig.state(first).await, "declined (claimed)");
    assert_eq!(rig.delivery(first).await.settled_ms, Some(50));
    let lanes = rig.inbox().read(Look::lanes).await.unwrap();
    assert_eq!(lanes[0].waiting, [member(second, 20)]);
}

#[tokio::test]
async fn a_batch_is_frozen_with_its_order_and_settled_with_its_session() {
    let mut rig = Rig::new();
    for id in ["a", "b", "c"] {
        rig.waiting(id, 10).await;
    }
    let id = rig.frozen(&[3, 1], 20).await;
    assert_eq!(id, BatchId { inbox: rig.inbox().id(), number: 1 });
    assert_eq!(rig.state(3).await, "matched", "on its way");
    rig.reopen();
    let frozen = batches(&rig).await;
    let expected = new_batch(&[3, 1], 20);
    assert_eq!(frozen.len(), 1);
    assert_eq!((frozen[0].id, &frozen[0].members), (id, &vec![3, 1]), "as they were frozen");
    assert_eq!((&frozen[0].text, &frozen[0].objects), (&expected.text, &expected.objects));
    assert_eq!((frozen[0].is_assigned, frozen[0].attempts, frozen[0].frozen_ms), (true, 0, 20));
    let lanes = rig.inbox().read(Look::lanes).await.unwrap();
    assert!(lanes[0].is_running);
    assert_eq!(lanes[0].waiting.len(), 1);

    assert_eq!(rig.write(move |tx| tx.attempt(id, 30)).await, 1);
    rig.write(move |tx| tx.retry_at(id, 99, "exit 1", 35)).await;
    assert_eq!(rig.state(1).await, "waiting (retry)");
    assert_eq!(batches(&rig).await[0].not_before_ms, 99);
    assert_eq!(rig.write(move |tx| tx.attempt(id, 100)).await, 2);
    assert_eq!(rig.state(1).await, "matched");
    assert_eq!(lowest(&rig).await, 1);
    rig.write(move |tx| tx.settle(id, &answer("s1"), 110)).await;
    rig.reopen();
    assert_eq!(batches(&rig).await, []);
    assert_eq!(lowest(&rig).await, 2, "the next one");
    for member in [1, 3] {
        assert_eq!(rig.state(member).await, "spawned (s1)");
        assert_eq!(rig.delivery(member).await.settled_ms, Some(110));
    }
    let words = ["waiting", "frozen", "attempted", "waiting", "attempted", "spawned"];
    assert_eq!(rig.words(1).await, words);
    let lease = Lease {
        session: "s1".to_owned(),
        topic: topic(),
        objects: vec![Object::PullRequest(7), Object::Branch("o/r@main".to_owned())],
        renewed_ms: 110,
    };
    assert_eq!(rig.inbox().read(Look::leases).await.unwrap(), [lease]);
    let lanes = rig.inbox().read(Look::lanes).await.unwrap();
    assert_eq!((lanes[0].started_ms, lanes[0].is_running), (Some(100), false));
    let starts = rig.inbox().read(|look| look.starts(0)).await.unwrap();
    assert_eq!((starts.len(), starts[0].at_ms), (1, 100));
    assert_eq!(starts[0].senders, ["joe"]);
    assert_eq!(rig.inbox().read(|look| look.starts(101)).await.unwrap(), []);
    let past = rig.inbox().read(|look| look.batch(1)).await.unwrap().unwrap();
    assert_eq!((past.state, past.attempts), (BatchState::Settled(answer("s1")), 2));
    assert_eq!((past.attempted_ms, past.ended_ms), (Some(100), Some(110)));
}

/// Seen red with attempts that are counted when they begin.
#[tokio::test]
async fn only_attempts_whose_end_is_on_record_are_counted() {
    let mut rig = Rig::new();
    rig.waiting("a", 10).await;
    let id = rig.frozen(&[1], 20).await;
    for at in 30..40 {
        assert_eq!(rig.write(move |tx| tx.attempt(id, at)).await, 1, "the one before never ended");
        rig.reopen();
    }
    rig.write(move |tx| tx.hold(id, 99, "the list is damaged", 40)).await;
    assert_eq!(rig.state(1).await, "waiting (sessions)");
    assert_eq!(batches(&rig).await[0].not_before_ms, 99);
    assert_eq!(rig.write(move |tx| tx.attempt(id, 100)).await, 1, "nor was that one");
    assert_eq!(
        batches(&rig).await[0].not_before_ms,
        0,
        "a receiver that dies now puts nothing off"
    );
    rig.write(move |tx| tx.retry_at(id, 200, "exit 1", 101)).await;
    rig.write(move |tx| tx.hold(id, 300, "the list is damaged", 102)).await;
    assert_eq!(rig.write(move |tx| tx.attempt(id, 300)).await, 2);
}

/// Seen red with numbers that go on from the copy.
#[tokio::test]
async fn an_inbox_that_was_put_back_does_not_number_batches_as_others_are() {
    let mut rig = Rig::new();
    let claimed = BatchId { inbox: rig.inbox().id(), number: 41 };
    let other = BatchId { inbox: !rig.inbox().id(), number: 90 };
    assert!(!rig.write(move |tx| tx.number_above(other)).await, "another inbox's");
    assert!(rig.write(move |tx| tx.number_above(claimed)).await);
    assert!(!rig.write(move |tx| tx.number_above(claimed)).await, "no news any more");
    rig.reopen();
    assert_eq!(lowest(&rig).await, 42);
    rig.waiting("a", 10).await;
    assert_eq!(rig.frozen(&[1], 20).await.number, 42);
    assert!(!rig.write(move |tx| tx.number_above(claimed)).await);
    let next = BatchId { number: 42, ..claimed };
    assert!(!rig.write(move |tx| tx.number_above(next)).await, "it is ours");
    assert!(rig.write(move |tx| tx.number_above(BatchId { number: 43, ..claimed })).await);
    assert_eq!(lowest(&rig).await, 42, "what is frozen keeps its number");
}

#[tokio::test]
async fn a_deferred_batch_gives_its_members_back_and_is_never_run_again() {
    let rig = Rig::new();
    rig.waiting("a", 10).await;
    let first = rig.frozen(&[1], 20).await;
    rig.write(move |tx| tx.attempt(first, 21)).await;
    rig.write(move |tx| tx.defer(first, 500, 22)).await;
    assert_eq!(rig.state(1).await, "waiting (cap)");
    assert_eq!(batches(&rig).await, []);
    let lanes = rig.inbox().read(Look::lanes).await.unwrap();
    assert_eq!((lanes[0].not_before_ms, lanes[0].started_ms), (500, None));
    assert_eq!(rig.inbox().read(|look| look.starts(0)).await.unwrap(), [], "nothing was started");
    rig.waiting("b", 30).await;
    let second = rig.frozen(&[1, 2], 600).await;
    assert_eq!(second.number, 2, "a number is never used again");
    assert_eq!(lowest(&rig).await, 2);
    let why = rig.refused(move |tx| tx.settle(first, &answer("s"), 601)).await;
    assert_eq!(why, format!("batch {first} is deferred already"));
    rig.write(move |tx| tx.attempt(second, 602)).await;
    rig.write(move |tx| tx.settle(second, &answer("s"), 603)).await;
    assert_eq!(rig.state(1).await, "spawned (s)");
}

#[tokio::test]
async fn a_parked_batch_fails_its_members_and_they_can_be_replayed() {
    let rig = Rig::new();
    rig.waiting("a", 10).await;
    let batch = rig.frozen(&[1], 20).await;
    rig.write(move |tx| tx.attempt(batch, 21)).await;
    assert_eq!(
        rig.refused(|tx| tx.replay(1, 22)).await,
        "delivery #1 is still on its way: matched"
    );
    rig.write(move |tx| tx.park(batch, "exit 1, six times", 23)).await;
    assert_eq!(rig.state(1).await, "failed (exit 1, six times)");
    let past = rig.inbox().read(|look| look.batch(1)).await.unwrap().unwrap();
    assert_eq!(past.state, BatchState::Parked("exit 1, six times".to_owned()));
    let again = rig.write(|tx| tx.replay(1, 30)).await;
    assert_eq!(again, 2);
    rig.write(|tx| wait(tx, 2, 31)).await;
    let second = rig.frozen(&[2], 32).await;
    rig.write(move |tx| tx.attempt(second, 33)).await;
    rig.write(move |tx| tx.settle(second, &answer("s"), 34)).await;
    assert_eq!(rig.state(1).await, "failed (exit 1, six times)", "the first stays as it is");
    assert_eq!(rig.words(1).await.last().unwrap(), "replayed");
}

#[tokio::test]
async fn no_other_transition_is_possible() {
    let rig = Rig::new();
    rig.waiting("a", 10).await;
    rig.waiting("b", 10).await;
    rig.new_delivery("c", 10).await;
    let refused =
        async |members: Vec<u64>| rig.refused(move |tx| tx.freeze(&new_batch(&members, 20))).await;
    assert_eq!(refused(vec![3]).await, "delivery #3 does not wait: it is received");
    assert_eq!(refused(vec![]).await, "a batch of github:o/r without members");
    assert_eq!(refused(vec![1, 1]).await, "delivery #1 does not wait: it is frozen");
    assert_eq!(rig.state(1).await, "waiting (window)", "nothing of a refused job stays");
    assert_eq!(lowest(&rig).await, 1);

    let batch = rig.frozen(&[1], 20).await;
    let on_its_way = "a batch of github:o/r is on its way already";
    assert_eq!(refused(vec![2]).await, on_its_way);
    let never = format!("batch {batch} was never attempted");
    assert_eq!(rig.refused(move |tx| tx.settle(batch, &answer("s"), 21)).await, never);
    assert_eq!(rig.refused(move |tx| tx.defer(batch, 0, 21)).await, never);
    assert_eq!(rig.refused(move |tx| tx.retry_at(batch, 0, "", 21)).await, never);
    rig.write(move |tx| tx.attempt(batch, 21)).await;
    rig.write(move |tx| tx.settle(batch, &answer("s"), 22)).await;
    let settled = format!("batch {batch} is settled already");
    assert_eq!(rig.refused(move |tx| tx.settle(batch, &answer("t"), 23)).await, settled);
    assert_eq!(rig.refused(move |tx| tx.defer(batch, 0, 23)).await, settled);
    assert_eq!(rig.refused(move |tx| tx.park(batch, "", 23)).await, settled);
    assert_eq!(rig.refused(move |tx| tx.attempt(batch, 23)).await, settled);
    assert_eq!(rig.refused(move |tx| tx.retry_at(batch, 0, "", 23)).await, settled);
    assert_eq!(refused(vec![1]).await, "delivery #1 does not wait: it is spawned");
    let withdraw = rig.refused(|tx| tx.withdraw(1, "", 23)).await;
    assert_eq!(withdraw, "delivery #1 does not wait: it is spawned");
    let before = "delivery #1 was matched before";
    assert_eq!(rig.refused(|tx| wait(tx, 1, 23)).await, before);
    assert_eq!(rig.refused(|tx| decline(tx, 1, 23)).await, before);
    let twice = rig.refused(|tx| wait(tx, 3, 23).and_then(|()| wait(tx, 3, 23))).await;
    assert_eq!(twice, "delivery #3 waits for a watch already");

    let foreign = BatchId { inbox: batch.inbox ^ 1, ..batch };
    for strange in [foreign, BatchId { number: 9, ..batch }] {
        let error = rig.inbox().write(move |tx| tx.attempt(strange, 23)).await.unwrap_err();
        assert!(matches!(error, InboxError::Unknown(_)), "{error}");
    }
    let error = rig.inbox().write(|tx| decline(tx, 99, 23)).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no delivery #99 in the inbox");
}

#[tokio::test]
async fn a_match_without_an_effect_is_refused() {
    use agent_box_event::DeliveryState::{Matched, Spawned};

    let rig = Rig::new();
    rig.new_delivery("a", 10).await;
    let nothing = rig.refused(|tx| tx.step(1, &Matched, None, 11)).await;
    assert_eq!(nothing, "delivery #1 was matched, and then nothing was done");
    let spawned = rig.refused(|tx| tx.step(1, &Spawned("s".to_owned()), None, 11)).await;
    assert_eq!(spawned, "no match pass finds `spawned (s)`");
    let unmatched = rig.inbox().read(|look| look.unmatched(9)).await.unwrap();
    assert_eq!(unmatched.len(), 1, "it will be matched again");
    rig.write(|tx| {
        tx.step(1, &Matched, Some("by the watch"), 11)?;
        wait(tx, 1, 11)
    })
    .await;
    assert_eq!(rig.state(1).await, "waiting (window)");
    assert_eq!(rig.words(1).await, ["matched", "waiting"]);
}

#[tokio::test]
async fn a_lease_is_renewed_forwards_only_and_ends() {
    let rig = Rig::new();
    rig.waiting("a", 10).await;
    let batch = rig.frozen(&[1], 20).await;
    rig.write(move |tx| tx.attempt(batch, 21)).await;
    rig.write(move |tx| tx.settle(batch, &answer("s"), 22)).await;
    assert!(rig.write(|tx| tx.renew_lease("s", 50)).await);
    assert!(rig.write(|tx| tx.renew_lease("s", 40)).await);
    assert!(!rig.write(|tx| tx.renew_lease("t", 50)).await);
    let leases = rig.inbox().read(Look::leases).await.unwrap();
    assert_eq!(leases[0].renewed_ms, 50);
    assert!(rig.write(|tx| tx.end_lease("s")).await);
    assert!(!rig.write(|tx| tx.end_lease("s")).await);
    assert_eq!(rig.inbox().read(Look::leases).await.unwrap(), []);
}

#[tokio::test]
async fn a_batch_that_is_deferred_for_days_does_not_fill_the_disk_with_saying_so() {
    let rig = Rig::new();
    rig.waiting("a", 0).await;
    rig.write(|tx| {
        for round in 0..200 {
            let batch = tx.freeze(&new_batch(&[1], round))?;
            tx.attempt(batch, round)?;
            tx.defer(batch, 0, round)?;
        }
        Ok(())
    })
    .await;
    let steps = rig.inbox().read(|look| look.steps(1)).await.unwrap();
    assert_eq!(steps.len(), 100);
    assert_eq!((steps[0].word.as_str(), steps[0].at_ms), ("waiting", 0), "how it began");
    assert_eq!((steps[99].word.as_str(), steps[99].at_ms), ("deferred", 199), "and how it is");
}
