//! The store on real files and with real processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod child;
mod contract;
mod crash;
mod damage;
mod env_and_journal;
mod full_disk;
mod history;
mod home;
mod launches;
mod locking;
mod seeding;

#[test]
fn no_session_is_lost_when_a_writer_is_killed() {
    crash::kill_at_every_point(60);
}
