//! Waiting for a predicate with a deadline: the only way a test waits.

use std::time::{Duration, Instant};

use crate::clock;

/// How long a wait may last; made by [`within`].
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    end: Instant,
    length: Duration,
}

/// A deadline this many seconds from now.
pub fn within(seconds: u64) -> Deadline {
    Deadline::after(Duration::from_secs(seconds))
}

impl Deadline {
    /// A deadline this long from now, for promises that are watched for less than a second.
    pub fn after(length: Duration) -> Self {
        Self { end: clock::now() + length, length }
    }

    /// Returns once `holds` is true; panics with `what` when the deadline passes first.
    #[track_caller]
    pub fn until(self, what: &str, mut holds: impl FnMut() -> bool) {
        self.for_some(what, || holds().then_some(()));
    }

    /// Whether it becomes true before the deadline, for a test that has more to say if not.
    pub fn becomes(self, mut holds: impl FnMut() -> bool) -> bool {
        self.first(|| holds().then_some(())).is_some()
    }

    /// Returns the first value that `look` finds; panics with `what` when the deadline passes first.
    #[track_caller]
    pub fn for_some<T>(self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        let Some(found) = self.first(look) else { panic!("not within {:?}: {what}", self.length) };
        found
    }

    fn first<T>(self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let mut pause = Duration::from_millis(1);
        loop {
            // The last look is after the deadline, so that a slow machine gets its chance.
            let late = clock::now() >= self.end;
            let found = look();
            if found.is_some() || late {
                return found;
            }
            clock::pause(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Panics with `what` if `holds` becomes false before the deadline.
    ///
    /// For promises that something does *not* happen; the time is the strength of the test.
    #[track_caller]
    pub fn always(self, what: &str, mut holds: impl FnMut() -> bool) {
        while clock::now() < self.end {
            assert!(holds(), "did not hold for {:?}: {what}", self.length);
            clock::pause(Duration::from_millis(10));
        }
    }
}
