//! The session protocol as a model: every order in which its actors can act and die.
//!
//! The decisions are production code: [`plan`](agent_box_supervisor::plan::plan) and the
//! transitions of `agent_box_session`. Abstracted are files, tmux and processes ([`state`]) and
//! the order of effects around the decisions ([`actors`]). [`properties`] says what must hold,
//! [`config`] which actors take part and which rule is broken on purpose, [`rest`] searches for
//! states from which nothing comes to rest any more.
//!
//! Left out here and so owed to tests with real processes: undo, reboot, renames, adoption of
//! untagged terminals, the 250 ms rule, cgroups, a process scan that is not atomic.

pub mod actors;
pub mod config;
pub mod properties;
pub mod rest;
pub mod state;

pub use actors::Step;
pub use config::{Broken, Config};
pub use properties::{Claim, Outcome, check, print_trace};
pub use rest::{Stuck, rest_is_reachable};
pub use state::State;
