//! Who may send: set up, addresses, secrets; and sending by hand, to see that it works.

mod emit;
mod github;
mod post;
mod secrets;
mod setup;
mod test;
mod url;

use std::io::Read as _;
use std::path::Path;

use agent_box_event::Source;
use agent_box_session::env;
use clap::{Args, Subcommand};

use super::print::{self, MISUSED};
use super::{Context, Done};
use crate::ingress::{Scheme, SourceSettings, Sources};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Let a sender in: make its secret and say what to enter there
    #[command(after_help = "\
A source that is there already is left as it is, and shown again.

Examples:
  agent-box webhook setup                        GitHub
  agent-box webhook setup forge --scheme gitea   another forge, by its scheme
  agent-box webhook setup stripe --secret-from - the secret is Stripe's: paste it

Exit codes: 0 done, 1 something failed, 2 misused.")]
    Setup(Setup),
    /// Print the addresses to enter at senders
    Url(Url),
    /// Change the secrets of a source without losing a delivery
    #[command(subcommand)]
    Secrets(Secrets),
    /// Sign a body as a source and hand it to the receiver of this machine
    #[command(after_help = "\
Examples:
  agent-box webhook emit github '{\"repository\":{\"full_name\":\"o/r\"}}' --event push
  agent-box webhook emit github failed-run.json --event workflow_run

Exit codes: 0 stored, 1 something failed or was refused, 2 misused or no JSON.")]
    Emit(Emit),
    /// Send a signed sample through the public address, as a sender would
    Test(Test),
}

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// A name of your choice; well-known senders have a scheme by their name
    #[arg(default_value = "github")]
    source: String,
    /// How it signs; by its name when not given, else hex
    #[arg(long, value_name = "SCHEME", value_parser = scheme)]
    scheme: Option<Scheme>,
    /// The secret that the sender made: a file, or `-` for a line on stdin
    #[arg(long, value_name = "FILE")]
    secret_from: Option<String>,
    /// Print the secret itself, and not only where it is
    #[arg(long)]
    show_secret: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Url {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    /// Make a new secret; the old ones stay valid until they are dropped
    Rotate(Rotate),
    /// Accept the newest secret only
    Drop(DropOld),
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// Whose
    source: String,
    /// The secret that the sender made: a file, or `-` for a line on stdin
    #[arg(long, value_name = "FILE")]
    secret_from: Option<String>,
    /// Print the secret itself, and not only where it is
    #[arg(long)]
    show_secret: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DropOld {
    /// Whose
    source: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Emit {
    /// As which source
    source: String,
    /// The body, byte for byte, or the file that holds it; `-` reads it from stdin
    #[arg(default_value = "{}", value_name = "JSON|FILE")]
    body: String,
    /// What happened, for sources that say so in a header
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// As which source; the default one when not given
    source: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Verb, context: &Context) -> Done {
    match verb {
        Verb::Setup(setup) => setup::run(setup, context),
        Verb::Url(url) => Ok(url::run(url, context)),
        Verb::Secrets(Secrets::Rotate(rotate)) => secrets::rotate(rotate, context),
        Verb::Secrets(Secrets::Drop(drop)) => secrets::drop_old(drop, context),
        Verb::Emit(emit) => emit::run(emit, context),
        Verb::Test(test) => test::run(test, context),
    }
}

fn scheme(word: &str) -> Result<Scheme, String> {
    Scheme::parse(word).ok_or_else(|| {
        let known: Vec<&str> = Scheme::all().map(Scheme::as_str).collect();
        format!("one of {}", known.join(", "))
    })
}

/// A source's name as a word of the command line.
fn named(word: &str) -> Result<Source, u8> {
    Source::parse(word).map_err(|error| print::refuse(MISUSED, &error.to_string()))
}

/// The address of the box's webhooks, without a slash at its end.
fn endpoint(context: &Context) -> Option<&str> {
    context.text(env::WEBHOOK_URL).map(|url| url.trim_end_matches('/'))
}

/// What to do about a missing address.
const NO_ENDPOINT: &str = "this box has no public address for webhooks; on NixOS enable its web \
     front end, else put AGENT_BOX_WEBHOOK_URL into the environment";

/// A configured source that can sign, or why there is none.
fn signing<'a>(sources: &'a Sources, name: Option<&str>) -> Result<&'a SourceSettings, String> {
    let found = sources.find(name).ok_or_else(|| {
        let name = name.unwrap_or("github");
        let mut reasons = sources.problems.clone();
        reasons.push(format!("there is no source {name}; run `agent-box webhook setup {name}`"));
        reasons.join("; ")
    })?;
    if found.active_secrets() > 0 {
        return Ok(found);
    }
    Err(format!("{} cannot sign: {}", found.name, found.problems.join("; ")))
}

/// A secret from a file or from a line of stdin, trimmed.
fn secret_from(place: Option<&str>) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let Some(place) = place else { return Ok(None) };
    let mut text = String::new();
    if place == "-" {
        std::io::stdin().read_line(&mut text)?;
    } else {
        let opened = crate::disk::open(Path::new(place));
        let read = opened.and_then(|file| file.take(8192).read_to_string(&mut text));
        read.map_err(|error| format!("{place}: cannot be read ({error})"))?;
    }
    Ok(Some(text.trim().to_owned()))
}
