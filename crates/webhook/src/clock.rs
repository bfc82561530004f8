//! The wall clock; everything else takes the time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; a clock before that reads as 0.
#[expect(clippy::disallowed_methods, reason = "the one clock of this crate")]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
