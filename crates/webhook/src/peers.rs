//! How running sessions are told: their connections to the daemon.
//!
//! ```text
//! peer                                    daemon
//! {"hello":{"key":"alice-main",…}}   ─▶   uid checked, version said
//!                                    ◀─   {"welcome":{"version":1}}
//!                                    ◀─   {"message":{"seq":12,…}}     at most 16 unacknowledged
//! {"ack":12}                         ─▶   up to and including 12
//! {"pong":3}                         ─▶   heard, so its claims count (answers {"ping":3})
//! ```
//!
//! A channel is pushed to; a reader asks with `{"read":{"max":N}}` and gets messages and an `end`.
//! What is not acknowledged stays in the inbox: a peer that is paused, slow or gone loses nothing.

pub mod wire;

mod client;
mod hub;
mod legacy;
mod lines;
mod server;

pub(crate) use hub::Hub;
pub(crate) use legacy::serve as serve_legacy;
pub(crate) use server::serve;

pub use client::{Client, ClientError, Reading, shown};
