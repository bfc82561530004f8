//! The wrapper killed at each of its points: the receiver tries again after its pause, and each
//! delivery has exactly one session.

use crate::webhook_box::{WebhookBox, issue, marker};

/// Seen red with a wrapper that does not look for a claim on its batch (at `spawn.written`).
#[test]
fn a_wrapper_killed_at_any_point_has_its_batch_s_effect_exactly_once() {
    for point in ["spawn.locked", "spawn.written", "spawn.printed"] {
        let mut the_box = WebhookBox::new(env!("CARGO_BIN_EXE_agent-box"));
        let _receiver = the_box.serve();
        the_box.watch();
        the_box.scene.points().arm(point, "kill-once");
        assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200));
        the_box.scene.points().wait_taken(point);
        the_box.wait_state("one", "spawned");
        let hooks = the_box.hooks();
        assert_eq!(hooks.len(), 1, "{point}: {hooks:?}");
        assert!(hooks[0].1.contains(&marker(1)), "{point}: {hooks:?}");
        let batch = the_box.inbox().look(|look| look.batch(1)).unwrap().unwrap();
        assert_eq!(batch.attempts, 2, "{point}");
        assert_eq!(the_box.answers()[0].name, hooks[0].0, "{point}");
    }
}
