//! Claude Code: its command line, and which conversation a launch continues.
//!
//! Pinned to claude 2.1.332 by the tests with the real program. Options that may take several
//! or optional words are written `--option=value` and the prompt stands after `--`, or they
//! would swallow it.

mod seed;
mod transcript;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::conversation::{Candidates, Choice, fresh};
use crate::{TOOLS, variable};

pub(crate) use seed::{Seeding, seed};
use transcript::Transcript;
pub(crate) use transcript::holds;

/// Texts in claude's last words that mean: sign in again.
pub(crate) const LOGIN_HINTS: &[&str] = &[
    "Please run /login",
    "Not logged in",
    "Invalid API key",
    "invalid x-api-key",
    "OAuth token has expired",
];

/// Where claude keeps its files.
#[derive(Debug)]
pub(crate) struct Files {
    /// `~/.claude`: settings and transcripts.
    pub(crate) home: PathBuf,
    /// `~/.claude.json`: projects and first-run answers.
    pub(crate) state: PathBuf,
}

impl Files {
    /// The files of a claude that runs with these variables from the env file.
    pub(crate) fn of(home: &Path, variables: &[(String, String)]) -> Self {
        if let Some(moved) = variable(variables, "CLAUDE_CONFIG_DIR") {
            let moved = PathBuf::from(moved);
            return Self { state: moved.join(".claude.json"), home: moved };
        }
        let home = variable(variables, agent_box_session::env::HOME).map_or(home, Path::new);
        Self { home: home.join(".claude"), state: home.join(".claude.json") }
    }
}

/// Chooses the conversation: the first candidate whose transcript claude will find and that is
/// ours; else a new one, under the recorded id if no transcript has it.
pub(crate) fn choose(files: &Files, directory: &Path, candidates: &Candidates<'_>) -> Choice {
    let mut notes = Vec::new();
    let mut unused = None;
    for id in candidates.moved_first(&mut notes) {
        match transcript::look_up(files, directory, &id) {
            Transcript::Here => {
                return Choice { conversation: id, resumed: true, notes };
            }
            Transcript::Absent => {
                // Of a rotation only the transcript counts: without one nothing went on there.
                if candidates.is_launched(&id) {
                    unused.get_or_insert(id);
                }
            }
            // Claude refuses both to resume a transcript without a message and to start another
            // conversation under its id.
            Transcript::Bare => notes.push(format!("conversation {id} holds no message")),
            Transcript::Elsewhere(path) => notes.push(format!(
                "conversation {id} belongs to another directory ({})",
                path.display()
            )),
        }
    }
    if unused.is_some() && candidates.was_started && notes.is_empty() {
        notes.push("no transcript of the earlier conversation was found".to_owned());
    }
    Choice::anew(unused.unwrap_or_else(fresh), notes)
}

/// The word by which claude would take a prompt for one of its commands (`/word …`; a path such as
/// `/etc/fstab` is text).
pub(crate) fn command(prompt: &str) -> Option<&str> {
    let word = prompt.split_whitespace().next()?;
    let name = word.strip_prefix('/')?;
    (!name.is_empty() && !name.contains('/')).then_some(word)
}

/// What makes up a command line.
pub(crate) struct CommandLine<'a> {
    pub(crate) skip_permissions: bool,
    pub(crate) remote_control: Option<&'a str>,
    /// The agent-box program, which the hooks call and which serves tools.
    pub(crate) program: &'a Path,
    pub(crate) choice: &'a Choice,
    pub(crate) extra_args: &'a [String],
    pub(crate) prompt: Option<&'a str>,
}

/// The arguments after the program.
pub(crate) fn arguments(line: &CommandLine<'_>) -> Vec<String> {
    let mut words = Vec::new();
    if line.skip_permissions {
        words.push("--dangerously-skip-permissions".to_owned());
    }
    if let Some(name) = line.remote_control {
        words.push(format!("--remote-control={name}"));
    }
    words.push(format!("--settings={}", settings(line.program)));
    words.push(format!("--mcp-config={}", tools(line.program)));
    let how = if line.choice.resumed { "--resume" } else { "--session-id" };
    words.push(format!("{how}={}", line.choice.conversation));
    words.extend_from_slice(line.extra_args);
    if let Some(prompt) = line.prompt {
        words.extend(["--".to_owned(), prompt.to_owned()]);
    }
    words
}

/// Settings on top of the user's own, so that their file stays clean: only our hooks.
///
/// At the start claude tells which conversation it is in; when a turn starts or stops it is
/// handed the events that wait for it.
fn settings(program: &Path) -> String {
    // Claude gives the text to a shell.
    let quoted = program.to_string_lossy().replace('\'', r"'\''");
    let hook = |verb: &str| {
        // Nobody waits longer for a hook that hangs; claude's own limit is minutes.
        let command = format!("'{quoted}' hook {verb}");
        json!([{"hooks": [{"type": "command", "command": command, "timeout": 10}]}])
    };
    json!({"hooks": {
        "SessionStart": hook("session-start"),
        "UserPromptSubmit": hook("turn"),
        "Stop": hook("turn"),
    }})
    .to_string()
}

/// Tools on top of the user's own: ours.
fn tools(program: &Path) -> String {
    json!({"mcpServers": {TOOLS: {"command": program.to_string_lossy(), "args": ["mcp"]}}})
        .to_string()
}
