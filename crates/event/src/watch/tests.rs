//! Each way in which an event starts nothing, and the order in which they are looked at.

use super::*;
use crate::event::tests::payload;
use crate::subscription::tests::row;
use crate::{Holder, Json, LEASE_MS, Lease, Muted, Object, Predicate, Subscription, Test, Topic};

const T: u64 = 1_000_000_000;

fn filter(rows: &[Subscription]) -> Filter {
    Filter { enabled: true, ttl_ms: Some(0), rows: rows.to_vec() }
}

fn rule(path: &str, value: &str) -> Predicate {
    Predicate::Leaf(path.to_owned(), Test::In(vec![Json::text(value)]))
}

/// A considered event of `joe` on `github:o/r`.
struct Case<'a> {
    kind: &'a str,
    fields: &'a [(&'a str, &'a str)],
    watches: Vec<Subscription>,
    minimum: Option<Association>,
    claims: Vec<Claim<'a>>,
    listeners: Vec<Listener<'a>>,
}

impl Case<'_> {
    fn new(kind: &'static str, fields: &'static [(&'static str, &'static str)]) -> Self {
        let watches = vec![row("o/*")];
        Self { kind, fields, watches, minimum: None, claims: vec![], listeners: vec![] }
    }
}

impl<'a> Case<'a> {
    fn at(&self, now: u64) -> Consideration<'a> {
        let (topic, payload) = (Topic::parse("github:o/r").unwrap(), payload(self.fields));
        let event =
            Event { topic: Some(&topic), kind: self.kind, sender: Some("joe"), payload: &payload };
        let me = Login::parse("joe").unwrap();
        let watches = filter(&self.watches);
        consider(&watches, &event, Some(&me), self.minimum, &self.claims, &self.listeners, now)
    }
}

const BROKE: &[(&str, &str)] = &[("workflow_run.conclusion", "failure"), ("workflow_run.id", "9")];
const WELL: &[(&str, &str)] = &[("workflow_run.conclusion", "success")];

#[test]
fn an_event_is_wanted_by_the_first_row_that_accepts() {
    assert_eq!(Case::new("issues", &[]).at(T), Consideration::Wanted(0));
    assert_eq!(Case::new("star", &[]).at(T), Consideration::Wanted(0), "noise is for sessions");
    let mut case = Case::new("issues", &[]);
    case.watches = vec![row("o/other")];
    assert_eq!(case.at(T), Consideration::Unwatched);
    let mut muting = row("o/r");
    muting.muted = vec![Muted::Myself];
    case.watches = vec![muting.clone()];
    assert_eq!(case.at(T), Consideration::Declined(vec![(0, Refusal::Muted)]));
    case.watches.push(row("o/r"));
    assert_eq!(case.at(T), Consideration::Wanted(1));
    let mut broke = Case::new("workflow_run", BROKE);
    broke.watches = vec![muting];
    assert_eq!(broke.at(T), Consideration::Wanted(0), "a failure overrides muting");
}

#[test]
fn ci_that_is_no_failure_starts_nothing_unless_a_rule_asks_for_it() {
    let mut case = Case::new("workflow_run", WELL);
    assert_eq!(case.at(T), Consideration::NotFailing);
    case.watches[0].include = Some(rule("workflow_run.conclusion", "success"));
    assert_eq!(case.at(T), Consideration::Wanted(0));
}

#[test]
fn strangers_are_gated_where_that_is_asked() {
    let mut case = Case::new("issues", &[("issue.user.login", "joe")]);
    case.minimum = Some(Association::Contributor);
    assert_eq!(case.at(T), Consideration::Gated);
}

#[test]
fn a_lease_keeps_siblings_out_until_it_is_lost() {
    let lease = Lease {
        session: "hook".to_owned(),
        topic: Topic::parse("github:o/r").unwrap(),
        objects: vec![Object::Run(9), Object::Issue(7)],
        renewed_ms: T,
    };
    let owned = Consideration::Owned("hook", Ownership::Lease);
    for (kind, fields) in [("workflow_run", BROKE), ("issues", &[("issue.number", "7")])] {
        let mut case = Case::new(kind, fields);
        case.claims = vec![Claim { lease: &lease, holder: Holder::Alive }];
        assert_eq!(case.at(T), owned);
        assert_eq!(case.at(T + LEASE_MS - 1), owned);
        assert_eq!(case.at(T + LEASE_MS), Consideration::Wanted(0));
        assert_eq!(case.at(T + LEASE_MS + 1), Consideration::Wanted(0));
        case.claims[0].holder = Holder::Gone;
        assert_eq!(case.at(T), Consideration::Wanted(0));
    }
    let mut other = Case::new("issues", &[("issue.number", "8")]);
    other.claims = vec![Claim { lease: &lease, holder: Holder::Alive }];
    assert_eq!(other.at(T), Consideration::Wanted(0), "another issue is another's work");
}

/// Seen red with a subscription of the whole topic, which kept every failing run of the
/// repository from starting anything.
#[test]
fn a_session_that_was_started_for_one_thing_owns_that_and_nothing_else_of_its_topic() {
    let mut seeded = row("o/r");
    seeded.objects = vec![Object::Run(9), Object::PullRequest(7)];
    let filter = filter(&[seeded]);
    let ask = |kind, fields| {
        let mut case = Case::new(kind, fields);
        case.listeners = vec![Listener { session: "hook", filter: &filter, heard_ms: T }];
        case.at(T)
    };
    let owned = Consideration::Owned("hook", Ownership::Subscribed);
    assert_eq!(ask("workflow_run", BROKE), owned);
    let other = &[("workflow_run.conclusion", "failure"), ("workflow_run.id", "10")];
    assert_eq!(ask("workflow_run", other), Consideration::Wanted(0));
    let declared = Consideration::Owned("hook", Ownership::Declared);
    assert_eq!(ask("pull_request_review", &[("pull_request.number", "7")]), declared);
    let other = ask("pull_request_review", &[("pull_request.number", "8")]);
    assert_eq!(other, Consideration::Wanted(0));
}

#[test]
fn a_listening_session_owns_ci_and_what_it_declared() {
    let plain = filter(&[row("o/r")]);
    let mut declaring = row("o/r");
    declaring.include = Some(rule("event", "issues"));
    let declared = filter(&[row("o/r"), declaring]);
    let mut excluding = row("o/r");
    excluding.exclude = Some(rule("event", "push"));
    let excluding = filter(&[excluding]);
    let off = Filter { enabled: false, ..plain.clone() };
    let ask = |kind, fields, filter, now| {
        let mut case = Case::new(kind, fields);
        case.listeners = vec![Listener { session: "main", filter, heard_ms: T }];
        case.at(now)
    };
    let subscribed = Consideration::Owned("main", Ownership::Subscribed);
    let wanted = Consideration::Wanted(0);
    assert_eq!(ask("workflow_run", BROKE, &plain, T), subscribed);
    assert_eq!(ask("workflow_run", BROKE, &plain, T + LISTENER_MS - 1), subscribed);
    assert_eq!(ask("workflow_run", BROKE, &plain, T + LISTENER_MS), wanted);
    assert_eq!(ask("workflow_run", BROKE, &plain, T + LISTENER_MS + 1), wanted);
    assert_eq!(ask("workflow_run", BROKE, &off, T), wanted);
    assert_eq!(ask("issues", &[], &plain, T), wanted);
    assert_eq!(ask("issues", &[], &excluding, T), wanted);
    assert_eq!(ask("issues", &[], &declared, T), Consideration::Owned("main", Ownership::Declared));
    assert_eq!(ask("pull_request", &[], &declared, T), wanted, "covers only what it declares");
}
