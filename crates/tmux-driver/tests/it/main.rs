//! The driver against real tmux servers, each on a private socket.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod create;
mod faults;
mod query;
mod recover;
mod rig;
mod server;
mod snapshot;
mod sources;
mod targets;
