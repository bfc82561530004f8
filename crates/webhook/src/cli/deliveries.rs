//! What came in and what became of it: lists, stories, asking again, and how the receiver is.
//!
//! All of it reads the inbox beside the receiver and without one; only `replay` needs one.

mod age;
mod explain;
mod status;

use std::fmt::Write as _;

use agent_box_event::{EventKey, Source, print_rfc3339};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tokio::time::{Duration, timeout};

use self::age::{Span, ago};
use super::print::{self, DONE, FAILED, MISUSED};
use super::{Context, Done, block_on, inbox};
use crate::inbox::{Criteria, Delivery, InboxError, Look, Reference, Relation};
use crate::now_ms;
use crate::peers::Client;

/// The receiver answers at once or not at all.
const DEADLINE: Duration = Duration::from_secs(10);

const NO_INBOX: &str = "no receiver has run here yet; start one with `agent-box up` or \
                        `agent-box webhook serve`";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List what came in, and what became of it
    Deliveries(List),
    /// Tell the story of a delivery: who wanted it, who did not, and why
    #[command(after_help = "\
A delivery is named by its id, by SOURCE/ID or by its number in the list.
Exit codes: 0 told, 1 there is none of that name, 2 misused.")]
    Explain(Explain),
    /// Take a delivery in again as a new one
    #[command(after_help = "\
The receiver must run. The first delivery stays as it is.
Exit codes: 0 done, 1 it is still on its way, its body is gone or nobody answers, 2 misused.")]
    Replay(Replay),
    /// Say how the receiver is, what waits, and what has been counted
    #[command(after_help = "\
Exit codes: 0 said, 1 also said, but the inbox cannot be read, 2 misused.")]
    Status(Status),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this source
    #[arg(long, value_name = "NAME", value_parser = Source::parse)]
    source: Option<Source>,
    /// In this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Option<String>,
    /// Not older than this: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "AGE")]
    since: Option<Span>,
    /// At most so many, the newest
    #[arg(short, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    number: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const STATES: [&str; 7] =
    ["received", "matched", "declined", "waiting", "delivered", "spawned", "failed"];

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Which one
    #[arg(value_name = "DELIVERY")]
    delivery: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Which one
    #[arg(value_name = "DELIVERY")]
    delivery: String,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print JSON, as where no person reads
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Verb, context: &Context) -> Done {
    match verb {
        Verb::Deliveries(asked) => list(asked, context),
        Verb::Explain(asked) => {
            let Some(reference) = Reference::parse(&asked.delivery) else {
                return Ok(misnamed(&asked.delivery));
            };
            let stories = inbox::look(context, |look| explain::stories(look, &reference))?;
            let Some(stories) = stories else { return Ok(print::refuse(FAILED, NO_INBOX)) };
            if stories.is_empty() {
                return Ok(unknown(&asked.delivery));
            }
            explain::print(&stories, asked.json);
            Ok(DONE)
        }
        Verb::Replay(asked) => replay(&asked.delivery, context),
        Verb::Status(asked) => Ok(status::run(asked.json || !print::is_for_people(), context)),
    }
}

fn misnamed(text: &str) -> u8 {
    let why = format!("`{text}` names no delivery; use its id, SOURCE/ID or its number");
    print::refuse(MISUSED, &why)
}

fn unknown(text: &str) -> u8 {
    let why = format!("no delivery is called `{text}`; `agent-box webhook deliveries` lists them");
    print::refuse(FAILED, &why)
}

fn list(asked: &List, context: &Context) -> Done {
    let now = now_ms();
    let criteria = Criteria {
        source: asked.source.clone(),
        state: asked.state.clone(),
        since_ms: asked.since.map(|span| now.saturating_sub(span.ms())),
    };
    let limit = usize::from(asked.number);
    let found = match inbox::look(context, |look| look.list(&criteria, limit))? {
        Some(found) => found,
        None if asked.json => Vec::new(),
        None => {
            print::line(NO_INBOX);
            return Ok(DONE);
        }
    };
    if asked.json {
        print::json(&found.iter().map(as_json).collect());
        return Ok(DONE);
    }
    if found.is_empty() {
        print::line("no deliveries fit; `agent-box webhook status` says whether the receiver runs");
        return Ok(DONE);
    }
    let row = |delivery: &Delivery| {
        vec![
            format!("#{}", delivery.sequence),
            ago(now, delivery.received_ms),
            name(delivery),
            delivery.kind.clone(),
            delivery.key.as_ref().map_or("-", |key| key.as_str()).to_owned(),
            state(delivery),
        ]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    print::table(&["#", "RECEIVED", "DELIVERY", "EVENT", "ABOUT", "STATE"], &rows);
    if found.len() == limit {
        print::line(&format!("only the newest {limit}; -n shows more"));
    }
    Ok(DONE)
}

/// `SOURCE/ID`.
fn name(delivery: &Delivery) -> String {
    format!("{}/{}", delivery.source, delivery.id)
}

fn state(delivery: &Delivery) -> String {
    match delivery.duplicates {
        0 => delivery.state.to_string(),
        1 => format!("{}, came twice", delivery.state),
        more => format!("{}, came {} times", delivery.state, more.saturating_add(1)),
    }
}

fn as_json(delivery: &Delivery) -> Value {
    let (relation, related) = match delivery.relation {
        Relation::New => (None, None),
        Relation::OtherBody(of) => (Some("otherBody"), Some(of)),
        Relation::SameContent(of) => (Some("sameContent"), Some(of)),
        Relation::Replay(of) => (Some("replay"), Some(of)),
    };
    let mut digest = String::new();
    for byte in delivery.digest.0 {
        let _ = write!(digest, "{byte:02x}");
    }
    json!({
        "sequence": delivery.sequence,
        "source": delivery.source.as_str(),
        "id": delivery.id.as_str(),
        "event": delivery.kind,
        "key": delivery.key.as_ref().map(EventKey::as_str),
        "sender": delivery.sender,
        "receivedAt": print_rfc3339(delivery.received_ms),
        "size": delivery.size,
        "sha256": digest,
        "relation": relation,
        "relatedTo": related,
        "duplicates": delivery.duplicates,
        "duplicateAt": delivery.duplicate_ms.map(print_rfc3339),
        "state": delivery.state.as_str(),
        "detail": delivery.state.detail(),
        "settledAt": delivery.settled_ms.map(print_rfc3339),
    })
}

fn replay(text: &str, context: &Context) -> Done {
    let Some(reference) = Reference::parse(text) else { return Ok(misnamed(text)) };
    let found = inbox::look(context, |look| replayable(look, &reference))?;
    let Some(found) = found else { return Ok(print::refuse(FAILED, NO_INBOX)) };
    let delivery = match &found[..] {
        [] => return Ok(unknown(text)),
        [one] => one,
        several => {
            let numbers: Vec<String> = several.iter().map(|it| it.sequence.to_string()).collect();
            let why = format!("{text} names several deliveries; say which: {}", numbers.join(", "));
            return Ok(print::refuse(FAILED, &why));
        }
    };
    let place = format!("#{}", delivery.sequence);
    let peers = context.paths.peers();
    let asked = block_on(async { timeout(DEADLINE, Client::replay(&peers, &place)).await })?;
    let Ok(replayed) = asked else {
        let why = "the receiver does not answer; see `agent-box webhook status`";
        return Ok(print::refuse(FAILED, why));
    };
    let sequence = replayed?;
    print::line(&format!("{} is taken in again as #{sequence}", name(delivery)));
    print::line(&format!("  agent-box webhook explain {sequence}"));
    Ok(DONE)
}

/// What a reference means when a delivery is to come again: a replay is not meant by the id of
/// the first, though it has that id as well.
fn replayable(look: &Look, reference: &Reference) -> Result<Vec<Delivery>, InboxError> {
    let mut found = look.find(reference)?;
    if found.len() > 1 {
        found.retain(|it| !matches!(it.relation, Relation::Replay(_)));
    }
    Ok(found)
}
