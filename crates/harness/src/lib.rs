//! What agent-box knows of each agent's command-line program.
//!
//! Owns: command lines and environments of claude, codex, a shell and any other program; the
//! files that must be seeded before a start; where transcripts are and what they prove; which
//! conversation a launch continues; how a prompt is handed over. Refuses to know: tmux, the
//! registry's file, locks, clocks. Everything here is slow work that the supervisor does before
//! it takes any lock.
//!
//! ```no_run
//! use agent_box_harness::{Harness, Request, Surroundings};
//! # fn show(surroundings: Surroundings, entry: &agent_box_session::Entry) {
//! let harness = Harness::new(surroundings);
//! let prepared = harness.prepare(&Request {
//!     name: &agent_box_session::SessionName::parse("main").unwrap(),
//!     launch: agent_box_session::LaunchId::from_uuid(uuid::Uuid::now_v7()),
//!     entry,
//!     record: None,
//!     rotation: &|_| None,
//!     others: &[],
//!     variables: &[],
//! });
//! # let _ = prepared;
//! # }
//! ```
//!
//! **Invariants**
//! - A conversation is continued only if its transcript is where the agent will look and it is
//!   provably this session's; else a fresh one begins and a note says why.
//! - A conversation id that has a transcript is never handed to claude as a new one.
//! - Every prompt is one argument word or a file that a short one names; no text of ours or of
//!   the operator passes a shell.
//! - The operator's own state files keep mode, owner and symlink, and one that does not parse is
//!   left as it is.

mod argument_space;
mod claude;
mod codex;
mod conversation;
mod directory;
mod environment;
mod harness;
mod hook;
mod instructions;
mod json_lines;
mod prepare_error;
mod program;
mod prompt;
mod state_file;
mod surroundings;
mod tell;

pub use argument_space::LONGEST_WORD;
pub use harness::{Harness, Prepared, Request};
pub use hook::{Rotation, session_start_hook};
pub use prepare_error::PrepareError;
pub use surroundings::Surroundings;
pub use tell::{TellError, Telling};

/// What agents call our server of tools.
const TOOLS: &str = "agent-box";

/// The value that the env file gives to `key`; the last line counts.
fn variable<'a>(variables: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let value = variables.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
    value.map(String::as_str).filter(|value| !value.is_empty())
}
