//! The one place of this crate that reads a clock or waits, and where ids are minted.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_box_session::{LaunchId, SessionId, StoreId, Timestamp};
use uuid::Uuid;

/// The wall clock; a clock before 1970 reads as 0.
#[expect(clippy::disallowed_methods, reason = "the store's clock module")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A point of the monotonic clock up to which something may be waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "the store's clock module")]
    pub(crate) fn after(wait: Duration) -> Self {
        Self(Instant::now() + wait)
    }

    #[expect(clippy::disallowed_methods, reason = "the store's clock module")]
    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}

/// Waits between two looks at something that no event announces (a lock, a half-written file).
#[expect(clippy::disallowed_methods, reason = "callers bound the number of looks by a deadline")]
pub(crate) fn pause(wait: Duration) {
    std::thread::sleep(wait);
}

pub(crate) fn mint_session() -> SessionId {
    SessionId::from_uuid(Uuid::now_v7())
}

pub(crate) fn mint_launch() -> LaunchId {
    LaunchId::from_uuid(Uuid::now_v7())
}

pub(crate) fn mint_store() -> StoreId {
    StoreId::from_uuid(Uuid::now_v7())
}
