//! The front end of claude 2.1.332.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use uuid::Uuid;

use super::arguments::{Parsed, Table, Takes};
use super::ledger::append;
use super::{Agent, Kind, Refusal, Start, Surroundings, text};
use crate::clock::{Civil, unix_ms};

const TABLE: Table = Table {
    takes,
    unknown: |word| Refusal::new(1, format!("error: unknown option '{word}'")),
    missing: |option| Refusal::new(1, format!("error: option '{option} <value>' argument missing")),
};

fn takes(option: &str) -> Option<Takes> {
    Some(match option {
        SKIP
        | "--allow-dangerously-skip-permissions"
        | "-p"
        | "--print"
        | "-c"
        | "--continue"
        | "--fork-session"
        | "--verbose"
        | "--bare"
        | "--strict-mcp-config" => Takes::Nothing,
        "--session-id"
        | "--settings"
        | "--model"
        | "--permission-mode"
        | "-n"
        | "--name"
        | "--append-system-prompt"
        | "--append-system-prompt-file"
        | "--system-prompt"
        | "--agent"
        | "--output-format"
        | "--input-format"
        | "--setting-sources"
        | "--effort"
        | "--max-turns"
        | "--debug-file" => Takes::One,
        "-r" | "--resume" | "--remote-control" | "-w" | "--worktree" | "-d" | "--debug" => {
            Takes::Maybe
        }
        "--add-dir"
        | "--mcp-config"
        | "--channels"
        | "--dangerously-load-development-channels"
        | "--allowedTools"
        | "--allowed-tools"
        | "--disallowedTools"
        | "--disallowed-tools"
        | "--tools"
        | "--betas" => Takes::Many,
        _ => return None,
    })
}

const SKIP: &str = "--dangerously-skip-permissions";

/// One conversation of the stub claude.
pub(super) struct Claude {
    id: String,
    directory: String,
    projects: PathBuf,
    transcript: PathBuf,
    registration: PathBuf,
    /// Commands of the SessionStart hooks.
    hooks: Vec<String>,
}

pub(super) fn start(words: &[String], around: &Surroundings) -> Result<Start, Refusal> {
    if matches!(words, [only] if only == "--version" || only == "-v") {
        return Ok(Start::Answer("2.1.332 (Claude Code)".to_owned(), 0));
    }
    let parsed = TABLE.parse(words)?;
    let fails = |text: String| Err(Refusal::new(1, text));
    let skip = parsed.has(&[SKIP]);
    if skip && around.root && around.variable("IS_SANDBOX").is_none() {
        return fails(format!(
            "{SKIP} cannot be used with root/sudo privileges for security reasons"
        ));
    }
    for entry in parsed.values(&["--channels", "--dangerously-load-development-channels"]) {
        let plugin = entry.strip_prefix("plugin:").and_then(|rest| rest.split_once('@'));
        let tagged = plugin.is_some_and(|(name, place)| !name.is_empty() && !place.is_empty());
        if !tagged && entry.strip_prefix("server:").is_none_or(str::is_empty) {
            return fails(format!("--channels entries must be tagged: {entry}"));
        }
    }
    let settings = read_settings(&parsed, around)?;
    let chosen = parsed.value(&["--session-id"]);
    let resume = parsed.has(&["-r", "--resume"]);
    let fork = parsed.has(&["--fork-session"]);
    if chosen.is_some() && (resume || parsed.has(&["-c", "--continue"])) && !fork {
        return fails(
            "Error: --session-id with --continue or --resume also needs --fork-session.".to_owned(),
        );
    }
    if chosen.is_some_and(|id| id.len() != 36 || Uuid::try_parse(id).is_err()) {
        return fails("Error: Invalid session ID. Must be a valid UUID.".to_owned());
    }

    let base = match around.variable("CLAUDE_CONFIG_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => around.home.join(".claude"),
    };
    let projects = base.join("projects").join(around.mangled_directory());
    let file_of = |id: &str| projects.join(format!("{id}.jsonl"));
    let resumed = parsed.value(&["-r", "--resume"]).filter(|_| resume);
    if let Some(id) = resumed
        && !holds_a_message(&file_of(id))
    {
        return fails(format!("No conversation found with session ID: {id}"));
    }
    let id = match (chosen, resumed) {
        (Some(id), _) => id.to_owned(),
        (None, Some(id)) if !fork => id.to_owned(),
        _ => Uuid::new_v4().to_string(),
    };
    if resumed != Some(id.as_str()) && file_of(&id).exists() {
        return fails(format!("Error: Session ID {id} is already in use."));
    }
    if let (true, Some(old)) = (fork, resumed) {
        let _ = fs::copy(file_of(old), file_of(&id));
    }

    let print_mode = parsed.has(&["-p", "--print"]);
    let dialog = if print_mode { None } else { missing_consent(skip, &settings, around, &base) };
    let registrations = base.join("sessions");
    if dialog.is_none() {
        let _ = fs::create_dir_all(&registrations);
    }
    Ok(Start::Run(Agent {
        conversation: id.clone(),
        resumed: resumed.is_some(),
        prompt: parsed.positional.first().filter(|prompt| !prompt.is_empty()).cloned(),
        dialog,
        print_mode,
        kind: Kind::Claude(Claude {
            transcript: file_of(&id),
            id,
            directory: around.directory.to_string_lossy().into_owned(),
            projects,
            registration: registrations.join(format!("{}.json", std::process::id())),
            hooks: hooks(&settings),
        }),
    }))
}

/// `--settings` holds JSON or names a file; text that is no JSON is taken for a name.
fn read_settings(parsed: &Parsed, around: &Surroundings) -> Result<Value, Refusal> {
    let Some(given) = parsed.value(&["--settings"]) else { return Ok(Value::Null) };
    if let Ok(settings @ Value::Object(_)) = serde_json::from_str(given) {
        return Ok(settings);
    }
    let path = around.directory.join(given);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(serde_json::from_str(&text).unwrap_or_default()),
        Err(_) => {
            Err(Refusal::new(1, format!("Error: Settings file not found: {}", path.display())))
        }
    }
}

/// The first dialog that keeps claude from starting, if the files do not answer it beforehand.
fn missing_consent(
    skip: bool,
    settings: &Value,
    around: &Surroundings,
    base: &Path,
) -> Option<&'static str> {
    let read = |path: PathBuf| -> Value {
        let text = fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    let known = match around.variable("CLAUDE_CONFIG_DIR") {
        Some(_) => read(base.join(".claude.json")),
        None => read(around.home.join(".claude.json")),
    };
    let is_true = |value: &Value, field: &str| value.get(field) == Some(&Value::Bool(true));
    if !is_true(&known, "hasCompletedOnboarding") {
        return Some("Welcome to Claude Code. Choose the text style that looks best");
    }
    let trusted = around.directory.ancestors().any(|directory| {
        let project = known.get("projects").and_then(|all| all.get(directory.to_str()?));
        project.is_some_and(|project| is_true(project, "hasTrustDialogAccepted"))
    });
    if !trusted {
        return Some("Quick safety check: Is this a project you created or one you trust?");
    }
    let accepted = "skipDangerousModePermissionPrompt";
    if skip && !is_true(settings, accepted) && !is_true(&read(base.join("settings.json")), accepted)
    {
        return Some("WARNING: Claude Code running in Bypass Permissions mode");
    }
    None
}

fn hooks(settings: &Value) -> Vec<String> {
    let groups = settings.pointer("/hooks/SessionStart").and_then(Value::as_array);
    let hooks = groups.into_iter().flatten().filter_map(|group| group.get("hooks")?.as_array());
    let commands = hooks.flatten().filter_map(|hook| text(hook, "/command"));
    commands.map(str::to_owned).collect()
}

/// Resuming needs a message of the user; a file with less in it is no conversation.
fn holds_a_message(transcript: &Path) -> bool {
    let text = fs::read_to_string(transcript).unwrap_or_default();
    text.lines().any(|line| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        text_of(&line, "type") == Some("user")
    })
}

fn text_of<'a>(line: &'a Value, field: &str) -> Option<&'a str> {
    line.get(field)?.as_str()
}

/// `/word` is a command of the CLI and never reaches the model; a path is a message.
fn is_command(prompt: &str) -> bool {
    let word = prompt.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains(['/', '.']))
}

impl Claude {
    /// Runs the SessionStart hooks, which the CLI does before its transcript exists.
    pub(super) fn run_hooks(&self, source: &str) {
        let payload = json!({
            "session_id": self.id, "transcript_path": self.transcript.to_string_lossy(),
            "cwd": self.directory, "hook_event_name": "SessionStart", "source": source,
        });
        for hook in &self.hooks {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", hook]).env("CLAUDE_CODE_SESSION_ID", &self.id);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let Ok(mut child) = command.spawn() else { continue };
            if let Some(mut input) = child.stdin.take() {
                let _ = std::io::Write::write_all(&mut input, payload.to_string().as_bytes());
            }
            let _ = child.wait();
        }
    }

    pub(super) fn open_transcript(&self, prompt: Option<&str>) {
        let Some(prompt) = prompt else { return };
        let _ = fs::create_dir_all(&self.projects);
        for line in [
            json!({ "type": "mode", "mode": "normal", "sessionId": self.id }),
            json!({ "type": "file-history-snapshot", "snapshot": {}, "isSnapshotUpdate": false }),
        ] {
            append(&self.transcript, &line.to_string());
        }
        if !is_command(prompt) {
            self.record("user", prompt);
        }
    }

    pub(super) fn record(&self, role: &str, content: &str) {
        let _ = fs::create_dir_all(&self.projects);
        let message = if role == "user" {
            json!({ "role": role, "content": content })
        } else {
            json!({ "role": role, "content": [{ "type": "text", "text": content }] })
        };
        let line = json!({
            "parentUuid": null, "isSidechain": false, "type": role, "message": message,
            "uuid": Uuid::new_v4().to_string(), "timestamp": Civil::of(unix_ms()).rfc3339(),
            "userType": "external", "entrypoint": "cli", "cwd": self.directory,
            "sessionId": self.id, "version": "2.1.332", "gitBranch": "HEAD",
        });
        append(&self.transcript, &line.to_string());
    }

    /// Registers this process, or changes what is registered.
    pub(super) fn status(&self, status: &str) {
        let registered = json!({
            "pid": std::process::id(), "sessionId": self.id, "cwd": self.directory,
            "kind": "interactive", "entrypoint": "cli", "status": status, "version": "2.1.332",
        });
        let _ = crate::files::put(&self.registration, &registered.to_string());
    }

    /// The file that says this process runs the conversation.
    pub(super) fn registration(&self) -> PathBuf {
        self.registration.clone()
    }

    pub(super) fn unregister(&self) {
        let _ = fs::remove_file(&self.registration);
    }

    /// `/clear`: the same process goes on with a new conversation.
    pub(super) fn clear(&mut self) {
        self.id = Uuid::new_v4().to_string();
        self.transcript = self.projects.join(format!("{}.jsonl", self.id));
        self.run_hooks("clear");
        self.record("user", "<command-name>/clear</command-name>");
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::is_command;

    #[test]
    fn a_slash_word_is_a_command_and_a_path_is_not() {
        assert!(is_command("/help"));
        assert!(is_command("\n /nosuch do it"));
        assert!(!is_command("/home/u/x is broken"));
        assert!(!is_command("say /help"));
    }
}
