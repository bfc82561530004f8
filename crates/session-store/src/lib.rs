//! Durable files of agent-box: registry, launch records, env file, journal.
//!
//! Owns: how each file is spelled, locked, written and read; that an acknowledged change survives
//! power loss; that a damaged file is never overwritten and never read as "empty". Refuses to
//! know: processes beyond lock holders, tmux, agents, and which change is right (that is
//! `agent-box-session`).
//!
//! ```no_run
//! use agent_box_session::{Agent, SessionName, SessionSpec, paths::Paths};
//! use agent_box_session_store::{Change, Store};
//!
//! let paths = Paths::new("/home/alice", "/run/agent-box-alice/tmux-1000/agent-box");
//! let store = Store::open(paths)?;
//! let name = SessionName::parse("main")?;
//! let change = Change::Operator { by: "cli".to_owned(), summary: "add main".to_owned() };
//! store.transact(change, |tx| tx.add(name, SessionSpec::new(Agent::Shell), "cli"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariants**
//! - There is one way to write the registry: [`Store::transact`], under flock on the sidecar.
//!   Nobody continues without the lock.
//! - A transaction that returns `Ok` is on disk, file and directory; one that fails before its
//!   rename has changed nothing.
//! - Fields, keys and order that the typed registry does not know survive every edit.
//! - A document that cannot be read is an error value that names file and byte, never an empty
//!   registry.
//! - Only [`Store::repair`] replaces a damaged registry, and it keeps the damaged bytes.

mod claim;
mod clock;
mod concerns;
mod document;
mod entry_json;
mod env_file;
mod event;
mod history;
mod identity_json;
mod journal;
mod launch;
mod launch_json;
mod look;
mod place;
mod raw_json;
mod regular_file;
mod repair;
mod rotation;
mod seed;
mod store;
mod sweep;
mod transaction;
mod undo;

pub use agent_box_disk::{Holder, IoError, LockError};
pub use claim::{ClaimError, LifetimeLock, SupervisorClaim};
pub use document::{Damage, DamageKind, Document, ReadError};
pub use env_file::{EditEnvError, EnvFile, KeyError, ReadEnvError, SetEnvError};
pub use event::{Event, EventKind};
pub use history::{Generation, GenerationKind, HistoryError, NameChange, WhatChanged};
pub use journal::{Filter, Journal};
pub use launch::{LaunchError, Launches};
pub use place::{Place, PlaceError};
pub use repair::{RepairError, Repaired};
pub use seed::{SeedError, Seeded};
pub use store::{OpenError, Store};
pub use transaction::{Change, TransactError, Transaction};
pub use undo::{UndoError, UndoRefusal};
