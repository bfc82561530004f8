//! The one reader of the monotonic clock: how much of a call's time is left.

use std::time::{Duration, Instant};

use rustix::event::Timespec;

/// A point in time after which a call gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    /// The whole allowance, for the error text.
    pub(crate) allowed: Duration,
}

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "the clock module of this crate")]
    pub(crate) fn after(allowed: Duration) -> Self {
        Self { at: Instant::now() + allowed, allowed }
    }

    /// Time left; `None` once it is over.
    #[expect(clippy::disallowed_methods, reason = "the clock module of this crate")]
    pub(crate) fn left(&self) -> Option<Duration> {
        self.at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Time left as `poll` wants it, at most `step`; `None` once it is over.
    pub(crate) fn poll_timeout(&self, step: Duration) -> Option<Timespec> {
        let left = self.left()?.min(step);
        Some(Timespec::try_from(left).expect("BUG: a call's allowance is seconds, not centuries"))
    }
}
