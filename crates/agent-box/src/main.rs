//! The agent-box program: arguments and wiring.
//!
//! The launcher's two entry points are dispatched before any argument parsing: a launcher stays
//! resident in every pane and must not touch what it does not need.

mod cli;
mod print;
mod spot;
mod surroundings;
mod up;
mod verbs;
mod webhooks;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command, Hook, SessionCli};

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_default();
    let arguments: Vec<OsString> = words.collect();
    match arguments.first().and_then(|word| word.to_str()) {
        Some("pane") => return agent_box_pane::launch(&arguments[1..]),
        Some("pane-exec") => return agent_box_pane::exec(&arguments[1..]),
        _ => {}
    }
    // One grammar, further names: existing scripts call `agent-box-session VERB`,
    // `agent-box-webhook VERB` and `agent-box-webhook-self`.
    let called = Path::new(&program).file_name().unwrap_or_default();
    let command = if called == "agent-box-session" {
        Command::Session { verb: SessionCli::parse().verb }
    } else if called == "agent-box-webhook" {
        Command::Webhook { words: arguments }
    } else if called == "agent-box-webhook-self" {
        Command::Webhook { words: [vec!["self".into()], arguments].concat() }
    } else {
        Cli::parse().command
    };
    let done = match command {
        Command::Up => up::up(),
        Command::Supervise => up::supervise(),
        Command::Session { verb } | Command::Verb(verb) => verbs::run(verb),
        Command::Announce { text } => verbs::announce(&text),
        Command::SpotMonitor(arguments) => spot::monitor(&arguments),
        Command::Webhook { words } => webhooks::run(words),
        Command::Mcp => webhooks::mcp(),
        Command::Hook(Hook::SessionStart) => Ok(verbs::session_start()),
        Command::Hook(Hook::Turn) => Ok(webhooks::turn()),
        Command::Hook(Hook::Tell { session_id }) => verbs::tell(session_id),
    };
    done.unwrap_or_else(|error| print::fault(&error))
}
