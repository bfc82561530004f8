//! One launch, prepared: what runs, where, with which environment, and what to say about it.

use std::path::PathBuf;

use agent_box_session::{Agent, Entry, LaunchId, LaunchRecord, SessionName};
use thiserror::Error;

use crate::Surroundings;

/// Prepares launches; built once per supervisor, shared by its per-session tasks.
#[derive(Debug)]
pub struct Harness {
    surroundings: Surroundings,
}

/// The launch to prepare and what is known of the session's past.
pub struct Request<'a> {
    /// The session's name.
    pub name: &'a SessionName,
    /// The launch's id; names the file of a long prompt.
    pub launch: LaunchId,
    /// What is wanted.
    pub entry: &'a Entry,
    /// The session's last launch, under the same session id.
    pub record: Option<&'a LaunchRecord>,
    /// The conversation that the hook last recorded for one that was launched
    /// (`Store::rotation`).
    pub rotation: &'a dyn Fn(&str) -> Option<String>,
    /// Conversations of all other sessions, removed ones included; never continued here.
    pub others: &'a [String],
    /// The env file's variables: they can move the agent's state (`CLAUDE_CONFIG_DIR`,
    /// `CODEX_HOME`) and allow root (`IS_SANDBOX`). Never copied into the environment.
    pub variables: &'a [(String, String)],
}

/// Everything of a launch record that the harness decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The program and its arguments, word by word.
    pub argv: Vec<String>,
    /// The agent's environment except what its terminal, the env file and the launcher add.
    pub environment: Vec<(String, String)>,
    /// Where it runs: absolute, exists, can be entered.
    pub directory: String,
    /// The kickoff prompt that this session has.
    pub prompt: Option<String>,
    /// Whether `argv` carries that prompt.
    pub carries_prompt: bool,
    /// In how many earlier launches it was handed over.
    pub prompt_handed: u32,
    /// Whether a transcript holds it.
    pub prompt_proven: bool,
    /// The conversation (`boxSessionId`), also `AGENT_BOX_SESSION_ID` of the agent. For codex
    /// this is the id in the stamp, not codex's own.
    pub conversation: Option<String>,
    /// Whether that conversation is continued.
    pub resumed: bool,
    /// What the person should know about this start.
    pub notes: Vec<String>,
    /// Texts in the agent's last words that mean: sign in again.
    pub login_hints: Vec<String>,
}

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
        source: std::io::Error,
    },
}

impl Harness {
    /// A harness for this box and user.
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings }
    }

    /// The agent kinds that can be started here, the shell always among them.
    pub fn available(&self) -> Vec<Agent> {
        let _ = &self.surroundings;
        vec![Agent::Shell]
    }

    /// Does the slow work of a launch: looks at the directory, finds the program, decides which
    /// conversation continues and which prompt is due, seeds the agent's files.
    ///
    /// # Errors
    /// When the launch cannot be made as things stand; the text says what to do. No session file
    /// was written then.
    pub fn prepare(&self, request: &Request<'_>) -> Result<Prepared, PrepareError> {
        let agent = request.entry.spec.agent.clone().ok_or(PrepareError::NoAgent)?;
        Err(PrepareError::UnknownAgent { agent, known: "shell".to_owned() })
    }

    /// Whether a transcript of `record`'s conversation (or of the one it moved on to) holds the
    /// prompt that its launch carried.
    pub fn prompt_is_proven(
        &self,
        record: &LaunchRecord,
        rotation: &dyn Fn(&str) -> Option<String>,
        variables: &[(String, String)],
    ) -> bool {
        let _ = (rotation, variables);
        record.prompt_proven
    }
}
