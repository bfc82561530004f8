//! Why a launch cannot be prepared.

use std::path::PathBuf;

use agent_box_session::Agent;
use thiserror::Error;

/// A launch that cannot be made as things stand.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The entry does not say which agent.
    #[error("no agent is given; set `agent` in the entry")]
    NoAgent,
    /// The kind is not known on this box.
    #[error("agent kind `{agent}` is not known on this box; it has {known}")]
    UnknownAgent {
        /// The kind asked for.
        agent: Agent,
        /// The kinds there are, in words.
        known: String,
    },
    /// The kind is known, its program is not there.
    #[error("{agent} is not installed: {hint}")]
    NotInstalled {
        /// The kind asked for.
        agent: Agent,
        /// Where it was looked for and what to do.
        hint: String,
    },
    /// The session's directory cannot be worked in.
    #[error("directory {} {reason}", directory.display())]
    BadDirectory {
        /// The directory as the entry spells it.
        directory: PathBuf,
        /// What is wrong and what to do.
        reason: &'static str,
        /// What the system said, where it was asked.
        source: Option<std::io::Error>,
    },
    /// An argument that the kernel cannot hand to a program.
    #[error("{what} cannot be handed to {agent}: {reason}")]
    Unfit {
        /// The agent.
        agent: Agent,
        /// Which argument or variable, never its value.
        what: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A long prompt could not be stored where the agent would read it.
    #[error("cannot write the prompt to {}", path.display())]
    PromptFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: agent_box_disk::IoError,
    },
}
