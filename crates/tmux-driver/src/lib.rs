//! Typed tmux: exact targets, one-round-trip snapshots, create-and-tag.
//!
//! Owns every tmux command line, every tmux format string and the meaning of tmux's messages.
//! Refuses to know what runs in a session, why it should run and where that is written down.
//! Synchronous: every call is one short-lived client with a deadline; callers that may not block
//! put a call on a blocking thread.
//!
//! ```no_run
//! use agent_box_tmux_driver::{Server, StartPolicy, Tmux};
//!
//! let tmux = Tmux::new(Server {
//!     binary: "tmux".into(),
//!     socket: "/run/user/1000/tmux-1000/agent-box".into(),
//!     start: StartPolicy::Start,
//!     environment: vec![("HOME".into(), "/home/ada".into())],
//! });
//! tmux.start_server()?;
//! assert!(tmux.snapshot()?.sessions.is_empty());
//! # Ok::<(), agent_box_tmux_driver::TmuxError>(())
//! ```
//!
//! **Invariants**
//! - A `-t` is only ever made by [`SessionTarget`]: exact, never a prefix or a pattern
//!   (`deleting_a_name_twice_leaves_longer_names_alive`, `no_target_is_built_outside_its_type`).
//! - No client waits longer than the deadline, and none is left behind
//!   (`a_stopped_server_times_out_and_answers_again_later`).
//! - A client sees only the listed environment, so a server started by one holds nothing else
//!   (`a_started_server_holds_only_the_listed_environment`).
//! - "No server" is said only when nobody listens on the socket's path, also if the path was
//!   unlinked (`an_unlinked_socket_is_recovered_and_the_server_not_doubled`).
//! - A snapshot is one client, however many sessions there are
//!   (`a_snapshot_of_a_hundred_sessions_is_one_client`).

mod announce;
mod attach;
mod client;
mod command;
mod create;
mod deadline;
mod error;
mod kill;
mod notice;
mod query;
mod recover;
mod rename;
mod server;
mod snapshot;
mod socket;
mod tag;
mod target;

pub use create::{Created, NewSession};
pub use error::TmuxError;
pub use kill::Kill;
pub use recover::Recovery;
pub use server::{Server, StartPolicy, Tmux};
pub use snapshot::{Pane, ServerInfo, Session, Snapshot};
pub use tag::{Tag, Tags};
pub use target::{InvalidTarget, Name, SessionTarget, TmuxId};
