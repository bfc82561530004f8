//! The spawn wrapper: starts a session for a batch of webhook events, exactly once.
//!
//! Owns: the cap, the hook session's prompt and arguments, the claim on a batch, what a receiver
//! may learn of sessions. Refuses to know: HTTP, deliveries, whether an event is wanted, how an
//! agent is talked to (`agent-box` knows).
//!
//! ```text
//! 1 look at tmux                              no lock, 1 s
//! 2 [registry lock]  claimed already?  → the same answer, nothing changed
//!                    full?             → refusal, nothing changed
//!                    seed the subscription, add the entry, claim the batch     one rename
//! 3 print {sessionId, name}
//! ```
//! A crash before the rename of step 2 leaves a subscription of a session that does not exist,
//! which the next run replaces and the supervisor sweeps; one after it is answered by the claim.
//!
//! ```no_run
//! use agent_box_event::contract::Request;
//! use agent_box_webhook_spawn::{Outcome, Surrounded};
//!
//! let told = |name: &str| (name == "HOME").then(|| "/home/alice".into());
//! let surrounded = Surrounded::open(&told)?;
//! let mut warn = |text: &str| eprintln!("{text}");
//! match surrounded.spawn(&Request::default(), "[a test] nothing happened", &mut warn)? {
//!     Outcome::Accepted(answer) => println!("{}", answer.name),
//!     Outcome::Full(refusal) => println!("{refusal}"),
//!     Outcome::Nothing => {}
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariants**
//! - One batch has at most one session, whatever dies when: its claim is in the same document as
//!   its entry and outlives it (`a_killed_wrapper_and_its_rerun_make_one_session`).
//! - A batch that was claimed changes nothing
//!   (`an_agent_that_removed_itself_is_not_started_again`).
//! - The cap holds for wrappers side by side (`ten_at_once_fill_the_cap_and_no_more`).
//! - What came from outside stands behind the prompt's own words, unchanged
//!   (`a_megabyte_arrives_byte_for_byte`).
//! - Nothing types into a terminal.

mod agent;
mod arguments;
mod cap;
mod claims;
mod deliver;
mod json;
mod preamble;
mod prompt;
mod refusal;
mod seed;
mod spawn;
mod status;
mod surrounded;
mod tell;

pub use agent::AgentError;
pub use claims::ClaimsError;
pub use deliver::DeliverError;
pub use json::line;
pub use spawn::{Full, Outcome, SpawnError};
pub use status::StatusError;
pub use surrounded::{OpenError, Surrounded};
