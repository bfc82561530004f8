//! The stub agent: same flags, messages, exit codes and files as the real CLIs, without a model.
//!
//! Called as `claude` or `codex` it keeps the observable contract of claude 2.1.332 and codex
//! 0.171.0 (the [table](crate::conformance) holds both to it); called by any other name it is an
//! agent without a contract. A step of a plan scripts each launch, from `$STUB_AGENT_PLAN` or
//! `plan.json` in the state directory: `$STUB_AGENT_STATE`, else `$HOME/.stub-agent`, for the
//! environment of an agent is a list that tests cannot add to.
//!
//! A plan is a JSON list (one step a launch of the whole state directory), or an object from
//! session names to lists (one step a launch of that session), with `"*"` for all other names; a
//! single step instead of a list is for every launch. Past the end of a list the agent stays
//! alive. The fields of a step, all optional: `exit`, `signal` (how it ends), `after_ms` (when),
//! `ignore_hup`, `polite_hup` (what HUP and TERM do), `fork_child`, `fork_setsid` (what it leaves
//! behind), `no_transcript`, `print`, `deaf_ms`, `alloc` (MiB, 0 for all there is), `login_error`,
//! `write_pid_every_second`.
//!
//! In the state directory:
//! - `launches.jsonl`: one line a launch (see [`Launch`](crate::Launch));
//! - `doubles.jsonl`: one line for each launch that found its conversation or its session already
//!   run by a living process;
//! - `descendants.jsonl`: the pids of what `fork_child` and `fork_setsid` left behind;
//! - `pids-NAME.log`: see `write_pid_every_second`.
//!
//! While it lives, lines typed into its terminal steer it: `exit N`, `crash`, `busy`, `idle`,
//! `/clear` (claude: a new conversation); anything else is a message and answered by `PONG`.

mod arguments;
mod claude;
mod codex;
mod descendant;
mod leave;
mod ledger;
mod living;
mod plan;
mod surroundings;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use serde_json::Value;

use leave::say;
use ledger::Ledger;
use plan::Step;
use surroundings::Surroundings;

/// Why a start is refused: what the CLI prints on stderr, and its exit code.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    text: String,
    code: u8,
}

impl Refusal {
    fn new(code: u8, text: impl Into<String>) -> Self {
        Self { text: text.into(), code }
    }
}

/// What a CLI's front end made of its arguments and files.
enum Start {
    /// Print this and end with the code.
    Answer(String, u8),
    /// Run.
    Run(Agent),
}

/// A running agent, whatever its kind.
struct Agent {
    kind: Kind,
    /// Empty for an agent without a contract.
    conversation: String,
    resumed: bool,
    prompt: Option<String>,
    /// The text of a dialog that keeps the real CLI from starting.
    dialog: Option<&'static str>,
    /// Answer once and end.
    print_mode: bool,
}

enum Kind {
    Claude(claude::Claude),
    Codex(codex::Codex),
    Other,
}

impl Agent {
    fn named(program: &str, arguments: &[String], around: &Surroundings) -> Result<Start, Refusal> {
        if program.starts_with("claude") {
            claude::start(arguments, around)
        } else if program.starts_with("codex") {
            codex::start(arguments, around)
        } else {
            Ok(Start::Run(Self {
                kind: Kind::Other,
                conversation: String::new(),
                resumed: false,
                prompt: arguments.last().cloned(),
                dialog: None,
                print_mode: false,
            }))
        }
    }

    /// Appends one message to the transcript.
    fn record(&self, role: &str, text: &str) {
        match &self.kind {
            Kind::Claude(claude) => claude.record(role, text),
            Kind::Codex(codex) => codex.record(role, text),
            Kind::Other => {}
        }
    }

    /// Opens the transcript with the prompt.
    fn open_transcript(&self) {
        match &self.kind {
            Kind::Claude(claude) => claude.open_transcript(self.prompt.as_deref()),
            Kind::Codex(codex) => codex.open_transcript(self.prompt.as_deref()),
            Kind::Other => {}
        }
    }

    fn status(&self, status: &str) {
        if let Kind::Claude(claude) = &self.kind {
            claude.status(status);
        }
    }

    /// What is left for the last moment before an end.
    fn tidy(&self) {
        if let Kind::Claude(claude) = &self.kind {
            claude.unregister();
        }
    }
}

/// The program.
pub fn run() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let program = words.first().and_then(|word| std::path::Path::new(word).file_name());
    let program = program.unwrap_or_default().to_string_lossy().into_owned();
    if let Some(role) = program.strip_prefix(descendant::PREFIX) {
        descendant::run(role);
        return ExitCode::SUCCESS;
    }

    let around = Surroundings::read();
    // Arguments that are not UTF-8 reach the ledger as bytes; the front ends only compare options.
    let arguments: Vec<String> =
        words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let ledger = Ledger::open(&around);
    let agent = match Agent::named(&program, &arguments, &around) {
        Ok(Start::Run(agent)) => agent,
        Ok(Start::Answer(text, code)) => {
            say(&text);
            return ExitCode::from(code);
        }
        Err(refusal) => {
            ledger.refused(&words, &refusal.text);
            leave::complain(&refusal.text);
            return ExitCode::from(refusal.code);
        }
    };

    ledger.claim(&agent.conversation, &around);
    if let Kind::Codex(codex) = &agent.kind
        && codex.is_refused()
    {
        let refusal = codex.active_writer();
        leave::complain(&refusal.text);
        return ExitCode::from(refusal.code);
    }
    let turn = ledger.turn(&around);
    let step = match Step::choose(&around, turn) {
        Ok(step) => step,
        Err(mistake) => {
            leave::complain(&format!("stub-agent: plan: {mistake}"));
            return ExitCode::from(70);
        }
    };
    // A test that sees the launch may send a signal at once.
    living::answer_signals(&agent, &step);
    ledger.launched(&words, &agent, turn, &around);
    living::run(&program, agent, &step, &ledger, &around)
}

/// A JSON object's text field.
fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// Length and SHA-256 of some bytes, as the ledger writes them.
pub(crate) fn digest(bytes: &[u8]) -> Value {
    use sha2::Digest as _;
    use std::fmt::Write as _;

    let mut sha256 = String::new();
    for byte in sha2::Sha256::digest(bytes) {
        let _ = write!(sha256, "{byte:02x}");
    }
    serde_json::json!({ "len": bytes.len(), "sha256": sha256 })
}

fn digests(words: &[OsString]) -> Value {
    words.iter().map(|word| digest(word.as_bytes())).collect()
}
