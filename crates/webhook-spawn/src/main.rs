//! `agent-box-webhook-spawn`: reads events on standard input, writes the registry.
#![expect(clippy::print_stderr, reason = "this file is the program's voice")]

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use agent_box_event::contract;
use agent_box_session::SessionId;
use agent_box_testpoint as testpoint;
use agent_box_webhook_spawn::{OpenError, Outcome, SpawnError, Surrounded};
use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// Starts a session for webhook events, exactly once for each batch.
///
/// The receiver calls this; the events come on standard input, all else in variables.
#[derive(Debug, Parser)]
#[command(
    name = "agent-box-webhook-spawn",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  echo 'look at the failing build' | agent-box-webhook-spawn        a session by hand
  agent-box-webhook-spawn --preamble 'github:o/*' 'watch the build' what a session would be told
  agent-box-webhook-spawn status                                    how many there are and may be

Exit codes: 0 the batch has its session (or there were no events), 75 the box is full and the
events must wait, 74 the session list cannot be read or written now, 1 something failed, 2 misused."
)]
struct Cli {
    /// Print the command and the prompt of a session that this watch would start; start nothing
    #[arg(long, num_args = 1..=2, value_names = ["TOPIC", "NOTE"])]
    preamble: Option<Vec<String>>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Tell which sessions there are, and how many hook sessions there may be
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell one session what stands on standard input, and print what became of it as JSON
    Deliver {
        /// The session's id
        #[arg(long, value_name = "ID")]
        session_id: SessionId,
    },
}

fn main() -> ExitCode {
    run(&Cli::parse()).unwrap_or_else(|error| {
        warn(&chain(&error));
        exit_code(&error)
    })
}

fn exit_code(error: &anyhow::Error) -> ExitCode {
    let is_about_the_list = match error.downcast_ref::<SpawnError>() {
        Some(error) => error.is_about_the_list(),
        None => matches!(error.downcast_ref(), Some(OpenError::Store(_))),
    };
    let unreadable = u8::try_from(contract::UNREADABLE).ok().filter(|_| is_about_the_list);
    unreadable.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn run(cli: &Cli) -> Result<ExitCode> {
    let surrounded = Surrounded::open(&variable)?;
    if let Some(preamble) = &cli.preamble {
        let note = preamble.get(1).map(String::as_str).filter(|note| !note.is_empty());
        put(&surrounded.preamble(&preamble[0], note))?;
        return Ok(ExitCode::SUCCESS);
    }
    match &cli.verb {
        Some(Verb::Status { json: true }) => put(&format!("{}\n", surrounded.status_json()?))?,
        Some(Verb::Status { json: false }) => put(&surrounded.status_text()?)?,
        Some(Verb::Deliver { session_id }) => {
            let told = surrounded.deliver_json(*session_id, &input()?)?;
            put(&format!("{told}\n"))?;
        }
        None => return spawn(&surrounded),
    }
    Ok(ExitCode::SUCCESS)
}

fn spawn(surrounded: &Surrounded) -> Result<ExitCode> {
    let request = Surrounded::request(&variable)?;
    match surrounded.spawn(&request, &input()?, &mut warn)? {
        Outcome::Nothing => Ok(ExitCode::SUCCESS),
        Outcome::Full(full) => {
            warn(&full.to_string());
            Ok(ExitCode::from(u8::try_from(contract::DEFERRED)?))
        }
        Outcome::Accepted(answer) => {
            let line = agent_box_webhook_spawn::line(&answer.to_json());
            put(&format!("{line}\n"))?;
            testpoint::hit("spawn.printed");
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn input() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("standard input is not UTF-8 at byte {at}; the receiver sends UTF-8 only")
    })
}

fn put(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot print")
}

fn warn(text: &str) {
    eprintln!("agent-box-webhook-spawn: {}", text.escape_debug());
}

/// The error with its causes, none of them twice.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.ends_with(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}
