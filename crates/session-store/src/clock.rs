//! The one place of this crate that reads a clock, and where ids are minted.

use std::time::{SystemTime, UNIX_EPOCH};

use agent_box_session::{LaunchId, SessionId, StoreId, Timestamp};
use uuid::Uuid;

/// The wall clock; a clock before 1970 reads as 0.
#[expect(clippy::disallowed_methods, reason = "the store's clock module")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
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
