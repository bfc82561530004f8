//! The wall clock; everything else takes the time as an argument. And the waiting of verbs, which
//! have nobody else to serve meanwhile.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; a clock before that reads as 0.
#[expect(clippy::disallowed_methods, reason = "the one clock of this crate")]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A point of the monotonic clock up to which a verb waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "the one clock of this crate")]
    pub(crate) fn after(wait: Duration) -> Self {
        Self(Instant::now() + wait)
    }

    #[expect(clippy::disallowed_methods, reason = "the one clock of this crate")]
    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}

/// Waits between two looks at something that no event announces, as a lock.
#[expect(clippy::disallowed_methods, reason = "callers bound the number of looks by a deadline")]
pub(crate) fn pause(wait: Duration) {
    std::thread::sleep(wait);
}
