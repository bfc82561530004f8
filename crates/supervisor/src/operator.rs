//! The operator's verbs: what the command line does, as values and without printing.
//!
//! Every verb is an intent committed in one transaction; `rm`, `stop` and `restart` then end the
//! launches they noted under the lock, so that they return when it is done, whether or not a
//! supervisor runs. A verb that runs inside the session it is about commits its intent and leaves
//! the ending to the supervisor, which survives it.

mod add;
mod end;
mod explain;
mod limits;
mod list;
mod status;
mod undo;

pub use add::{AddError, AddRequest, Added};
pub use end::{EndVerb, Ended, VerbError};
pub use explain::{ExplainError, Explanation};
pub use limits::LimitsChange;
pub use list::{List, ListError, Row};
pub use status::{ServerStatus, Status};
pub use undo::UndoFault;

use std::time::Duration;

use agent_box_session_store::Store;
use agent_box_tmux_driver::Tmux;

use crate::subscriptions::Subscriptions;

/// What the verbs work on.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The durable files.
    pub store: Store,
    /// The tmux server.
    pub tmux: Tmux,
    /// How long an agent may take to end politely.
    pub grace: Duration,
    /// The tmux program that a new server would run, where its path is known.
    pub tmux_program: Option<std::path::PathBuf>,
    /// What sessions are subscribed to.
    pub subscriptions: Subscriptions,
    /// Who asks, in words for the history and the journal (`cli`, `web` …).
    pub by: String,
}
