//! The daemon as a verb.

use clap::Subcommand;

use super::print::DONE;
use super::{Context, Done};
use crate::serve::{run_until_told, settings};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Take deliveries in until told to end; `agent-box up` does this too
    Serve,
}

pub(crate) fn run(verb: &Verb, context: &Context) -> Done {
    let Verb::Serve = verb;
    run_until_told(&settings(context)?)?;
    Ok(DONE)
}
