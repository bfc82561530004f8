//! What storing says: new, duplicate, flagged, full.

use agent_box_event::{DeliveryState, Source};
use agent_box_webhook::inbox::{
    Criteria, Format, InboxLimits, Incoming, Reference, Relation, Stored,
};

use super::rig::{LIMITS, Rig, decline, incoming};

#[tokio::test]
async fn a_duplicate_has_no_effect_and_is_counted_on_the_first() {
    let mut rig = Rig::new();
    let first = rig.new_delivery("a", 10).await;
    rig.write(move |tx| decline(tx, first, 11)).await;
    let again = |at_ms| incoming("github", "a", b"body of a", at_ms);
    assert_eq!(rig.store(again(20)).await, Stored::Duplicate { of: first });
    rig.reopen();
    assert_eq!(rig.store(again(30)).await, Stored::Duplicate { of: first });
    let delivery = rig.delivery(first).await;
    assert_eq!((delivery.duplicates, delivery.duplicate_ms), (2, Some(30)));
    assert_eq!(delivery.received_ms, 10);
    assert_eq!(delivery.state, DeliveryState::Declined("nobody".to_owned()));
    let unmatched = rig.inbox().read(|look| look.unmatched(9)).await.unwrap();
    assert_eq!(unmatched, []);
}

#[tokio::test]
async fn ten_at_once_are_stored_once() {
    let rig = Rig::new();
    let mut tasks = tokio::task::JoinSet::new();
    for at_ms in 0..10 {
        let inbox = rig.inbox().clone();
        tasks.spawn(async move { inbox.store(incoming("github", "a", b"x", at_ms)).await });
    }
    let stored: Vec<Stored> = tasks.join_all().await.into_iter().map(Result::unwrap).collect();
    let new = stored.iter().filter(|it| matches!(it, Stored::New(_))).count();
    let duplicates = stored.iter().filter(|it| matches!(it, Stored::Duplicate { of: 1 })).count();
    assert_eq!((new, duplicates), (1, 9), "{stored:?}");
}

#[tokio::test]
async fn only_the_same_id_with_the_same_body_is_a_duplicate() {
    let rig = Rig::new();
    let check =
        async |source: &str, id: &str, body: &[u8], expected: Result<Relation, u64>| match rig
            .store(incoming(source, id, body, 0))
            .await
        {
            Stored::New(sequence) => {
                assert_eq!(Ok(rig.delivery(sequence).await.relation), expected, "{id}");
                let body_kept = rig.inbox().read(move |look| look.body(sequence)).await.unwrap();
                assert_eq!(body_kept.as_deref(), Some(body));
            }
            Stored::Duplicate { of } => assert_eq!(Err(of), expected, "{id}"),
            Stored::Full(why) => panic!("{why}"),
        };
    check("github", "a", b"one", Ok(Relation::New)).await;
    check("github", "a", b"two", Ok(Relation::OtherBody(1))).await;
    check("github", "b", b"one", Ok(Relation::SameContent(1))).await;
    check("gitea", "a", b"one", Ok(Relation::New)).await;
    check("github", "a", b"two", Err(2)).await;
    check("github", "a", b"one", Err(1)).await;
    check("github", "b", b"one", Err(3)).await;
    check("github", "a", b"", Ok(Relation::OtherBody(1))).await;
}

#[tokio::test]
async fn a_delivery_reads_as_it_came() {
    let mut rig = Rig::new();
    let bare = Incoming {
        key: None,
        sender: None,
        is_id_ours: true,
        format: Format::Generic,
        ..incoming("shop", "x", &[0, 255, b'\n'], 1_800_000_000_000)
    };
    let full =
        Incoming { kind: "wörd \u{1b}[31m".to_owned(), ..incoming("github", "y", b"{}", 5) };
    for sent in [bare, full] {
        let Stored::New(sequence) = rig.store(sent.clone()).await else { panic!("not new") };
        rig.reopen();
        let unmatched = rig.inbox().read(|look| look.unmatched(9)).await.unwrap();
        let found = unmatched.iter().find(|it| it.delivery.sequence == sequence).unwrap();
        let got = &found.delivery;
        let came = Incoming {
            source: got.source.clone(),
            format: got.format,
            kind: got.kind.clone(),
            key: got.key.clone(),
            sender: got.sender.clone(),
            id: got.id.clone(),
            is_id_ours: got.is_id_ours,
            digest: got.digest,
            body: found.body.clone(),
            received_ms: got.received_ms,
        };
        assert_eq!(came, sent);
        assert_eq!((&got.state, got.settled_ms), (&DeliveryState::Received, None));
    }
}

#[tokio::test]
async fn a_full_backlog_refuses_what_is_new_until_something_is_settled() {
    let rig = Rig::with(InboxLimits { unsettled: 2, ..LIMITS });
    rig.new_delivery("a", 0).await;
    rig.new_delivery("b", 0).await;
    let third = || incoming("github", "c", b"c", 0);
    let Stored::Full(why) = rig.store(third()).await else { panic!("stored") };
    assert_eq!(why, "2 deliveries wait to be settled");
    let duplicate = rig.store(incoming("github", "a", b"body of a", 0)).await;
    assert_eq!(duplicate, Stored::Duplicate { of: 1 }, "a duplicate takes no room");
    rig.write(|tx| decline(tx, 1, 5)).await;
    assert_eq!(rig.store(third()).await, Stored::New(3));

    let rig = Rig::with(InboxLimits { unsettled_bytes: 10, ..LIMITS });
    assert_eq!(rig.store(incoming("github", "a", &[1; 6], 0)).await, Stored::New(1));
    let second = rig.store(incoming("github", "b", &[2; 5], 0)).await;
    assert_eq!(second, Stored::Full("6 bytes of deliveries wait to be settled".to_owned()));
    assert_eq!(rig.store(incoming("github", "c", &[2; 4], 0)).await, Stored::New(2));
}

#[tokio::test]
async fn large_bodies_are_looked_at_a_few_at_a_time_and_in_order() {
    let rig = Rig::new();
    for id in ["a", "b", "c", "d"] {
        let body = vec![id.as_bytes()[0]; 3 << 20];
        rig.store(incoming("github", id, &body, 0)).await;
    }
    let seen = async |limit| {
        let unmatched = rig.inbox().read(move |look| look.unmatched(limit)).await.unwrap();
        unmatched.into_iter().map(|it| it.delivery.sequence).collect::<Vec<u64>>()
    };
    assert_eq!(seen(9).await, [1, 2]);
    assert_eq!(seen(1).await, [1]);
    rig.write(|tx| decline(tx, 1, 5)).await;
    assert_eq!(seen(9).await, [2, 3]);
}

#[tokio::test]
async fn deliveries_are_found_as_people_name_them() {
    let rig = Rig::new();
    for (source, id, body) in
        [("github", "a", "1"), ("gitea", "a", "1"), ("github", "a", "2"), ("github", "9", "3")]
    {
        rig.store(incoming(source, id, body.as_bytes(), 7)).await;
    }
    rig.write(|tx| decline(tx, 2, 8)).await;
    for (text, expected) in [
        ("a", vec![1, 2, 3]),
        ("github/a", vec![1, 3]),
        ("gitea/a", vec![2]),
        ("#2", vec![2]),
        ("2", vec![2]),
        ("9", vec![4]),
        ("#9", vec![]),
        ("b", vec![]),
        ("gitea/9", vec![]),
    ] {
        let reference = Reference::parse(text).unwrap();
        let found = rig.inbox().read(move |look| look.find(&reference)).await.unwrap();
        let found: Vec<u64> = found.into_iter().map(|it| it.sequence).collect();
        assert_eq!(found, expected, "{text}");
    }
    let list = async |criteria: Criteria, limit| {
        let found = rig.inbox().read(move |look| look.list(&criteria, limit)).await.unwrap();
        found.into_iter().map(|it| it.sequence).collect::<Vec<u64>>()
    };
    assert_eq!(list(Criteria::default(), 2).await, [4, 3], "the newest first");
    let source = Source::parse("gitea").ok();
    assert_eq!(list(Criteria { source, ..Criteria::default() }, 9).await, [2]);
    let state = Some("declined".to_owned());
    assert_eq!(list(Criteria { state, ..Criteria::default() }, 9).await, [2]);
    let since = |since_ms| Criteria { since_ms: Some(since_ms), ..Criteria::default() };
    assert_eq!(list(since(7), 9).await.len(), 4);
    assert_eq!(list(since(8), 9).await, Vec::<u64>::new());
}
