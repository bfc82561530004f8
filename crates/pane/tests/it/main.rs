//! The launcher against real files, processes and tmux servers.
//!
//! The program under test is `examples/pane.rs`: it is what the shipped binary does before it
//! parses anything, it is built with every test run, and no second binary is shipped for it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod control_group;
mod ending;
mod gate;
mod job_control;
mod post_mortem;
mod start;
mod sudden_death;
mod test_box;
mod wait;
