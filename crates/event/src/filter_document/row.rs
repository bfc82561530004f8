//! One row of a filter file: its raw JSON, what is read from it, and how an edit is written back.

use std::fmt;

use super::members::{TTL_HOURS, hours, ignored, position, set, to_hours};
use super::rules::{DROP, EXCLUDE, IGNORE_SENDERS, INCLUDE, NOTE, Rules, WHEN};
use crate::{
    Json, Number, Object, Predicate, Subscription, TopicPattern, parse_rfc3339, print_rfc3339,
};

const TOPIC: &str = "topic";
const RENEW_ON_EVENT: &str = "renewOnEvent";
const TAKES_NOISE: &str = "takesNoise";
const OBJECTS: &str = "objects";
const SUBSCRIBED_AT: &str = "subscribedAt";
const LAST_ACTIVITY_AT: &str = "lastActivityAt";

/// A row of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) raw: Json,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// It counts; what is odd about it.
    Live(Vec<String>),
    /// It can never match, and why.
    Dead(String),
}

/// A row as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterRow<'a> {
    /// The topic as it is written, or the whole row as JSON if there is none. By this text the
    /// row can be removed.
    pub text: String,
    /// What counts, or why the row never matches.
    pub subscription: Result<&'a Subscription, &'a str>,
    /// What is odd about a row that counts, each with its effect.
    pub problems: &'a [String],
    /// When it ends.
    pub expiry: Expiry,
}

/// When a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Its time is over, and the next look at the file removes it.
    Expired,
    /// In so many milliseconds.
    In(u64),
    /// It was asked to stay.
    Pinned,
    /// Nobody noted when its time began.
    Undated,
    /// It never matches anyway.
    Dead,
}

impl Row {
    pub(super) fn read(raw: Json) -> (Self, Option<Subscription>) {
        match read(&raw) {
            Ok((subscription, problems)) => {
                (Self { raw, state: State::Live(problems) }, Some(subscription))
            }
            Err(reason) => (Self { raw, state: State::Dead(reason) }, None),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, State::Live(_))
    }

    pub(super) fn text(&self) -> String {
        topic_text(&self.raw).map_or_else(|| self.raw.to_string(), str::to_owned)
    }

    pub(super) fn listed<'a>(
        &'a self,
        subscription: Option<&'a Subscription>,
        filter_ttl_ms: Option<u64>,
        now_ms: u64,
    ) -> FilterRow<'a> {
        let (reason, problems) = match &self.state {
            State::Live(problems) => ("", problems.as_slice()),
            State::Dead(reason) => (reason.as_str(), [].as_slice()),
        };
        let expiry = match subscription {
            None => Expiry::Dead,
            Some(it) if it.is_expired(filter_ttl_ms, now_ms) => Expiry::Expired,
            Some(it) => match it.expires_ms(filter_ttl_ms) {
                Some(end) => Expiry::In(end.saturating_sub(now_ms)),
                None if it.lifetime_ms(filter_ttl_ms) == 0 => Expiry::Pinned,
                None => Expiry::Undated,
            },
        };
        FilterRow { text: self.text(), subscription: subscription.ok_or(reason), problems, expiry }
    }

    /// Writes what differs between two readings of a live row, and reads it again: what the file
    /// says is what counts.
    pub(super) fn update(&mut self, before: &Subscription, after: &Subscription) -> Subscription {
        if before == after {
            return before.clone();
        }
        if !matches!(self.raw, Json::Object(_)) {
            let topic = std::mem::replace(&mut self.raw, Json::Null);
            self.raw = Json::Object(vec![(TOPIC.to_owned(), topic)]);
        }
        let Json::Object(members) = &mut self.raw else { unreachable!("just made an object") };
        if before.note != after.note {
            set(members, NOTE, after.note.as_ref().map(Json::text));
        }
        if before.ttl_ms != after.ttl_ms {
            set(members, TTL_HOURS, after.ttl_ms.map(to_hours));
        }
        if before.renew_on_event != after.renew_on_event {
            set(members, RENEW_ON_EVENT, after.renew_on_event.then_some(Json::Bool(true)));
        }
        if before.muted != after.muted {
            let logins = after.muted.iter().map(|it| Json::text(it.as_str())).collect();
            let list = (!after.muted.is_empty()).then_some(Json::List(logins));
            set(members, IGNORE_SENDERS, list);
        }
        if before.objects != after.objects {
            let objects = after.objects.iter().map(|it| Json::Text(it.to_string())).collect();
            set(members, OBJECTS, (!after.objects.is_empty()).then_some(Json::List(objects)));
        }
        let rules = [
            (INCLUDE, WHEN, &before.include, &after.include),
            (EXCLUDE, DROP, &before.exclude, &after.exclude),
        ];
        for (name, alias, before, after) in rules {
            if before != after {
                // The older name takes the newer one's place, so that only one of them speaks.
                if position(members, name).is_none()
                    && let Some(at) = position(members, alias)
                {
                    name.clone_into(&mut members[at].0);
                }
                set(members, alias, None);
                set(members, name, after.as_ref().map(Predicate::to_json));
            }
        }
        let times = [
            (SUBSCRIBED_AT, before.subscribed_ms, after.subscribed_ms),
            (LAST_ACTIVITY_AT, before.last_activity_ms, after.last_activity_ms),
        ];
        for (name, before, after) in times {
            if before != after {
                set(members, name, after.map(|it| Json::Text(print_rfc3339(it))));
            }
        }
        // Last, for an exclude that was replaced may have said it.
        if read(&self.raw).is_ok_and(|(read, _)| read.takes_noise != after.takes_noise)
            && let Json::Object(members) = &mut self.raw
        {
            set(members, TAKES_NOISE, Some(Json::Bool(after.takes_noise)));
        }
        let (row, subscription) = Self::read(std::mem::replace(&mut self.raw, Json::Null));
        *self = row;
        subscription.expect("BUG: no edit touches the topic")
    }
}

fn topic_text(raw: &Json) -> Option<&str> {
    raw.as_text().or_else(|| raw.get(TOPIC)?.as_text())
}

/// What a row says, with what is odd about it, or why it never matches.
fn read(raw: &Json) -> Result<(Subscription, Vec<String>), String> {
    if !matches!(raw, Json::Text(_) | Json::Object(_)) {
        return Err("it is neither a topic nor an object".to_owned());
    }
    let text = topic_text(raw).ok_or_else(|| format!("it has no `{TOPIC}`"))?;
    let pattern = TopicPattern::parse(text).map_err(|error| error.to_string())?;
    let rules = Rules::read(raw);
    let mut problems = rules.problems;
    let given = |name: &str| raw.get(name).filter(|it| **it != Json::Null);
    let mut time = |name: &str| {
        let found = given(name)?;
        let time = found.as_text().and_then(parse_rfc3339);
        if time.is_none() {
            problems.push(ignored(name, "no point in time"));
        }
        time
    };
    let (subscribed_ms, last_activity_ms) = (time(SUBSCRIBED_AT), time(LAST_ACTIVITY_AT));
    let ttl_ms = given(TTL_HOURS).and_then(hours);
    if ttl_ms.is_none() && given(TTL_HOURS).is_some() {
        problems.push(ignored(TTL_HOURS, "no number of hours"));
    }
    let objects = match given(OBJECTS) {
        None => Vec::new(),
        Some(Json::List(items)) => {
            let read = |it: &Json| it.as_text().and_then(Object::parse);
            let objects: Vec<Object> = items.iter().filter_map(read).collect();
            if objects.is_empty() && !items.is_empty() {
                // Not to be taken for a row about everything.
                return Err(format!("`{OBJECTS}` names nothing that is known"));
            }
            if objects.len() < items.len() {
                problems.push(format!("`{OBJECTS}` holds what is no object"));
            }
            objects
        }
        Some(_) => return Err(format!("`{OBJECTS}` is no list")),
    };
    let mut flag = |name: &str| match given(name) {
        None => None,
        Some(Json::Bool(value)) => Some(*value),
        Some(_) => {
            problems.push(ignored(name, "neither true nor false"));
            None
        }
    };
    let subscription = Subscription {
        pattern,
        note: rules.note,
        ttl_ms,
        renew_on_event: flag(RENEW_ON_EVENT).unwrap_or(false),
        muted: rules.muted,
        include: rules.include,
        exclude: rules.exclude,
        objects,
        takes_noise: flag(TAKES_NOISE).unwrap_or(rules.is_exclude_empty),
        subscribed_ms,
        last_activity_ms,
    };
    Ok((subscription, problems))
}

impl FilterRow<'_> {
    /// The row as a program that asked for the list gets it.
    pub fn to_json(&self) -> Json {
        let mut members = vec![(TOPIC.to_owned(), Json::text(&self.text))];
        let mut member = |name: &str, value: Json| members.push((name.to_owned(), value));
        match self.subscription {
            Err(reason) => {
                member("invalid", Json::Bool(true));
                member("reason", Json::text(reason));
            }
            Ok(it) => {
                let time = |ms: u64| Json::Text(print_rfc3339(ms));
                let rule = |it: &Predicate| it.to_json();
                it.note.iter().for_each(|note| member(NOTE, Json::text(note)));
                it.ttl_ms.into_iter().for_each(|ttl| member(TTL_HOURS, to_hours(ttl)));
                if it.renew_on_event {
                    member(RENEW_ON_EVENT, Json::Bool(true));
                }
                if !it.muted.is_empty() {
                    let logins = it.muted.iter().map(|it| Json::text(it.as_str())).collect();
                    member(IGNORE_SENDERS, Json::List(logins));
                }
                it.include.iter().for_each(|it| member(INCLUDE, rule(it)));
                it.exclude.iter().for_each(|it| member(EXCLUDE, rule(it)));
                if !it.objects.is_empty() {
                    // Their names came from outside; how many there are did not.
                    let count = u64::try_from(it.objects.len()).unwrap_or(u64::MAX);
                    member(OBJECTS, Json::Number(Number::integer(count)));
                }
                if it.takes_noise {
                    member(TAKES_NOISE, Json::Bool(true));
                }
                it.subscribed_ms.into_iter().for_each(|ms| member("subscribed", time(ms)));
                it.last_activity_ms.into_iter().for_each(|ms| member("lastActivity", time(ms)));
            }
        }
        if !self.problems.is_empty() {
            member("problems", Json::List(self.problems.iter().map(Json::text).collect()));
        }
        member("expiresIn", Json::Text(self.expiry.to_string()));
        Json::Object(members)
    }
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("expired"),
            Self::In(ms) => match ms.div_ceil(3_600_000) {
                hours @ 0..48 => write!(f, "{hours}h"),
                hours => write!(f, "{}d", hours / 24),
            },
            Self::Pinned => f.write_str("never (pinned)"),
            Self::Undated => f.write_str("never (it has no date)"),
            Self::Dead => f.write_str("never (it matches nothing)"),
        }
    }
}
