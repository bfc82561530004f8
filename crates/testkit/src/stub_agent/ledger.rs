//! What the stub agent tells the test: every launch, every double, every descendant.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::process::{getpgrp, getppid};
use rustix::termios::{isatty, tcgetpgrp};
use serde_json::{Map, Value, json};

use super::{Agent, Surroundings, digest, digests};
use crate::{clock, process};

/// Texts up to this length stand in the ledger as they are.
const SHORT: usize = 4096;

/// Which launch this is, counted from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) of_all: usize,
    pub(super) of_session: usize,
}

/// The state directory.
pub(super) struct Ledger {
    directory: PathBuf,
}

impl Ledger {
    pub(super) fn open(around: &Surroundings) -> Self {
        let _ = fs::create_dir_all(&around.state);
        Self { directory: around.state.clone() }
    }

    /// Holds the conversation and the session until this process is gone, and notes who had them.
    pub(super) fn claim(&self, conversation: &str, around: &Surroundings) {
        let directory = self.directory.join("held");
        let _ = fs::create_dir_all(&directory);
        let session = around.session();
        let claims = [("conversation", Some(conversation)), ("session", session)];
        for (what, key) in claims {
            let Some(key) = key.filter(|key| !key.is_empty()) else { continue };
            let Ok(file) = File::create(directory.join(format!("{what}-{key}"))) else { continue };
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                let pid = std::process::id();
                self.append("doubles.jsonl", &json!({ "what": what, "key": key, "pid": pid }));
            }
            // The lock lives as long as the process: nothing closes the file.
            std::mem::forget(file);
        }
    }

    /// Counts this launch.
    pub(super) fn turn(&self, around: &Surroundings) -> Turn {
        let lock = File::create(self.directory.join("lock")).ok();
        let _ = lock.as_ref().map(File::lock);
        Turn {
            of_all: self.count("all"),
            of_session: self.count(&format!("session-{}", around.session().unwrap_or_default())),
        }
    }

    /// Notes a launch with all that the agent sees of its world.
    pub(super) fn launched(
        &self,
        words: &[OsString],
        agent: &Agent,
        turn: Turn,
        around: &Surroundings,
    ) {
        let mut line = identity(words);
        line.insert("n".to_owned(), turn.of_all.into());
        line.insert("session".to_owned(), around.session().into());
        line.insert("cwd".to_owned(), around.directory.to_string_lossy().into());
        line.insert("conversation".to_owned(), agent.conversation.as_str().into());
        line.insert("resumed".to_owned(), agent.resumed.into());
        line.insert("dialog".to_owned(), agent.dialog.into());
        if let Some(prompt) = &agent.prompt {
            let mut described = digest(prompt.as_bytes());
            if prompt.len() <= SHORT {
                described["text"] = prompt.as_str().into();
            }
            line.insert("prompt".to_owned(), described);
        }
        let environment = around.environment.iter();
        let environment = environment
            .map(|(key, value)| (key.to_string_lossy().into(), value.to_string_lossy().into()));
        line.insert("environment".to_owned(), Value::Object(environment.collect()));
        line.insert("terminal".to_owned(), terminal());
        line.insert("signals".to_owned(), signals());
        self.append("launches.jsonl", &Value::Object(line));
    }

    /// Notes a start that the CLI refused; it is no launch and takes no step of the plan.
    pub(super) fn refused(&self, words: &[OsString], text: &str) {
        let mut line = identity(words);
        line.insert("refused".to_owned(), text.into());
        self.append("refusals.jsonl", &Value::Object(line));
    }

    pub(super) fn descendant(&self, role: &str, pid: i32) {
        self.append("descendants.jsonl", &json!({ "role": role, "pid": pid }));
    }

    /// The file that `write_pid_every_second` fills.
    pub(super) fn pids(&self, name: &str) -> PathBuf {
        self.directory.join(format!("pids-{name}.log"))
    }

    fn append(&self, file: &str, line: &Value) {
        append(&self.directory.join(file), &line.to_string());
    }

    /// Reads and raises a counter; the caller holds the lock.
    fn count(&self, name: &str) -> usize {
        let path = self.directory.join(format!("count-{name}"));
        let seen = fs::read_to_string(&path).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let _ = File::create(path).and_then(|mut file| write!(file, "{}", seen + 1));
        seen
    }
}

/// Appends one line by one write, so that lines of several processes never mix.
pub(super) fn append(path: &Path, line: &str) {
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

fn identity(words: &[OsString]) -> Map<String, Value> {
    let pid = i32::try_from(std::process::id()).unwrap_or(0);
    let mut line = Map::new();
    line.insert("pid".to_owned(), pid.into());
    line.insert("start_time".to_owned(), process::start_time(pid).into());
    line.insert("ppid".to_owned(), getppid().map(|pid| pid.as_raw_nonzero().get()).into());
    line.insert("at_ms".to_owned(), clock::unix_ms().into());
    let short = |word: &OsString| -> Value {
        let text = word.to_string_lossy();
        if text.len() <= SHORT { text.into() } else { Value::Null }
    };
    line.insert("argv".to_owned(), words.iter().map(short).collect());
    line.insert("argv_digests".to_owned(), digests(words));
    line
}

fn terminal() -> Value {
    let stdin = std::io::stdin();
    let foreground = tcgetpgrp(&stdin).is_ok_and(|group| group == getpgrp());
    json!({ "stdin": isatty(&stdin), "stdout": isatty(std::io::stdout()), "foreground": foreground })
}

/// What the launcher left of the signals that matter to a program on a terminal.
fn signals() -> Value {
    let mask = |field| {
        let hex = process::status_field("self", field).unwrap_or_default();
        u64::from_str_radix(&hex, 16).unwrap_or(0)
    };
    let (ignored, blocked) = (mask("SigIgn"), mask("SigBlk"));
    let has = |mask: u64, signal: i32| mask & (1 << (signal - 1)) != 0;
    let named = [("HUP", 1), ("INT", 2), ("TERM", 15), ("TSTP", 20), ("TTIN", 21), ("TTOU", 22)];
    let described = named.map(|(name, signal)| {
        let state = match (has(blocked, signal), has(ignored, signal)) {
            (true, _) => "blocked",
            (false, true) => "ignored",
            (false, false) => "default",
        };
        (name.to_owned(), state.into())
    });
    Value::Object(described.into_iter().collect())
}
