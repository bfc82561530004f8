//! A deleter killed at every point of its own, while a start is held.
//!
//! Seen red with a supervisor that leaves unlisted sessions alone, and, before the tombstone, with
//! an `rm` that did not know the name any more.

use agent_box_testkit::TestPoints;

use super::stage::{QUEST, Stage, at_each};

/// The points of a start between which a deleter finds something else to end.
const STARTS: [&str; 5] = [
    "supervisor.after-planning",
    "supervisor.before-new-session",
    "pane.before-gate",
    "pane.after-starting",
    "pane.after-exec",
];

/// Lets a deleter die at `point`; returns whether it came that far.
fn kill_deleter(stage: &mut Stage, point: &str) -> bool {
    let points = TestPoints::new(stage.test_box.home().join("deleter"));
    points.arm(point, "kill-once");
    let deleter = stage.test_box.command(&["rm", QUEST]);
    let finished = stage.run_command(deleter.env(TestPoints::VARIABLE, points.directory()));
    if finished.code.is_some() {
        finished.expect_success();
        return false;
    }
    true
}

fn is_listed(stage: &Stage) -> bool {
    stage.session.is_some_and(|id| stage.oracle.store.read().unwrap().registry.lists(id))
}

/// Kills a deleter at its point, once with a start held at each of [`STARTS`].
fn killed_at(point: &str, committed: bool, with_the_supervisor: bool) {
    let mut came = 0;
    at_each(STARTS, |stage| {
        let died = kill_deleter(stage, point);
        came += usize::from(died);
        assert_eq!(is_listed(stage), died && !committed, "the rename is the commit");
        if with_the_supervisor {
            stage.kill_supervisor();
        }
        stage.release();
        stage.settle();
        // Whoever tries again succeeds, whatever the first one had done.
        stage.remove(QUEST);
    });
    assert!(came > 0, "no deleter came to {point}");
}

#[test]
fn p3_a_deleter_killed_before_its_rename_has_removed_nothing() {
    killed_at("store.locked", false, false);
    killed_at("store.before-rename", false, false);
}

macro_rules! after_the_commit {
    ($($name:ident: $point:literal,)*) => {$(
        mod $name {
            #[test]
            fn p3_a_killed_deleter_leaves_nothing_live() {
                super::killed_at($point, true, false);
            }

            #[test]
            fn p3_a_deleter_killed_with_the_supervisor_leaves_nothing_live() {
                super::killed_at($point, true, true);
            }
        }
    )*};
}

after_the_commit! {
    after_the_rename: "store.after-rename",
    before_the_tombstone: "store.before-tombstone",
    after_the_tombstone: "store.after-tombstone",
    after_the_first_signal: "ending.after-term",
    before_the_terminal: "ending.before-terminal",
}
