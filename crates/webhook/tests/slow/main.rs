//! What takes longer than a few seconds: deadlines at their real length, long searches.

mod filters_lock;
mod identity;
mod inbox;
#[path = "../it/verbs.rs"]
mod verbs;
