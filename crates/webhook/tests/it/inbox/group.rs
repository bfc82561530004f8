//! One writer for many: group commit, and that jobs do not harm each other.

use agent_box_webhook::inbox::{InboxError, InboxLimits, Look, Stored};
use tokio::task::JoinSet;

use super::rig::{LIMITS, Rig, decline, incoming};

#[tokio::test]
async fn many_at_once_share_a_commit() {
    let rig = Rig::new();
    let before = rig.inbox().commits();
    let mut tasks = JoinSet::new();
    for number in 0..64 {
        let inbox = rig.inbox().clone();
        let incoming = incoming("github", &format!("d{number}"), &[number], 0);
        tasks.spawn(async move { inbox.store(incoming).await });
    }
    for stored in tasks.join_all().await {
        assert!(matches!(stored.unwrap(), Stored::New(_)));
    }
    let commits = rig.inbox().commits() - before;
    assert!((1..=8).contains(&commits), "{commits} commits for 64 deliveries");
    let all = rig.inbox().read(|look| look.unmatched(99)).await.unwrap();
    assert_eq!(all.len(), 64);
}

#[tokio::test]
async fn a_job_that_fails_or_panics_takes_nobody_with_it() {
    let rig = Rig::new();
    for id in ["a", "b", "c"] {
        rig.new_delivery(id, 0).await;
    }
    let before = rig.inbox().commits();
    let good = rig.inbox().write(|tx| decline(tx, 1, 5));
    let bad = rig.inbox().write(|tx| {
        decline(tx, 2, 5)?;
        decline(tx, 99, 5)
    });
    let ugly = rig.inbox().write(|tx| {
        decline(tx, 3, 5)?;
        assert_eq!(tx.id(), 0, "a bug of the caller");
        Ok(())
    });
    let (good, bad, ugly) = tokio::join!(good, bad, ugly);
    good.unwrap();
    assert!(matches!(bad.unwrap_err(), InboxError::Unknown(_)));
    assert!(matches!(ugly.unwrap_err(), InboxError::Panicked));
    assert_eq!(rig.state(1).await, "declined (nobody)");
    assert_eq!(rig.state(2).await, "received");
    assert_eq!(rig.state(3).await, "received");
    assert!(rig.inbox().commits() - before <= 2);
}

#[tokio::test]
async fn a_change_is_announced_and_a_look_is_not() {
    let rig = Rig::new();
    let mut changed = rig.inbox().changed();
    changed.mark_unchanged();
    rig.inbox().read(Look::counters).await.unwrap();
    rig.write(|tx| tx.unmatched(9)).await;
    assert!(!changed.has_changed().unwrap(), "a job that writes nothing wakes nobody");
    rig.new_delivery("a", 0).await;
    assert!(changed.has_changed().unwrap());
}

#[tokio::test]
async fn too_many_jobs_are_refused_at_once_and_not_kept_waiting() {
    let rig = Rig::with(InboxLimits { jobs: 4, ..LIMITS });
    let (started, is_started) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel();
    let inbox = rig.inbox().clone();
    let busy = tokio::spawn(async move {
        let job = move |_: &mut agent_box_webhook::inbox::Tx<'_>| {
            started.send(()).unwrap();
            may_go.recv().unwrap();
            Ok(())
        };
        inbox.write(job).await
    });
    // The runtime has one thread: let the job be handed over before waiting for it.
    tokio::task::yield_now().await;
    is_started.recv().unwrap();
    let mut tasks = JoinSet::new();
    for number in 0..10 {
        let inbox = rig.inbox().clone();
        let incoming = incoming("github", &format!("d{number}"), &[number], 0);
        tasks.spawn(async move { inbox.store(incoming).await.unwrap() });
    }
    // The six that found no room are answered while the writer is still busy.
    let mut refused = 0;
    while refused < 6 {
        match tasks.join_next().await.unwrap().unwrap() {
            Stored::Full(why) => assert_eq!(why, "too much waits to be written"),
            other => panic!("{other:?}"),
        }
        refused += 1;
    }
    go.send(()).unwrap();
    busy.await.unwrap().unwrap();
    let stored = tasks.join_all().await;
    assert_eq!(stored.len(), 4);
    assert!(stored.iter().all(|it| matches!(it, Stored::New(_))), "{stored:?}");
}

#[tokio::test]
async fn a_job_may_own_the_last_handle() {
    let mut rig = Rig::new();
    let inbox = rig.inbox().clone();
    let last = inbox.clone();
    let (done, is_done) = std::sync::mpsc::channel();
    let writing = tokio::spawn(async move {
        let _ = inbox
            .write(move |tx| {
                tx.counters()?;
                drop(last);
                done.send(()).unwrap();
                Ok(())
            })
            .await;
    });
    tokio::task::yield_now().await;
    rig.close();
    writing.await.unwrap();
    is_done.recv().unwrap();
}
