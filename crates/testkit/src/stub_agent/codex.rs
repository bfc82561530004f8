//! The front end of codex 0.171.0.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::termios::isatty;
use serde_json::{Value, json};
use uuid::Uuid;

use super::arguments::{Table, Takes};
use super::ledger::append;
use super::{Agent, Kind, Refusal, Start, Surroundings, text};
use crate::clock::{Civil, unix_ms};

const TABLE: Table = Table {
    takes,
    unknown: unexpected,
    missing: |option| {
        Refusal::new(
            2,
            format!("error: a value is required for '{option} <VALUE>' but none was supplied"),
        )
    },
};

fn takes(option: &str) -> Option<Takes> {
    Some(match option {
        "--no-daemon"
        | "--dangerously-bypass-approvals-and-sandbox"
        | "--yolo"
        | "--dangerously-bypass-hook-trust"
        | "--approve-for-me"
        | "--strict-config"
        | "--oss"
        | "--worktree"
        | "--search"
        | "--no-alt-screen"
        | "--last"
        | "--all" => Takes::Nothing,
        "-c" | "--config" | "--enable" | "--disable" | "-m" | "--model" | "-p" | "--profile"
        | "-s" | "--sandbox" | "-C" | "--cd" | "--add-dir" | "-a" | "--ask-for-approval"
        | "--local-provider" => Takes::One,
        "-i" | "--image" => Takes::Many,
        _ => return None,
    })
}

fn unexpected(word: &str) -> Refusal {
    // The value after `=` is not part of what the real parser names.
    let word = if word.starts_with("--") { word.split('=').next().unwrap_or(word) } else { word };
    Refusal::new(2, format!("error: unexpected argument '{word}' found"))
}

/// One thread of the stub codex.
pub(super) struct Codex {
    id: String,
    rollout: PathBuf,
    directory: String,
    resumed: bool,
    /// Held while the process lives, as the real one holds it.
    _writer: Option<File>,
    refused: bool,
}

pub(super) fn start(words: &[String], around: &Surroundings) -> Result<Start, Refusal> {
    match words {
        [only] if only == "--version" || only == "-V" => {
            return Ok(Start::Answer("codex-cli 0.171.0".to_owned(), 0));
        }
        [login, status] if login == "login" && status == "status" => {
            return Ok(Start::Answer("Logged in using an API key".to_owned(), 0));
        }
        [queue, thread, message] if queue == "queue" => return queued(thread, message, around),
        _ => {}
    }
    let parsed = TABLE.parse(words)?;
    let mut positional = parsed.positional.iter();
    let mut next = positional.next();
    // `resume` is a command only as a word before `--`.
    let separator = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let resume = next.is_some_and(|word| word == "resume" && words[..separator].contains(word));
    let thread = if resume { positional.next() } else { None };
    if resume {
        next = positional.next();
    }
    if let Some(extra) = positional.next() {
        return Err(unexpected(extra));
    }
    if !isatty(std::io::stdin()) {
        return Err(Refusal::new(1, "Error: stdin is not a terminal"));
    }

    let base = base(around);
    let sessions = base.join("sessions");
    let chosen = parsed.value(&["-C", "--cd"]);
    let directory = chosen.map_or_else(|| around.directory.clone(), |to| around.directory.join(to));
    let mut dialog = None;
    let (id, rollout) = match (resume, thread) {
        (false, _) => {
            let id = Uuid::now_v7().to_string();
            let rollout = sessions.join(rollout_of(&id));
            (id, rollout)
        }
        (true, None) => {
            dialog = Some("Resume a previous session");
            (String::new(), PathBuf::new())
        }
        (true, Some(id)) => {
            let Some(rollout) = find(&sessions, &format!("-{id}.jsonl")) else {
                return Err(Refusal::new(
                    1,
                    format!(
                        "ERROR: No saved session found with ID {id}. Run `codex resume` without \
                         an ID to choose from existing sessions."
                    ),
                ));
            };
            if chosen.is_none() && recorded_directory(&rollout).as_deref() != directory.to_str() {
                dialog = Some("Working directory · resume");
            }
            (id.clone(), rollout)
        }
    };

    let locks = base.join("thread-writer-locks");
    let _ = fs::create_dir_all(&locks);
    let writer = (!id.is_empty()).then(|| File::create(locks.join(format!("{id}.lock"))).ok());
    let writer = writer.flatten();
    let refused = writer.as_ref().is_some_and(|file| file.try_lock().is_err());
    Ok(Start::Run(Agent {
        conversation: id.clone(),
        resumed: resume,
        prompt: next.filter(|prompt| !prompt.is_empty()).cloned(),
        dialog,
        print_mode: false,
        kind: Kind::Codex(Codex {
            id,
            rollout,
            directory: directory.to_string_lossy().into_owned(),
            resumed: resume,
            _writer: writer,
            refused,
        }),
    }))
}

fn base(around: &Surroundings) -> PathBuf {
    match around.variable("CODEX_HOME") {
        Some(directory) => PathBuf::from(directory),
        None => around.home.join(".codex"),
    }
}

/// `codex queue --thread=ID --message=TEXT`; taken at once, as by one that is idle.
fn queued(thread: &str, message: &str, around: &Surroundings) -> Result<Start, Refusal> {
    let id = thread.strip_prefix("--thread=").ok_or_else(|| unexpected(thread))?;
    let text = message.strip_prefix("--message=").ok_or_else(|| unexpected(message))?;
    let Some(rollout) = find(&base(around).join("sessions"), &format!("-{id}.jsonl")) else {
        let refused = format!(
            "Error: failed to queue session message: thread/queue/add failed: failed to read \
             thread: invalid thread-store request: no rollout found for thread id {id} (code \
             -32603)"
        );
        return Err(Refusal::new(1, refused));
    };
    let (id, directory) = (id.to_owned(), String::new());
    let thread = Codex { id, rollout, directory, resumed: true, _writer: None, refused: false };
    thread.record("user", text);
    Ok(Start::Answer(format!("Queued message for thread {}.", thread.id), 0))
}

fn rollout_of(id: &str) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::of(unix_ms());
    let date = format!("{year:04}/{month:02}/{day:02}");
    let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}");
    format!("{date}/rollout-{time}-{id}.jsonl")
}

fn find(directory: &Path, suffix: &str) -> Option<PathBuf> {
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find(&path, suffix) {
                return Some(found);
            }
        } else if path.to_string_lossy().ends_with(suffix) {
            return Some(path);
        }
    }
    None
}

fn recorded_directory(rollout: &Path) -> Option<String> {
    let rollout = fs::read_to_string(rollout).ok()?;
    let first: Value = serde_json::from_str(rollout.lines().next()?).ok()?;
    text(&first, "/payload/cwd").map(str::to_owned)
}

impl Codex {
    /// What the real one says when another process writes the same thread.
    pub(super) fn active_writer(&self) -> Refusal {
        let id = &self.id;
        Refusal::new(
            1,
            format!(
                "Error: thread/resume: thread/resume failed: thread {id} already has an active \
                 writer (code -32600)"
            ),
        )
    }

    /// Whether another process writes this thread already.
    pub(super) fn is_refused(&self) -> bool {
        self.refused
    }

    pub(super) fn open_transcript(&self, prompt: Option<&str>) {
        let Some(prompt) = prompt else { return };
        if !self.resumed {
            self.open_rollout();
        }
        // A prompt that begins with `!` is run as a command by the real one; the model sees the
        // result, never the prompt.
        match prompt.strip_prefix('!') {
            Some(command) => self.record("user", &shell_command(command)),
            None => self.record("user", &prompt.replace("\r\n", "\n")),
        }
    }

    /// The lines before the first prompt: some 20 kB, so that a reader of the head finds nothing.
    fn open_rollout(&self) {
        if let Some(directory) = self.rollout.parent() {
            let _ = fs::create_dir_all(directory);
        }
        let instructions = "You are a coding agent running in a terminal. ".repeat(450);
        self.line(
            "session_meta",
            &json!({
                "session_id": self.id, "id": self.id, "timestamp": Civil::of(unix_ms()).rfc3339(),
                "cwd": self.directory, "originator": "codex-tui", "cli_version": "0.171.0",
                "source": "cli", "base_instructions": { "text": instructions },
            }),
        );
        let context = format!("<environment_context>\n  <cwd>{}</cwd>\n", self.directory);
        self.record("user", &format!("{context}</environment_context>"));
    }

    pub(super) fn record(&self, role: &str, content: &str) {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        let item = json!({
            "type": "message", "id": format!("msg_{}", Uuid::now_v7()), "role": role,
            "content": [{ "type": kind, "text": content }],
        });
        self.line("response_item", &item);
    }

    fn line(&self, kind: &str, payload: &Value) {
        let timestamp = Civil::of(unix_ms()).rfc3339();
        let line = json!({ "timestamp": timestamp, "type": kind, "payload": payload });
        append(&self.rollout, &line.to_string());
    }
}

fn shell_command(command: &str) -> String {
    format!("<user_shell_command>\n<command>\n{command}\n</command>\n</user_shell_command>")
}
