//! What takes longer than a few seconds: deadlines at their real length, long searches.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod filters_lock;
mod identity;
mod inbox;
mod ingress;
#[path = "../it/verbs.rs"]
mod verbs;
