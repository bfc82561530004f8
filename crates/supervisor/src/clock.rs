//! The one place of this crate that reads the monotonic clock.

use std::time::{Duration, Instant};

/// A point after which waiting ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// `after` from now.
    #[expect(clippy::disallowed_methods, reason = "this is the crate's clock module")]
    pub(crate) fn after(after: Duration) -> Self {
        Self(Instant::now() + after)
    }

    /// How long is left; zero when it has passed.
    #[expect(clippy::disallowed_methods, reason = "this is the crate's clock module")]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    pub(crate) fn has_passed(self) -> bool {
        self.left().is_zero()
    }
}
