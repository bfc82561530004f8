//! What becomes of a delivery: pure functions of it and of what is known when it is looked at.
//!
//! Whether a row's time is over is asked for the moment at which the delivery came, so that a
//! receiver that was down declines nothing; who is alive is asked for now.

use agent_box_event::{
    Association, Audience, Claim, Consideration, DeliveryState, Event, Fence, Filter, Lease,
    Listener, Login, Ownership, Refusal, Routed, TopicPattern, WaitReason, consider, route,
};
use serde_json::Value;

use super::message::{meta_of, text_for_session};
use super::roster::{Addressee, Roster};
use crate::Parsed;
use crate::inbox::{Delivery, SessionRef};

/// A session's filter, and when its end of the line was last heard.
#[derive(Clone, Debug)]
pub(crate) struct SessionFilter {
    pub(crate) key: String,
    pub(crate) filter: Filter,
    pub(crate) heard_ms: Option<u64>,
}

/// What is known when a delivery is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The standing watches, governed by the policy.
    pub(crate) watches: &'a Filter,
    pub(crate) sessions: &'a [SessionFilter],
    pub(crate) roster: &'a Roster,
    pub(crate) leases: &'a [Lease],
    /// What the box acts as.
    pub(crate) me: Option<&'a Login>,
    /// What is asked of authors in public repositories.
    pub(crate) minimum: Option<Association>,
    pub(crate) now_ms: u64,
}

/// All that a delivery causes; recorded together or not at all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effects {
    /// What was found, and what else is to be said of it.
    pub(crate) state: DeliveryState,
    pub(crate) note: Option<String>,
    /// Messages for running sessions.
    pub(crate) tells: Vec<Tell>,
    /// A place in a lane.
    pub(crate) wait: Option<Wait>,
    /// The rows that wanted it, by the key of their filter (the box's own has none).
    pub(crate) delivered: Vec<(Option<String>, TopicPattern)>,
}

/// A message for one session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tell {
    pub(crate) session: SessionRef,
    pub(crate) text: String,
    pub(crate) meta: Value,
}

/// A place in the lane of the delivery's topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) watch: TopicPattern,
    pub(crate) note: Option<String>,
    pub(crate) reason: WaitReason,
}

/// What becomes of an event that waits, asked again before its batch is frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// It is still for a session of its own, by this watch.
    Wanted { watch: TopicPattern, note: Option<String> },
    /// A session has claimed what it is about, and does not have the event itself yet.
    Claimed,
    /// No session is started for it, and why.
    Withdrawn(String),
}

/// The event that a delivery is; `topic` is the delivery's.
pub(crate) fn event_of<'a>(
    delivery: &'a Delivery,
    topic: Option<&'a agent_box_event::Topic>,
    payload: &'a Parsed,
) -> Event<'a> {
    Event { topic, kind: &delivery.kind, sender: delivery.sender.as_deref(), payload }
}

/// Decides about a delivery that nobody has looked at; `draw` draws the fence of a message.
pub(crate) fn decide(
    delivery: &Delivery,
    payload: &Parsed,
    known: Known<'_>,
    mut draw: impl FnMut() -> Fence,
) -> Effects {
    let topic = delivery.topic();
    let event = event_of(delivery, topic.as_ref(), payload);
    if topic.is_none() {
        return declined("it names nothing that it is about, so nobody can be subscribed to it");
    }
    let mut story = Story::default();
    let mut effects = Effects {
        state: DeliveryState::Matched,
        note: None,
        tells: Vec::new(),
        wait: None,
        delivered: Vec::new(),
    };
    for session in known.sessions {
        let filter = as_it_was(&session.filter, delivery.received_ms);
        match route(&filter, &event, Audience::Session, known.me, known.now_ms) {
            Routed::Accepted(place) => {
                let Addressee::Queue(addressee) = known.roster.addressee(&session.key) else {
                    story.say(format!("{} subscribed and is gone", session.key));
                    continue;
                };
                let row = &filter.rows[place];
                effects.tells.push(Tell {
                    session: addressee,
                    text: text_for_session(delivery, &event, row, known.now_ms, draw()),
                    meta: meta_of(delivery, &event),
                });
                effects.delivered.push((Some(session.key.clone()), row.pattern.clone()));
            }
            Routed::Refused(refusals) => story.refused(&session.key, &filter, &refusals),
            Routed::Disabled | Routed::OffTopic => {}
        }
    }
    let watches = as_it_was(known.watches, delivery.received_ms);
    match ask_watches(&event, &watches, known) {
        Consideration::Unwatched => {}
        Consideration::Declined(refusals) => {
            story.refused("the standing watch", &watches, &refusals);
        }
        Consideration::NotFailing => {
            story.say("no standing watch asks for CI results that are no failure");
        }
        Consideration::Gated => {
            story.say("no session is started for it: the author is a stranger to the repository");
        }
        Consideration::Owned(owner, how) => {
            story.say(owned(owner, how));
            let place = accepting(&watches, &event, known);
            effects.wait = place.map(|place| wait(&watches, place, WaitReason::Claim));
        }
        Consideration::Wanted(place) => {
            let row = &watches.rows[place];
            effects.delivered.push((None, row.pattern.clone()));
            effects.wait = Some(wait(&watches, place, WaitReason::Window));
        }
    }
    if effects.tells.is_empty() && effects.wait.is_none() {
        let why = story.text().unwrap_or_else(|| "nobody is subscribed to it".to_owned());
        return declined(&why);
    }
    effects.note = story.text();
    effects
}

/// Decides again about a waiting event; `has_it` says whether the session of this id or key was
/// told the event and acknowledged it.
pub(crate) fn ask_again(
    delivery: &Delivery,
    payload: &Parsed,
    known: Known<'_>,
    has_it: impl Fn(&str) -> bool,
) -> Again {
    let topic = delivery.topic();
    let event = event_of(delivery, topic.as_ref(), payload);
    let watches = as_it_was(known.watches, delivery.received_ms);
    match ask_watches(&event, &watches, known) {
        Consideration::Wanted(place) => {
            let row = &watches.rows[place];
            Again::Wanted { watch: row.pattern.clone(), note: row.note.clone() }
        }
        Consideration::Owned(owner, how) if has_it(owner) => Again::Withdrawn(owned(owner, how)),
        Consideration::Owned(..) => Again::Claimed,
        Consideration::Unwatched => {
            Again::Withdrawn("its standing watch was removed while it waited".to_owned())
        }
        Consideration::Declined(_) | Consideration::NotFailing | Consideration::Gated => {
            Again::Withdrawn("its standing watch was changed while it waited".to_owned())
        }
    }
}

fn ask_watches<'a>(event: &Event<'_>, watches: &Filter, known: Known<'a>) -> Consideration<'a> {
    let claims: Vec<Claim<'a>> = known
        .leases
        .iter()
        .map(|lease| Claim { lease, holder: known.roster.holder(&lease.session) })
        .collect();
    let listener = |it: &'a SessionFilter| {
        let heard_ms = it.heard_ms?;
        Some(Listener { session: &it.key, filter: &it.filter, heard_ms })
    };
    let listeners: Vec<Listener<'a>> = known.sessions.iter().filter_map(listener).collect();
    consider(watches, event, known.me, known.minimum, &claims, &listeners, known.now_ms)
}

/// The row that wants an event which somebody owns.
fn accepting(watches: &Filter, event: &Event<'_>, known: Known<'_>) -> Option<usize> {
    match route(watches, event, Audience::Standing, known.me, known.now_ms) {
        Routed::Accepted(place) => Some(place),
        _ => None,
    }
}

fn wait(watches: &Filter, place: usize, reason: WaitReason) -> Wait {
    let row = &watches.rows[place];
    Wait { watch: row.pattern.clone(), note: row.note.clone(), reason }
}

/// The filter with the rows that were valid when a delivery came, and no end to them.
fn as_it_was(filter: &Filter, received_ms: u64) -> Filter {
    let mut filter = filter.clone();
    filter.prune(received_ms);
    for row in &mut filter.rows {
        row.ttl_ms = Some(0);
    }
    filter
}

fn owned(owner: &str, how: Ownership) -> String {
    match how {
        Ownership::Lease => format!("session {owner} was started for the same thing"),
        Ownership::Subscribed => format!("{owner} is subscribed to it and listens"),
        Ownership::Declared => format!("{owner} declared that such events are its own"),
    }
}

fn declined(why: &str) -> Effects {
    Effects {
        state: DeliveryState::Declined(why.to_owned()),
        note: None,
        tells: Vec::new(),
        wait: None,
        delivered: Vec::new(),
    }
}

/// What is said of a delivery beside its effects.
#[derive(Default)]
struct Story(Vec<String>);

impl Story {
    /// More are not read by anybody.
    const MOST: usize = 6;

    fn say(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    fn refused(&mut self, who: &str, filter: &Filter, refusals: &[(usize, Refusal)]) {
        for (place, refusal) in refusals {
            let pattern = &filter.rows[*place].pattern;
            self.say(format!("{who} ({pattern}): {}", refusal.as_str()));
        }
    }

    fn text(mut self) -> Option<String> {
        let more = self.0.len().saturating_sub(Self::MOST);
        self.0.truncate(Self::MOST);
        if more > 0 {
            self.0.push(format!("and {more} more"));
        }
        (!self.0.is_empty()).then(|| self.0.join("; "))
    }
}

#[cfg(test)]
mod tests;
