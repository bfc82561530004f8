//! The same store, killed a thousand times.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "the modules belong to the quick tests")]

#[path = "../it/child.rs"]
mod child;
#[path = "../it/crash.rs"]
mod crash;
#[path = "../it/home.rs"]
mod home;

#[test]
fn no_session_is_lost_in_a_thousand_kills() {
    crash::kill_at_every_point(1000);
}
