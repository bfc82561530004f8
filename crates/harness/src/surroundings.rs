//! What a supervisor knows about its box and passes on once.

use std::ffi::OsString;
use std::path::PathBuf;

use agent_box_session::paths::Paths;
use agent_box_session::{Agent, WebhookPaths};

/// The box and user that agents are prepared for; constant while a supervisor runs.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Where everything of this user lives.
    pub paths: Paths,
    /// Where the user's webhook files live.
    pub webhook: WebhookPaths,
    /// The user's name.
    pub user: String,
    /// The host part of remote-control names; none leaves it out.
    pub host: Option<String>,
    /// The agent-box program, for hooks that the agent calls.
    pub program: PathBuf,
    /// Agent programs given explicitly. When there is none, claude and codex are looked for on
    /// the search path; the shell is always there.
    pub agents: Vec<(Agent, PathBuf)>,
    /// The directories to look in, as `PATH` spells them.
    pub search_path: OsString,
    /// The user's login shell.
    pub shell: PathBuf,
    /// Whether agents will run as root.
    pub root: bool,
    /// Whether the owner of this container said that agents may run unattended as root.
    pub sandbox: bool,
    /// Whether the system configuration gives codex full access, so that a session without the
    /// autonomy flag has to be restricted explicitly.
    pub codex_full_access: bool,
    /// The file to install as `AGENTS.md` where a session's directory has none.
    pub agents_pointer: Option<PathBuf>,
    /// What `~/.claude/CLAUDE.md` shall link to when there is none.
    pub claude_guide_target: Option<PathBuf>,
    /// The variables of the supervisor's own environment that agents may inherit.
    pub inherited: Vec<(String, String)>,
    /// What the system configuration lets agents inherit beyond `env::INHERITED`.
    pub inherit: Vec<String>,
}
