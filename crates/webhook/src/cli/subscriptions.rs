//! Who is told of what: subscribe, unsubscribe, list, mute; and what the box acts as.

use agent_box_event::contract::Status;
use agent_box_session::{SessionName, WebhookPaths, env};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::print::{self, DONE, FAILED, MISUSED};
use super::{Context, Done, block_on};
use crate::filters::requests::{self, Refused, Reply, Spelled};
use crate::filters::{Asking, Known, Owner, Resolver};
use crate::now_ms;
use crate::serve::wrapper;

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
    match verb {
        Verb::Subscribe(asked) => subscribe(asked, context),
        Verb::Unsubscribe(asked) => {
            let owner = match owner(&asked.whose, context) {
                Ok(owner) => owner,
                Err(refused) => return Ok(print::refuse(MISUSED, &refused)),
            };
            let reply = requests::unsubscribe(&context.paths, &owner, &asked.topic, now_ms())?;
            Ok(answer(reply))
        }
        Verb::Ls(asked) => Ok(ls(&asked, context)),
        Verb::Mute(whose) => set_enabled(&whose, false, context),
        Verb::Unmute(whose) => set_enabled(&whose, true, context),
        Verb::Identity(asked) => identity(&asked, context),
    }
}

fn subscribe(asked: Subscribe, context: &Context) -> Done {
    let owner = match owner(&asked.whose, context) {
        Ok(owner) => owner,
        Err(refused) => return Ok(print::refuse(MISUSED, &refused)),
    };
    let (include, exclude) = match (rule(asked.include), rule(asked.exclude)) {
        (Ok(include), Ok(exclude)) => (include, exclude),
        (Err(refused), _) | (_, Err(refused)) => return Ok(print::refuse(MISUSED, &refused)),
    };
    if let Some(Err(refused)) = asked.ttl.map(requests::hours) {
        return Ok(print::refuse(MISUSED, &format!("--ttl: {refused}")));
    }
    let spelled = Spelled {
        note: asked.note,
        ttl_hours: asked.ttl,
        renew_on_event: match (asked.renew_on_event, asked.no_renew_on_event) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            (false, false) => None,
        },
        ignore_senders: asked.ignore_sender,
        include,
        exclude,
    };
    let (now, paths) = (now_ms(), &context.paths);
    let me = context.acts_as(now);
    let reply = requests::subscribe(paths, me.as_ref(), &owner, &asked.topic, &spelled, now)?;
    let done = reply.is_ok();
    let code = answer(reply);
    if done && owner != Owner::Box {
        warn_of_no_session(asked.whose.session.as_deref(), context);
    }
    Ok(code)
}

fn set_enabled(whose: &Whose, enabled: bool, context: &Context) -> Done {
    match owner(whose, context) {
        Ok(owner) => {
            let reply = requests::set_enabled(&context.paths, &owner, enabled, now_ms())?;
            Ok(answer(Ok(reply)))
        }
        Err(refused) => Ok(print::refuse(MISUSED, &refused)),
    }
}

fn ls(asked: &Ls, context: &Context) -> u8 {
    let whose = Whose { session: asked.session.clone(), deliver_to: DeliverTo::Session };
    let owner = match owner(&whose, context) {
        Ok(owner) => owner,
        Err(refused) => return print::refuse(MISUSED, &refused),
    };
    let now = now_ms();
    let listing = context.listing(&owner, now);
    if asked.json || !print::is_for_people() {
        print::json(&listing.to_json(now));
    } else {
        let (lines, remarks) = listing.table(now);
        if lines.is_empty() {
            print::line("nothing is subscribed; `agent-box webhook subscribe owner/name` does it");
        } else {
            print::table(&["TOPIC", "EVENTS", "END", "ABOUT"], &lines);
        }
        for remark in &remarks {
            print::line(remark);
        }
    }
    for warning in &listing.warnings {
        print::warn(warning);
    }
    if listing.has_watches() {
        warn_of_the_ceiling(context);
    }
    DONE
}

fn identity(asked: &Identity, context: &Context) -> Done {
    let asking = Asking { refresh: asked.refresh, throttled: asked.throttled };
    match block_on(Resolver::new(context).resolve(asking, now_ms()))? {
        Known::Login { login, note } => {
            print::line(login.as_str());
            if let Some(note) = note {
                print::warn(&note);
            }
            Ok(DONE)
        }
        // Nothing on stdout, so that `$(…)` is empty.
        Known::Unknown(reason) => Ok(print::refuse(FAILED, &reason)),
    }
}

/// A watch that starts nothing for the time being looks like a broken one.
fn warn_of_the_ceiling(context: &Context) {
    let asked = block_on(wrapper(context).status());
    // Whether sessions can be started at all is said elsewhere.
    if let Ok(Ok(Status { live, max, .. })) = asked
        && live >= max
    {
        print::warn(&format!(
            "{live} hook sessions are there, as many as there may be ({max}): what matches now \
             waits until one is gone; `agent-box rm NAME` removes one"
        ));
    }
}

/// Whose file is meant.
fn owner(whose: &Whose, context: &Context) -> Result<Owner, String> {
    match (whose.deliver_to, &whose.session) {
        (DeliverTo::Subagent, None) => Ok(Owner::Box),
        (DeliverTo::Subagent, Some(_)) => {
            Err("standing watches are the box's; leave --session away".to_owned())
        }
        (DeliverTo::Session, Some(name)) => {
            let name = SessionName::parse(name).map_err(|error| error.to_string())?;
            Ok(Owner::Session(WebhookPaths::session_key(&context.user, &name)))
        }
        (DeliverTo::Session, None) => Ok(Owner::of_key(context.key().as_deref())),
    }
}

/// A rule as JSON; that it is JSON is a matter of calling this right.
fn rule(text: Option<String>) -> Result<Option<Value>, String> {
    let Some(text) = text else { return Ok(None) };
    let read = serde_json::from_str(&text);
    read.map(Some).map_err(|error| format!("a rule must be JSON: {error}"))
}

fn answer(reply: Result<Reply, Refused>) -> u8 {
    match reply {
        Ok(reply) => {
            print::line(&reply.text);
            for warning in &reply.warnings {
                print::warn(warning);
            }
            DONE
        }
        Err(refused) => print::refuse(FAILED, &refused),
    }
}

/// Subscriptions of nobody are easily made and never heard of.
fn warn_of_no_session(named: Option<&str>, context: &Context) {
    match named {
        None if context.text(env::WEBHOOK_SESSION).is_none() => print::warn(
            "this is no session of the box, so perhaps nobody is told; \
             `--session NAME` subscribes one that is",
        ),
        Some(name) => {
            if let Ok(Ok(status)) = block_on(wrapper(context).status())
                && !status.sessions.iter().any(|session| session.name == name)
            {
                print::warn(&format!(
                    "no session is called {name:?}, so nobody is told; `agent-box ls` lists them"
                ));
            }
        }
        None => {}
    }
}
