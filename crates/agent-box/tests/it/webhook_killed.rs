//! The receiver and the wrapper killed at every point between a delivery and its session: each
//! delivery that was answered with 2xx has exactly one effect.

use agent_box_testkit::within;

use crate::scene::PROGRAM;
use crate::webhook_box::{WebhookBox, issue, marker};

/// Every point of the receiver, in the order in which a delivery passes them.
const RECEIVER: [&str; 7] = [
    "webhook.stored",
    "webhook.answered",
    "webhook.matched",
    "webhook.frozen",
    "webhook.attempted",
    "webhook.spawned",
    "webhook.settled",
];

/// How often a session was ever started for the delivery with this number, and its listed prompts.
fn started(the_box: &WebhookBox, number: u64) -> usize {
    the_box.hooks().iter().filter(|(_, prompt)| prompt.contains(&marker(number))).count()
}

#[track_caller]
fn killed_at(point: &str) {
    let mut the_box = WebhookBox::new(PROGRAM);
    let receiver = the_box.serve();
    the_box.watch();
    the_box.scene.points().arm(point, "kill-once");
    let answer = the_box.send("issues", "one", &issue("o/r", 1));
    the_box.scene.points().wait_taken(point);
    let _ = receiver.kill();
    let _receiver = the_box.serve();
    // A sender that got no answer tries again with the same id.
    if answer.is_none() {
        assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200), "{point}");
    }
    the_box.wait_state("one", "spawned");
    assert_eq!(the_box.send("issues", "two", &issue("o/s", 2)), Some(200), "{point}");
    the_box.wait_state("two", "spawned");
    let hooks = the_box.hooks();
    assert_eq!((started(&the_box, 1), started(&the_box, 2)), (1, 1), "{point}: {hooks:?}");
    assert_eq!(hooks.len(), 2, "{point}: {hooks:?}");
    assert_eq!(the_box.answers().len(), 2, "{point}");
}

/// Seen red (at `webhook.frozen`) with a start that does not run frozen batches again.
#[test]
fn a_receiver_killed_at_any_point_has_each_delivery_s_effect_exactly_once() {
    for point in RECEIVER {
        killed_at(point);
    }
}

/// The agent was quick: it ended and removed itself before the receiver knew of it. Seen red with
/// a wrapper that does not look for a claim on its batch.
#[test]
fn a_session_that_removed_itself_before_it_was_noted_is_not_started_again() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let receiver = the_box.serve();
    the_box.watch();
    the_box.scene.points().arm("webhook.spawned", "pause");
    assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200));
    the_box.scene.points().wait_reached("webhook.spawned");
    let (name, _) = the_box.hooks().remove(0);
    the_box.scene.run(&["rm", &name]).expect_success();
    let _ = receiver.kill();
    the_box.scene.points().release("webhook.spawned");
    let _receiver = the_box.serve();
    the_box.wait_state("one", "spawned");
    assert_eq!(the_box.hooks(), [], "nothing is started a second time");
    assert_eq!(the_box.answers().len(), 1);
    assert_eq!(the_box.answers()[0].name, name);
}

/// The wrapper of the killed receiver is still at work when the next receiver runs the same batch.
/// Seen red with a start that does not run frozen batches again.
#[test]
fn an_orphaned_wrapper_beside_a_second_one_starts_one_session() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let receiver = the_box.serve();
    the_box.watch();
    the_box.scene.points().arm("spawn.locked", "pause");
    assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200));
    the_box.scene.points().wait_reached("spawn.locked");
    let attempted = |the_box: &WebhookBox| {
        the_box.inbox().look(|look| look.batch(1)).unwrap().and_then(|it| it.attempted_ms)
    };
    let first = attempted(&the_box);
    let _ = receiver.kill();
    let _receiver = the_box.serve();
    within(10).until("the batch is run a second time", || attempted(&the_box) != first);
    the_box.scene.points().release("spawn.locked");
    the_box.wait_state("one", "spawned");
    assert_eq!(the_box.hooks().len(), 1);
    assert_eq!(the_box.answers().len(), 1);
}
