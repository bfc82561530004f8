//! The verbs of `agent-box webhook`: what can be said. Behaviour is in one module per group.
//!
//! A group has a `Verb` (its part of the grammar) and a `run` that answers with an exit code.

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

pub(crate) mod context;
mod deliveries;
mod inbox;
pub(crate) mod print;
mod read;
mod receiver;
mod serve;
mod sources;
mod subscriptions;

pub use context::Context;
pub use receiver::concerns;

/// Signed events from outside: who may send, who is told, and what starts a session.
#[derive(Debug, Parser)]
#[command(
    name = "agent-box webhook",
    version,
    no_binary_name = true,
    after_help = "\
Examples:
  agent-box webhook subscribe o/r --note 'watch the build of my fix'
                                                 this session is told of events of o/r
  agent-box webhook subscribe o/r --ignore-sender @self
                                                 but not of what this box itself does
  agent-box webhook subscribe 'o/*' --deliver-to subagent --note 'triage new failures'
                                                 a standing watch: each event starts a session
  agent-box webhook ls                           what is subscribed, and until when

Exit codes: 0 done, 1 something failed or is refused, 2 misused."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Sources(sources::Verb),
    #[command(flatten)]
    Subscriptions(subscriptions::Verb),
    #[command(flatten)]
    Deliveries(deliveries::Verb),
    #[command(flatten)]
    Read(read::Verb),
    #[command(flatten)]
    Serve(serve::Verb),
}

/// What a group's `run` answers: an exit code, or what went wrong (that is exit code 1).
pub(crate) type Done = Result<u8, Box<dyn Error>>;

/// Runs one verb; `words` are those after `agent-box webhook`.
pub fn run(words: impl IntoIterator<Item = OsString>, context: &Context) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    if words.is_empty() {
        // The reference's: no word is a call for help, and no error.
        let _ = Cli::command().print_help();
        return ExitCode::SUCCESS;
    }
    let done = match Cli::try_parse_from(words) {
        Ok(cli) => dispatch(cli.verb, context),
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(print::MISUSED));
        }
    };
    ExitCode::from(done.unwrap_or_else(|error| print::fault(error.as_ref())))
}

fn dispatch(verb: Verb, context: &Context) -> Done {
    match verb {
        Verb::Sources(verb) => sources::run(&verb, context),
        Verb::Subscriptions(verb) => subscriptions::run(verb, context),
        Verb::Deliveries(verb) => deliveries::run(&verb, context),
        Verb::Read(verb) => read::run(&verb, context),
        Verb::Serve(verb) => serve::run(&verb, context),
    }
}

/// Runs what must wait for something, for verbs that have nothing else to do.
pub(crate) fn block_on<F: Future>(work: F) -> std::io::Result<F::Output> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }
}
