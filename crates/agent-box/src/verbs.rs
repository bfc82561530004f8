//! The verbs: from arguments to the operator's calls to words or JSON.

mod edit;
mod history;
mod look;
mod tell;

use std::io::Read as _;
use std::process::ExitCode;

use agent_box_harness::session_start_hook;
use agent_box_session::{SessionName, env};
use anyhow::Result;

use crate::cli::Verb;
use crate::print;
use crate::surroundings::{Surrounded, running_tmux, variable};

pub(crate) use tell::tell;

/// Carries out one verb.
pub(crate) fn run(verb: Verb) -> Result<ExitCode> {
    let surrounded = Surrounded::open()?;
    match verb {
        Verb::Add(add) => edit::add(&surrounded, add),
        Verb::Rm { name, output } => edit::remove(&surrounded, &name, output.json),
        Verb::Stop { name, output } => edit::stop(&surrounded, &name, output.json),
        Verb::Restart(restart) => edit::restart(&surrounded, restart),
        Verb::Limits(limits) => edit::limits(&surrounded, &limits),
        Verb::Env(verb) => edit::env(&surrounded, verb),
        Verb::Ls { output } => look::list(&surrounded, output.json),
        Verb::Status { output } => Ok(look::status(&surrounded, output.json)),
        Verb::Show { name, command, output } => {
            look::show(&surrounded, &name, command, output.json)
        }
        Verb::Why { name, output } => look::why(&surrounded, &name, output.json),
        Verb::Log { name, lines, output } => {
            look::log(&surrounded, name.as_deref(), lines, output.json)
        }
        Verb::Attach { name } => look::attach(&surrounded, name.as_deref()),
        Verb::Undo { steps, output } => history::undo(&surrounded, steps, output.json),
        Verb::History { output } => history::list(&surrounded, output.json),
        Verb::Repair { yes, output } => history::repair(&surrounded, yes, output.json),
    }
}

/// Tells everybody who looks.
pub(crate) fn announce(text: &str) -> Result<ExitCode> {
    match running_tmux()?.announce(text)? {
        0 => print::line("nobody looks at a session"),
        1 => print::line("1 person's terminal shows it"),
        some => print::line(&format!("{some} people's terminals show it")),
    }
    Ok(ExitCode::from(print::DONE))
}

/// The SessionStart hook: silent whatever happens, since claude shows its output to the user.
pub(crate) fn session_start() -> ExitCode {
    let mut payload = Vec::new();
    // All of it, before anything can fail: an early exit would break claude's pipe.
    let read = std::io::stdin().read_to_end(&mut payload);
    let launched = variable(env::SESSION_ID).and_then(|id| id.into_string().ok());
    if read.is_ok()
        && let Some(rotation) = session_start_hook(&payload, launched.as_deref())
        && let Ok(surrounded) = Surrounded::open()
    {
        let _ = surrounded.store.write_rotation(&rotation.from, &rotation.to);
    }
    ExitCode::from(print::DONE)
}

/// A name from the command line, or the refusal already said.
fn name_of(text: &str) -> Result<SessionName, ExitCode> {
    SessionName::parse(text).map_err(|error| print::refuse(&error.to_string()))
}
