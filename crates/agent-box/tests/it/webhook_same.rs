//! Deliveries that come twice, and deliveries that only look like it.

use std::thread;

use agent_box_testkit::within;
use agent_box_webhook::inbox::Relation;

use crate::scene::PROGRAM;
use crate::webhook_box::{WebhookBox, issue, marker};

/// Case C55. Seen red with an inbox that takes what it knows for new.
#[test]
fn one_delivery_sent_ten_times_in_parallel_and_again_after_a_restart_is_one_session() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let receiver = the_box.serve();
    the_box.watch();
    let ten_times = |the_box: &WebhookBox| {
        thread::scope(|scope| {
            let sends: Vec<_> = (0..10)
                .map(|_| scope.spawn(|| the_box.send("issues", "same", &issue("o/r", 1))))
                .collect();
            let answers = sends.into_iter().map(|send| send.join().unwrap());
            assert!(answers.eq([Some(200); 10]), "each is answered as the first");
        });
    };
    ten_times(&the_box);
    the_box.wait_state("same", "spawned");
    let _ = receiver.terminate();
    let _receiver = the_box.serve();
    ten_times(&the_box);
    assert_eq!(the_box.delivery("same").unwrap().duplicates, 19);
    assert_eq!(the_box.send("issues", "next", &issue("o/s", 2)), Some(200));
    the_box.wait_state("next", "spawned");
    assert_eq!(the_box.hooks().len(), 2, "one each");
    assert_eq!(the_box.answers().len(), 2);
}

/// Case C56. Seen red with an inbox that knows deliveries by their id alone.
#[test]
fn the_same_body_under_two_ids_is_two_events_and_the_same_id_with_two_bodies_is_flagged() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    the_box.watch();
    for (id, repository, number) in [("a", "o/r", 1), ("b", "o/r", 1), ("b", "o/s", 2)] {
        assert_eq!(the_box.send("issues", id, &issue(repository, number)), Some(200));
    }
    let all = || {
        let mut all = the_box.deliveries();
        all.sort_by_key(|it| it.sequence);
        all
    };
    within(15).until("all are decided", || all().iter().all(|it| it.state.as_str() != "received"));
    let all = all();
    let relations: Vec<Relation> = all.iter().map(|it| it.relation).collect();
    let expected = [Relation::New, Relation::SameContent(1), Relation::OtherBody(2)];
    assert_eq!(relations, expected);
    within(15).until("the third has its session", || {
        the_box.hooks().iter().any(|(_, prompt)| prompt.contains(&marker(2)))
    });
    // The second has an effect of its own: in a batch, or for the session that works on it.
    let second = the_box.inbox().look(|look| Ok((look.member(2)?, look.messages_of(2)?))).unwrap();
    assert!(second.0.is_some() || !second.1.is_empty(), "{second:?}");
}
