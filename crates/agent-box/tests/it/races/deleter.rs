//! A deleter killed at every point of its own, at every point of a start.

use agent_box_testkit::TestPoints;

use super::stage::{QUEST, Stage, at_each, every_point};

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

/// Kills a deleter at its point while a start is held at each of its points.
fn killed_at(point: &str, committed: bool, with_the_supervisor: bool) {
    let mut came = 0;
    at_each(every_point(), |stage| {
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

macro_rules! deleters {
    ($($name:ident at $point:literal $(committed $committed:literal)?;)*) => {$(
        mod $name {
            #[test]
            fn p3_a_deleter_killed_leaves_all_or_nothing() {
                super::killed_at($point, false $(|| $committed)?, false);
            }

            #[test]
            fn p3_a_deleter_and_the_supervisor_killed_leave_all_or_nothing() {
                super::killed_at($point, false $(|| $committed)?, true);
            }
        }
    )*};
}

deleters! {
    with_the_lock at "store.locked";
    before_the_rename at "store.before-rename";
    after_the_rename at "store.after-rename" committed true;
    before_the_tombstone at "store.before-tombstone" committed true;
    after_the_tombstone at "store.after-tombstone" committed true;
    after_the_first_signal at "ending.after-term" committed true;
    before_the_terminal at "ending.before-terminal" committed true;
}
