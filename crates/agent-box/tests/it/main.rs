//! The program from its command line, on real tmux, processes and files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance_boot;
mod acceptance_prompts;
mod acceptance_restart;
mod acceptance_rotation;
mod acceptance_sessions;
mod acceptance_status;
mod acceptance_subscriptions;
mod cases_cli;
mod cases_damage;
mod cases_ending;
mod cases_environment;
mod cases_hand_edits;
mod cases_identity;
mod cases_index;
mod cases_inside;
mod cases_processes;
mod cases_recovery;
mod cases_store;
mod cases_tmux;
mod cases_undo;
mod cases_update;
mod counts;
#[cfg(feature = "testpoints")]
#[path = "../shared/interleaving.rs"]
mod interleaving;
#[cfg(feature = "testpoints")]
#[path = "../shared/oracle.rs"]
mod oracle;
#[cfg(feature = "testpoints")]
mod races;
mod scene;
mod spot;
#[cfg(feature = "testpoints")]
mod story;
#[path = "../shared/webhook_box.rs"]
mod webhook_box;
mod webhook_codex;
mod webhook_damage;
mod webhook_hook;
#[cfg(feature = "testpoints")]
mod webhook_killed;
mod webhook_peers;
mod webhook_same;
mod webhook_story;

/// The promises of [`races`] are only tested when programs can be held at their points.
#[cfg(not(feature = "testpoints"))]
#[test]
fn the_race_tests_need_the_testpoints_feature() {
    panic!("run the tests of agent-box with `--features testpoints`");
}
