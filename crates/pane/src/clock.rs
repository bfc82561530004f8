//! The one reader of the monotonic clock: how much of a wait is left.

use std::time::{Duration, Instant};

/// A point in time at which a wait is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "the clock module of this crate")]
    pub(crate) fn after(allowed: Duration) -> Self {
        Self(Instant::now() + allowed)
    }

    /// Time left; zero once it is over.
    #[expect(clippy::disallowed_methods, reason = "the clock module of this crate")]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }
}
