//! Waiting for what no event announces: a lock, a file that is being written.

use std::time::{Duration, Instant};

/// A point of the monotonic clock up to which something may be waited for.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// That long from now.
    #[expect(clippy::disallowed_methods, reason = "this crate's clock module")]
    pub fn after(wait: Duration) -> Self {
        Self(Instant::now() + wait)
    }

    /// Whether it is time to give up.
    #[expect(clippy::disallowed_methods, reason = "this crate's clock module")]
    pub fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}

/// Waits between two looks; the caller bounds their number by a [`Deadline`].
#[expect(clippy::disallowed_methods, reason = "callers bound the number of looks by a deadline")]
pub fn pause(wait: Duration) {
    std::thread::sleep(wait);
}
