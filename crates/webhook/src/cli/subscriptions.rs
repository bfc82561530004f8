//! Who is told of what: subscribe, unsubscribe, list, mute; and what the box acts as.

use clap::{Args, Subcommand, ValueEnum};

use super::{Context, Done};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Be told of events, or have each start a session
    Subscribe(Subscribe),
    /// Be told no longer
    Unsubscribe(Unsubscribe),
    /// List subscriptions and standing watches
    #[command(visible_alias = "subscriptions")]
    Ls(Ls),
    /// Keep the subscriptions and be told of nothing
    Mute(Whose),
    /// Be told again
    Unmute(Whose),
    /// Print the GitHub login that this box acts as, `@self`
    #[command(name = "self")]
    Identity(Identity),
}

/// What an event does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliverTo {
    /// Tells the running session.
    #[default]
    Session,
    /// Starts a fresh session: a standing watch of the box.
    Subagent,
}

#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// Of this session; without it, of the one that this is called in
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Whether running sessions are told or fresh ones started
    #[arg(long, value_name = "HOW", default_value = "session")]
    pub(crate) deliver_to: DeliverTo,
}

#[derive(Debug, Args)]
pub(crate) struct Subscribe {
    /// `owner/name`, `owner/*` or `source:key`
    pub(crate) topic: String,
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// Why: it is said again with each event; an empty one removes it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) note: Option<String>,
    /// Hours until it ends; 0 is never
    #[arg(long, alias = "ttl-hours", value_name = "HOURS", allow_hyphen_values = true)]
    pub(crate) ttl: Option<f64>,
    /// Let each event start its time anew
    #[arg(long, overrides_with = "no_renew_on_event")]
    pub(crate) renew_on_event: bool,
    /// Take that back
    #[arg(long)]
    pub(crate) no_renew_on_event: bool,
    /// Not what this login does (`@self`: this box); CI results come nevertheless
    #[arg(long, alias = "ignore-senders", value_name = "LOGIN", value_delimiter = ',')]
    pub(crate) ignore_sender: Option<Vec<String>>,
    /// Only what this rule matches (JSON; `{}` removes it)
    #[arg(long, alias = "when", value_name = "RULE")]
    pub(crate) include: Option<String>,
    /// Not what this rule matches (JSON; `{}` lets everything through, noise as well)
    #[arg(long, alias = "drop", value_name = "RULE")]
    pub(crate) exclude: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Unsubscribe {
    /// As `ls` shows it, a row that never matches as well
    #[arg(allow_hyphen_values = true)]
    pub(crate) topic: String,
    #[command(flatten)]
    pub(crate) whose: Whose,
}

#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Of this session; without it, of the one that this is called in
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print JSON, as where no person reads
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Identity {
    /// Ask GitHub even when the answer is known
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Do not ask again within an hour of having asked in vain
    #[arg(long)]
    pub(crate) throttled: bool,
}

pub(crate) fn run(verb: Verb, context: &Context) -> Done {
    let _ = (verb, context);
    Err("this part of the program is being written".into())
}
