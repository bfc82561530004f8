//! The webhook receiver of agent-box: what a sender was told was stored has its effect.
//!
//! Owns: sources and their signatures, the ingress, the durable inbox, filter files, when a batch
//! is handed to the spawn wrapper, how running sessions are told, and the verbs of
//! `agent-box webhook`. Refuses to know: which event is wanted and when (that is
//! `agent-box-event`), the registry, tmux and agents (those it asks the spawn wrapper about,
//! behind a process boundary).
//!
//! **Invariants**
//! - A delivery is on disk before it is answered with 200.
//! - One program at a time writes the inbox.
//! - A batch's members and text are on disk before the wrapper is started for it.
//! - Nothing from outside reaches a log, an answer or an agent unless sanitised and framed.

pub mod cli;
pub mod engine;
pub mod filters;
pub mod hook;
pub mod inbox;
pub mod ingress;
pub mod mcp;
pub mod peers;
pub mod serve;

mod clock;
mod disk;
mod json;

pub use clock::now_ms;
pub use json::{Parsed, from_event_json, to_event_json};
