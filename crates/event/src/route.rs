//! Which row of a filter, if any, wants an event.
//!
//! Several rows may match one topic: any that accepts delivers, and the first of those gives the
//! note. Every refusal has a reason, for "why did nothing happen" must have an answer.

use crate::{Event, Filter, Login, Subscription, is_ci, is_failing, is_noise, objects_of};

/// For whom a filter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A running session; it sees every CI result, its own included, and is spared noise.
    Session,
    /// The box, which starts a session; only a failing CI result overrides muting.
    Standing,
}

/// Why a row whose topic matches does not want an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The noise layer.
    Noise,
    /// Its `exclude` matches.
    Excluded,
    /// Its `include` does not match.
    NotIncluded,
    /// It is about none of the row's objects.
    OtherObject,
    /// Whoever acted is muted.
    Muted,
}

impl Refusal {
    /// The reason as a deliveries list shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Noise => "noise; subscribe with an empty exclude to get it",
            Self::Excluded => "the exclude rule matches",
            Self::NotIncluded => "the include rule does not match",
            Self::OtherObject => "it is not about what the session was started for",
            Self::Muted => "the sender is muted",
        }
    }
}

/// What one row says about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is about something else, or its time is over.
    OffTopic,
    /// The topic is right, but.
    Refused(Refusal),
    /// Deliver.
    Accepted,
}

/// What a filter says about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed {
    /// The filter is switched off.
    Disabled,
    /// No row is about this, or the event has no key.
    OffTopic,
    /// Rows are about this and none wants it: their places in the filter, each with its reason.
    Refused(Vec<(usize, Refusal)>),
    /// The first row that wants it.
    Accepted(usize),
}

impl Subscription {
    /// What this row says about an event, leaving its lifetime aside.
    pub fn judge(&self, event: &Event<'_>, audience: Audience, me: Option<&Login>) -> Verdict {
        if !event.topic.is_some_and(|topic| self.pattern.matches(topic)) {
            return Verdict::OffTopic;
        }
        if audience == Audience::Session && !self.takes_noise && is_noise(event) {
            return Verdict::Refused(Refusal::Noise);
        }
        if self.exclude.as_ref().is_some_and(|rule| rule.matches(event)) {
            return Verdict::Refused(Refusal::Excluded);
        }
        if self.include.as_ref().is_some_and(|rule| !rule.matches(event)) {
            return Verdict::Refused(Refusal::NotIncluded);
        }
        if !self.objects.is_empty()
            && !objects_of(event).iter().any(|object| self.objects.contains(object))
        {
            return Verdict::Refused(Refusal::OtherObject);
        }
        // INVARIANT: muting is looked at after the exemption of CI, and no layer but the owner's
        // own rules switches the exemption off (muting_yourself_never_hides_your_own_ci).
        let is_exempt = !self.is_declarative()
            && is_ci(event.kind)
            && (audience == Audience::Session || is_failing(event));
        let is_muted = |sender| self.muted.iter().any(|muted| muted.is(sender, me));
        if !is_exempt && event.sender.is_some_and(is_muted) {
            return Verdict::Refused(Refusal::Muted);
        }
        Verdict::Accepted
    }
}

impl Filter {
    /// What each row says, rows whose time is over being off topic.
    pub(crate) fn verdicts<'a>(
        &'a self,
        event: &'a Event<'_>,
        audience: Audience,
        me: Option<&'a Login>,
        now_ms: u64,
    ) -> impl Iterator<Item = Verdict> + 'a {
        self.rows.iter().map(move |row| {
            if row.is_expired(self.ttl_ms, now_ms) {
                Verdict::OffTopic
            } else {
                row.judge(event, audience, me)
            }
        })
    }
}

/// Asks a filter about an event; `me` is what the box acts as, if that is known.
pub fn route(
    filter: &Filter,
    event: &Event<'_>,
    audience: Audience,
    me: Option<&Login>,
    now_ms: u64,
) -> Routed {
    if !filter.enabled {
        return Routed::Disabled;
    }
    let mut refusals = Vec::new();
    for (index, verdict) in filter.verdicts(event, audience, me, now_ms).enumerate() {
        match verdict {
            Verdict::Accepted => return Routed::Accepted(index),
            Verdict::Refused(refusal) => refusals.push((index, refusal)),
            Verdict::OffTopic => {}
        }
    }
    if refusals.is_empty() { Routed::OffTopic } else { Routed::Refused(refusals) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::payload;
    use crate::subscription::tests::row;
    use crate::{Json, Muted, Object, Predicate, Test, Topic};

    fn rule(path: &str, value: &str) -> Predicate {
        Predicate::Leaf(path.to_owned(), Test::In(vec![Json::text(value)]))
    }

    fn judged(row: &Subscription, kind: &str, fields: &[(&str, &str)], who: Audience) -> Verdict {
        let (topic, payload) = (Topic::parse("github:o/r").unwrap(), payload(fields));
        let event = Event { topic: Some(&topic), kind, sender: Some("ME"), payload: &payload };
        row.judge(&event, who, Some(&Login::parse("me").unwrap()))
    }

    const BROKE: &[(&str, &str)] = &[("action", "completed"), ("check_run.conclusion", "failure")];
    const WELL: &[(&str, &str)] = &[("action", "completed"), ("check_run.conclusion", "success")];

    #[test]
    fn muting_yourself_never_hides_your_own_ci() {
        let mut it = row("o/r");
        it.muted = vec![Muted::Myself];
        let noise = rule("event", "star");
        for exclude in [None, Some(noise)] {
            it.exclude = exclude;
            let (session, standing) = (Audience::Session, Audience::Standing);
            assert_eq!(judged(&it, "check_run", BROKE, session), Verdict::Accepted);
            assert_eq!(judged(&it, "check_run", BROKE, standing), Verdict::Accepted);
            assert_eq!(judged(&it, "check_run", WELL, session), Verdict::Accepted);
            let muted = Verdict::Refused(Refusal::Muted);
            assert_eq!(judged(&it, "check_run", WELL, standing), muted);
            assert_eq!(judged(&it, "push", &[], session), muted);
        }
        it.objects = vec![Object::Commit("abc".to_owned())];
        let ours = [BROKE, &[("check_run.head_sha", "abc")]].concat();
        assert_eq!(judged(&it, "check_run", &ours, Audience::Session), Verdict::Accepted);
        let other = Verdict::Refused(Refusal::OtherObject);
        assert_eq!(judged(&it, "check_run", BROKE, Audience::Session), other);
        it.objects.clear();
        it.include = Some(rule("action", "completed"));
        let muted = Verdict::Refused(Refusal::Muted);
        assert_eq!(judged(&it, "check_run", BROKE, Audience::Session), muted, "rules decide");
    }

    #[test]
    fn rules_and_noise_come_before_muting() {
        let mut it = row("o/r");
        assert_eq!(judged(&it, "star", &[], Audience::Session), Verdict::Refused(Refusal::Noise));
        assert_eq!(judged(&it, "star", &[], Audience::Standing), Verdict::Accepted);
        it.takes_noise = true;
        assert_eq!(judged(&it, "star", &[], Audience::Session), Verdict::Accepted);
        it.include = Some(rule("event", "push"));
        assert_eq!(
            judged(&it, "star", &[], Audience::Session),
            Verdict::Refused(Refusal::NotIncluded)
        );
        it.exclude = Some(rule("event", "push"));
        assert_eq!(
            judged(&it, "push", &[], Audience::Session),
            Verdict::Refused(Refusal::Excluded),
            "exclude wins"
        );
        it.include = Some(Predicate::Malformed(Json::Null));
        it.exclude = Some(Predicate::Malformed(Json::Null));
        assert_eq!(
            judged(&it, "push", &[], Audience::Session),
            Verdict::Refused(Refusal::NotIncluded),
            "an unreadable include mutes, an unreadable exclude lets through"
        );
    }

    #[test]
    fn nothing_fails_open_and_the_most_permissive_row_wins() {
        let topic = Topic::parse("github:o/r").unwrap();
        let body = payload(&[]);
        let event = Event { topic: Some(&topic), kind: "push", sender: None, payload: &body };
        let now = row("o/r").subscribed_ms.unwrap();
        let ask = |rows: &[Subscription], enabled, event: &Event<'_>, now| {
            let filter = Filter { enabled, ttl_ms: None, rows: rows.to_vec() };
            route(&filter, event, Audience::Session, None, now)
        };
        let mut closed = row("o/*");
        closed.exclude = Some(rule("event", "push"));
        assert_eq!(ask(&[], true, &event, now), Routed::OffTopic);
        assert_eq!(ask(&[row("o/other")], true, &event, now), Routed::OffTopic);
        assert_eq!(ask(&[row("o/r")], false, &event, now), Routed::Disabled);
        let keyless = Event { topic: None, ..event };
        assert_eq!(ask(&[row("o/*")], true, &keyless, now), Routed::OffTopic);
        let refused = Routed::Refused(vec![(0, Refusal::Excluded)]);
        assert_eq!(ask(std::slice::from_ref(&closed), true, &event, now), refused);
        assert_eq!(ask(&[closed.clone(), row("o/r")], true, &event, now), Routed::Accepted(1));
        let end = now + Subscription::DEFAULT_TTL_MS;
        for (now, expected) in [(end - 1, Routed::Accepted(0)), (end, Routed::Accepted(0))] {
            assert_eq!(ask(&[row("o/r")], true, &event, now), expected);
        }
        assert_eq!(ask(&[row("o/r")], true, &event, end + 1), Routed::OffTopic);
    }
}
