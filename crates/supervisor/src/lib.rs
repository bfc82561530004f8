//! Observe, plan, execute: keeps every session of one user what the registry says.
//!
//! Owns: the look at tmux, records and processes ([`observe`]), the pure decision ([`plan`]),
//! starts and ends ([`start`], [`ending`]), the event loop ([`run`]), and the operator's verbs
//! that must end processes ([`operator`]). Refuses to know: HTTP, agent flags (the harness has
//! them), and how a launch is gated (the launcher does that, under the registry lock).
//!
//! ```text
//!  inotify, exit reports, pidfds, 30 s tick          (they only wake; the look decides)
//!        │
//!        ▼
//!  observe ──▶ plan(intent, observed, now) ──▶ actions ──▶ per-session tasks
//!  1 registry read, 1 tmux round trip          pure         start · end · park · settle …
//! ```
//!
//! **Invariants**
//! - Nothing is decided from an unreadable registry or an unanswered tmux: both are values.
//! - Planning after a plan was carried out yields nothing.
//! - A session has at most one task at a time; a hung one delays no other session.
//! - Every kill names a launch id, never a name.

mod blindness;
mod clock;
pub mod ending;
pub mod observe;
pub mod operator;
pub mod plan;
pub mod process;
pub mod run;
pub mod start;
pub mod subscriptions;
mod tasks;
mod watch;
