//! Codex: its command line, and how its conversations are found again.
//!
//! Codex mints its own ids and cannot be given one, so each of our first messages begins with a
//! stamp that holds ours. Always the TUI: only there can a prompt be handed over. Pinned to
//! codex 0.171.0 by the tests with the real program.

mod rollout;

use std::path::{Path, PathBuf};

use agent_box_session::env;

use crate::conversation::{Candidates, Choice, fresh};
use crate::{TOOLS, variable};

pub(crate) use rollout::holds;

/// Texts in codex's last words that mean: sign in again.
pub(crate) const LOGIN_HINTS: &[&str] =
    &["Sign in with ChatGPT", "Not logged in", "401 Unauthorized"];

/// What our server of tools needs to know whose it is.
const TOOL_VARIABLES: [&str; 7] = [
    env::SESSION_UUID,
    env::SESSION_NAME,
    env::WEBHOOK_SESSION,
    env::WEBHOOK_STATE_DIR,
    env::WEBHOOK_SELF,
    // By these it finds out what the box acts as, where nobody says so.
    env::GH_TOKEN,
    env::GITHUB_TOKEN,
];

/// Codex's own directory, for one that runs with these variables from the env file.
pub(crate) fn home(home: &Path, variables: &[(String, String)]) -> PathBuf {
    if let Some(moved) = variable(variables, "CODEX_HOME") {
        return PathBuf::from(moved);
    }
    variable(variables, env::HOME).map_or(home, Path::new).join(".codex")
}

/// The mark by which a conversation is known to be ours.
pub(crate) fn stamp(conversation: &str) -> String {
    format!("[agent-box session {conversation}]")
}

/// A message of the operator's with the stamp before it.
///
/// Codex would run a message that begins with `!` as a shell command; the stamp keeps it a
/// message on every launch.
pub(crate) fn stamped(conversation: &str, text: &str) -> String {
    format!("{} {text}", stamp(conversation))
}

/// Chooses the conversation, and names codex's own id of it if it is to be resumed.
pub(crate) fn choose(home: &Path, candidates: &Candidates<'_>) -> (Choice, Option<String>) {
    let mut notes = Vec::new();
    let ours = candidates.launched(&mut notes);
    for id in &ours {
        if let Some(rollout) = rollout::find(home, id) {
            let choice = Choice { conversation: id.clone(), resumed: true, notes };
            return (choice, Some(rollout.id));
        }
    }
    if candidates.was_started && notes.is_empty() {
        notes.push("no rollout that is provably this session's was found".to_owned());
    }
    (Choice::anew(ours.into_iter().next().unwrap_or_else(fresh), notes), None)
}

/// Codex's own id of a conversation, once it wrote it down.
pub(crate) fn thread(home: &Path, conversation: &str) -> Option<String> {
    rollout::find(home, conversation).map(|rollout| rollout.id)
}

/// The arguments that queue a message for a thread: a codex that runs takes it when it is idle and
/// keeps what a person has half typed; one that does not, at its next start.
pub(crate) fn queue(thread: &str, message: &str) -> [String; 3] {
    ["queue".to_owned(), format!("--thread={thread}"), format!("--message={message}")]
}

/// What makes up a command line.
pub(crate) struct CommandLine<'a> {
    pub(crate) skip_permissions: bool,
    pub(crate) full_access: bool,
    /// The agent-box program, which serves tools.
    pub(crate) program: &'a Path,
    pub(crate) directory: &'a str,
    /// Codex's own id of the conversation to resume.
    pub(crate) resume: Option<&'a str>,
    pub(crate) extra_args: &'a [String],
    pub(crate) prompt: Option<&'a str>,
    /// What marks a conversation that begins without a prompt.
    pub(crate) mark: Option<&'a str>,
}

/// The arguments after the program.
pub(crate) fn arguments(line: &CommandLine<'_>) -> Vec<String> {
    let mut words: Vec<&str> = Vec::new();
    if line.resume.is_some() {
        words.push("resume");
    }
    // Or codex leaves a server of its own behind, outside the pane's process tree.
    words.push("--no-daemon");
    if line.skip_permissions {
        words.push("--dangerously-bypass-approvals-and-sandbox");
    } else if line.full_access {
        words.extend(["-c", "approval_policy=on-request", "-c", "sandbox_mode=workspace-write"]);
    }
    let tools = tools(line.program);
    words.extend(tools.iter().flat_map(|setting| ["-c", setting]));
    let mark = line.mark.map(|mark| format!("developer_instructions=\"{mark}\""));
    if let Some(mark) = &mark {
        words.extend(["-c", mark]);
    }
    if line.resume.is_some() {
        // Or codex asks which directory is meant if the session's was changed since.
        words.extend(["-C", line.directory]);
    }
    words.extend(line.extra_args.iter().map(String::as_str));
    if line.resume.is_some() || line.prompt.is_some() {
        words.push("--");
    }
    words.extend(line.resume);
    words.extend(line.prompt);
    words.into_iter().map(str::to_owned).collect()
}

/// Settings that add our tools to the user's own. Codex gives a tool's server few variables of its
/// own environment, so those that name the session are listed.
fn tools(program: &Path) -> [String; 3] {
    // A string of JSON is one of TOML.
    let program = serde_json::Value::from(program.to_string_lossy());
    let variables = serde_json::Value::from(TOOL_VARIABLES.as_slice());
    [
        format!("mcp_servers.{TOOLS}.command={program}"),
        format!("mcp_servers.{TOOLS}.args=[\"mcp\"]"),
        format!("mcp_servers.{TOOLS}.env_vars={variables}"),
    ]
}

/// Whether the user gives codex developer instructions, which ours would replace.
pub(crate) fn has_own_instructions(home: &Path) -> bool {
    agent_box_disk::open(&home.join("config.toml"))
        .and_then(std::io::read_to_string)
        .is_ok_and(|config| config.contains("developer_instructions"))
}
