//! How the receiver is, what waits, and what has been counted.
//!
//! Everything is looked at from outside, so that this works when the receiver does not.

use std::fs;
use std::path::Path;

use agent_box_event::contract::{RefusalRecord, Status};
use agent_box_event::{Cut, WaitReason, print_rfc3339, sanitize};
use agent_box_session::WebhookPaths;
use agent_box_session::paths::Paths;
use serde_json::{Map, Value, json};

use super::age::ago;
use super::{NO_INBOX, print};
use crate::cli::print::{DONE, FAILED};
use crate::cli::{Context, block_on, inbox, receiver};
use crate::filters::Owner;
use crate::inbox::{Counters, WaitingSession};
use crate::ingress::{RefusalCount, SourceSettings, Sources};
use crate::{disk, now_ms, serve, to_event_json};

/// All that was seen.
struct Seen {
    receiver: Option<Value>,
    is_running: bool,
    /// Why nothing comes in from outside.
    shut_door: Option<String>,
    /// `None` if there is none yet, or why it cannot be read.
    inbox: Result<Option<(Counters, Vec<WaitingSession>)>, String>,
    sources: Sources,
    /// Requests that the receiver refused since it started.
    turned_away: Vec<RefusalCount>,
    /// As `ls --json` says.
    subscribed: Value,
    /// Hook sessions, or why nobody knows.
    sessions: Result<Status, String>,
    refused: Option<RefusalRecord>,
    legacy_peers: usize,
}

pub(super) fn run(is_json: bool, context: &Context) -> u8 {
    let now = now_ms();
    let seen = look(context, now);
    if is_json {
        print::json(&seen.to_json(context));
    } else {
        for (what, text) in seen.lines(context, now) {
            print::line(&format!("{what:<11} {text}"));
        }
    }
    for warning in seen.warnings() {
        print::warn(&warning);
    }
    if seen.inbox.is_err() { FAILED } else { DONE }
}

fn look(context: &Context, now: u64) -> Seen {
    let paths = &context.paths;
    let looked = inbox::look(context, |look| Ok((look.counters()?, look.waiting_sessions()?)));
    let is_running = receiver::is_running(paths);
    let refusals = Paths::new(&context.home, "").state().join("webhook-spawn-refused.json");
    let refused = read_json(&refusals);
    let asked = block_on(serve::wrapper(context).status());
    Seen {
        is_running,
        receiver: read_json(&paths.receiver()),
        shut_door: receiver::shut_door(paths).filter(|_| is_running),
        inbox: looked.map_err(|error| sanitize(&print::chain(&error), Cut::NONE)),
        sources: Sources::read(paths),
        turned_away: RefusalCount::read(paths),
        subscribed: context.listing(&Owner::of_key(context.key().as_deref()), now).to_json(now),
        sessions: asked.unwrap_or_else(|error| Err(error.to_string())),
        refused: refused.and_then(|json| RefusalRecord::read(&to_event_json(&json))),
        legacy_peers: legacy_peers(paths),
    }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&disk::read(path).ok()?).ok()
}

fn is_alive(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Peers of the older kind: sockets named `KEY.PID.sock` whose process is there.
fn legacy_peers(paths: &WebhookPaths) -> usize {
    let Ok(entries) = fs::read_dir(paths.instances()) else { return 0 };
    let is_live = |name: &str| {
        let pid = name.strip_suffix(".sock").and_then(|it| it.rsplit('.').next());
        pid.and_then(|pid| pid.parse().ok()).is_some_and(is_alive)
    };
    entries.flatten().filter(|it| it.file_name().to_str().is_some_and(is_live)).count()
}

impl Seen {
    fn topics(&self) -> usize {
        self.subscribed["topics"].as_array().map_or(0, Vec::len)
    }

    fn watches(&self) -> usize {
        self.subscribed["dispatch"]["topics"].as_array().map_or(0, Vec::len)
    }

    /// Whether the receiver can start sessions, as it says.
    fn can_spawn(&self) -> Option<bool> {
        self.receiver.as_ref()?["spawn"].as_bool()
    }

    fn is_at_capacity(&self) -> bool {
        self.sessions.as_ref().is_ok_and(|it| it.live >= it.max)
    }

    /// Why what matches a watch starts nothing now.
    fn dispatch_warning(&self) -> Option<String> {
        if self.watches() == 0 {
            return None;
        }
        if self.can_spawn() == Some(false) {
            let text = "the receiver has no command to start sessions with, so a match starts \
                        nothing; install agent-box-webhook-spawn beside it";
            return Some(text.to_owned());
        }
        let Ok(Status { live, max, .. }) = &self.sessions else { return None };
        self.is_at_capacity().then(|| {
            format!(
                "{live} hook sessions are there, as many as there may be ({max}): what matches now \
                 waits until one is gone; `agent-box rm NAME` removes one"
            )
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = receiver::source_problems(&self.sources);
        warnings.extend(self.shut_door.clone());
        warnings.extend(self.inbox.as_ref().err().cloned());
        warnings.extend(self.dispatch_warning());
        warnings
    }

    fn to_json(&self, context: &Context) -> Value {
        let source = |source: &SourceSettings| {
            let said = json!({
                "hasSecret": source.active_secrets() > 0,
                "secrets": source.active_secrets(),
                "scheme": source.scheme.as_str(),
                "problems": source.problems,
            });
            (source.name.to_string(), said)
        };
        let sources: Map<String, Value> = self.sources.iter().map(source).collect();
        let turned_away = self.turned_away.iter().map(RefusalCount::to_json);
        let mut receiver = self.receiver.clone().unwrap_or(Value::Null);
        if let Some(members) = receiver.as_object_mut() {
            members.insert("running".to_owned(), json!(self.is_running));
        }
        let refused = self.refused.as_ref().map(|it| crate::from_event_json(&it.to_json()));
        let mut dispatch = json!({
            "topicCount": self.watches(),
            "spawnCommand": self.can_spawn(),
            "hookSessions": self.sessions.as_ref().ok().map(|it| json!({
                "live": it.live,
                "max": it.max,
                "atCapacity": self.is_at_capacity(),
            })),
            "lastRefusal": refused,
        });
        if let Some(warning) = self.dispatch_warning() {
            dispatch["warning"] = json!(warning);
        }
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "stateDir": context.paths.state(),
            "session": context.key(),
            "self": self.subscribed["self"],
            "filterFile": self.subscribed["filterFile"],
            "enabled": self.subscribed["enabled"],
            "topicCount": self.topics(),
            "dispatchTopicCount": self.watches(),
            "receiver": receiver,
            "defaultSource": self.sources.default_name().map(ToString::to_string),
            "sources": sources,
            "sourceProblems": self.sources.problems,
            "turnedAway": turned_away.collect::<Vec<Value>>(),
            "inbox": self.inbox_json(context),
            "peers": { "legacy": self.legacy_peers },
            "dispatch": dispatch,
        })
    }

    fn inbox_json(&self, context: &Context) -> Value {
        let (counters, queues) = match &self.inbox {
            Ok(Some(seen)) => seen,
            Ok(None) => return Value::Null,
            Err(problem) => return json!({ "file": context.paths.inbox(), "problem": problem }),
        };
        let ever: Map<String, Value> = counters
            .ever
            .iter()
            .map(|(it, count)| (it.as_str().to_owned(), json!(count)))
            .collect();
        let queues = queues.iter().map(|queue| {
            json!({
                "key": queue.session.key,
                "sessionId": queue.session.session_id,
                "waiting": queue.waiting,
                "leftOut": queue.left_out,
                "oldestAt": queue.oldest_ms.map(print_rfc3339),
            })
        });
        json!({
            "file": context.paths.inbox(),
            "unsettled": counters.unsettled,
            "unsettledBytes": counters.unsettled_bytes,
            "unmatched": counters.unmatched,
            "waiting": counters.waiting,
            "batches": counters.frozen,
            "untold": counters.untold,
            "ever": ever,
            "sessions": queues.collect::<Vec<Value>>(),
        })
    }

    /// For people: what, and how it is.
    fn lines(&self, context: &Context, now: u64) -> Vec<(&'static str, String)> {
        let mut lines = vec![("receiver", self.receiver_text(context))];
        let sources: Vec<String> = self.sources.iter().map(source_text).collect();
        lines.push((
            "sources",
            if sources.is_empty() {
                "none; `agent-box webhook setup` makes one".to_owned()
            } else {
                sources.join(", ")
            },
        ));
        for it in &self.turned_away {
            let last = ago(now, it.last_ms);
            let text = format!("{}: {} {} times, the last {last}", it.source, it.reason, it.count);
            lines.push(("turned away", text));
        }
        let watches = self.watches();
        lines.push(("subscribed", format!("{} topics, {watches} standing watches", self.topics())));
        match &self.inbox {
            Ok(None) => lines.push(("inbox", NO_INBOX.to_owned())),
            Err(_) => {
                lines.push((
                    "inbox",
                    format!("cannot be read: {}", context.paths.inbox().display()),
                ));
            }
            Ok(Some((counters, queues))) => {
                lines.push((
                    "inbox",
                    format!(
                        "{} deliveries on their way: {} to look at, {} batches, {} messages untold",
                        counters.unsettled, counters.unmatched, counters.frozen, counters.untold
                    ),
                ));
                lines.push(("waiting", self.waiting_text(counters)));
                let ever = counters.ever.iter().filter(|(_, count)| **count > 0);
                let ever: Vec<String> =
                    ever.map(|(it, count)| format!("{} {count}", it.as_str())).collect();
                lines
                    .push(("ever", if ever.is_empty() { "-".to_owned() } else { ever.join(", ") }));
                for queue in queues {
                    lines.push(("untold", queue_text(queue, now)));
                }
            }
        }
        if let Some(refused) = &self.refused {
            let key = refused.key.as_deref().unwrap_or("-");
            lines.push((
                "refused",
                format!(
                    "{} times at the cap since {}, last at {} for {key}",
                    refused.count, refused.first_at, refused.at
                ),
            ));
        }
        lines
    }

    fn receiver_text(&self, context: &Context) -> String {
        let Some(said) = &self.receiver else {
            return NO_INBOX.to_owned();
        };
        let text = |name: &str| said[name].as_str().unwrap_or("?").to_owned();
        let pid = said["pid"].as_u64().unwrap_or_default();
        if self.is_running {
            format!("runs as pid {pid} since {}, version {}", text("startedAt"), text("version"))
        } else {
            let starter = receiver::starter(context);
            format!("does not run; start it with {starter}; what comes meanwhile is not taken in")
        }
    }

    fn waiting_text(&self, counters: &Counters) -> String {
        let cap = match &self.sessions {
            Ok(status) => format!("cap {}, {} hook sessions", status.max, status.live),
            Err(reason) => format!("hook sessions unknown ({reason})"),
        };
        let total: u64 = counters.waiting.values().sum();
        let at_cap = counters.waiting_for(WaitReason::Cap);
        let mut reasons: Vec<String> =
            counters.waiting.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        if reasons.is_empty() || at_cap == total {
            reasons.clear();
        }
        let split =
            if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        format!("waiting {total}{split}, {cap}")
    }
}

fn source_text(source: &SourceSettings) -> String {
    let secrets = match source.active_secrets() {
        0 => "no usable secret".to_owned(),
        1 => "1 secret".to_owned(),
        more => format!("{more} secrets"),
    };
    format!("{} ({}, {secrets})", source.name, source.scheme.as_str())
}

fn queue_text(queue: &WaitingSession, now: u64) -> String {
    let oldest = queue.oldest_ms.map(|at| format!(", the oldest {}", ago(now, at)));
    let left_out = match queue.left_out {
        0 => String::new(),
        count => format!(", {count} left out"),
    };
    let oldest = oldest.unwrap_or_default();
    format!("{}: {} waiting{oldest}{left_out}", queue.session.key, queue.waiting)
}
