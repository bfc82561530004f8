//! The vocabulary of agent-box sessions and the pure transitions of their registry.
//!
//! Owns: names, ids, agents, the registry's entries and every rule about how they change, the
//! launch record, the sorting of an agent's end, the states people see, paths, and the table of
//! environment variables. Refuses to know: files, clocks, the process environment, JSON, tmux.
//! Everything outside is an argument, so the protocol model in `checks` calls the same functions
//! as production.
//!
//! ```
//! use agent_box_session::{Registry, SessionName, Agent, SessionSpec};
//! let mut registry = Registry::default();
//! let name = SessionName::parse("main").unwrap();
//! assert!(registry.entry(&name).is_none());
//! let spec = SessionSpec::new(Agent::Shell);
//! # let _ = (spec, &mut registry);
//! ```
//!
//! **Invariants**
//! - A [`SessionId`] is minted once and never handed to another session: no transition copies an
//!   id from one name to another except when the operator renamed the key.
//! - A tombstoned id never becomes current again except through `undo`.
//! - Every intent raises the generation, so a launch knows whether it is still the wanted one.
//! - No function here can fail because of the outside world.

mod agent;
mod ending;
mod entry;
mod gate;
mod id;
mod identity;
mod name;
mod record;
mod registry;
mod settle;
mod state;
mod time;
mod undo;
mod webhook_paths;

pub mod env;
pub mod paths;

pub use agent::{Agent, ParseAgentError};
pub use ending::{Backoff, Ending, Exit, backoff, sort_ending};
pub use entry::{Entry, Limits, SessionSpec};
pub use gate::{GateRefusal, check_gate, check_post_mortem_gate, mirror_launch};
pub use id::{LaunchId, ParseIdError, SessionId, StoreId};
pub use identity::{Identities, Identity, PromptHash, Tombstone};
pub use name::{ParseNameError, SessionName, derive_name};
pub use record::{LaunchRecord, LaunchState, ProcessRef, Trouble, TroubleKind};
pub use registry::{AddRefusal, Delisted, Registry, Unusable, VerbRefusal};
pub use settle::{Settled, is_settled, settle_identities, settle_one};
pub use state::{LiveView, SessionState, derive_state};
pub use time::Timestamp;
pub use undo::{Undone, undo};
pub use webhook_paths::WebhookPaths;
