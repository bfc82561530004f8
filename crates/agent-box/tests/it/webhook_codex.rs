//! A codex that is told of events: its only way to hear of them.

use agent_box_testkit::conformance::messages;
use agent_box_testkit::within;

use crate::scene::{PROGRAM, rollout, say, supervise};
use crate::webhook_box::{WebhookBox, issue, marker};

/// Seen red with a wrapper that answers "waiting" for it: what was answered is not offered again.
#[test]
fn a_stopped_codex_is_told_once_it_runs_again() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _supervisor = supervise(&mut the_box.scene);
    let _receiver = the_box.serve();
    let scene = &the_box.scene;
    say(scene, &["add", "c", "--agent", "codex", "--cwd", ".", "--prompt", "hello"]);
    say(scene, &["webhook", "subscribe", "o/r", "--session", "c"]);
    let heard = |text: &str| {
        rollout(scene).is_some_and(|it| messages(&it).iter().any(|said| said.contains(text)))
    };
    within(15).until("codex began", || heard("hello"));
    say(scene, &["stop", "c"]);
    assert_eq!(the_box.send("issues", "d-1", &issue("o/r", 1)), Some(200));
    the_box.wait_queued("d-1");
    within(2).always("nobody is told", || !heard(&marker(1)));
    say(scene, &["restart", "c"]);
    within(30).until("codex is told", || heard(&marker(1)));
    the_box.wait_state("d-1", "delivered");
    assert!(!heard("was sent before"), "it was offered once");
}
