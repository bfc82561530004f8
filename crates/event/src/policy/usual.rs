//! The rules that suit most boxes, as data: a watch on an organisation that acts like a colleague.
//!
//! Whoever opens, assigns or asks gets an agent, and so does what broke. All else is left alone:
//! labels, merges, pushes, green results, other people's reviews, and whatever the box did itself.
//! Each clause names its kinds of events, for `opened` is said of milestones too. An edit counts
//! if it brought the mention; one of a text that had it already asks for nothing new.

use crate::ci::FAILING;
use crate::{DeclaredRules, Json, Login, Predicate, Test};

const CHECKED: [&str; 4] = ["workflow_run", "workflow_job", "check_run", "check_suite"];
const COMMENTED: [&str; 4] =
    ["issue_comment", "pull_request_review_comment", "commit_comment", "discussion_comment"];
const BROKEN: [&str; 2] = ["error", "failure"];

impl DeclaredRules {
    /// The usual rules of a box that acts as `me`.
    pub fn usual(me: &Login) -> Self {
        let others = || is_not("sender.login", &[Json::text(me.as_str())]);
        let by_others = |mut clauses: Vec<Predicate>| {
            clauses.push(others());
            Predicate::All(clauses)
        };
        let mention = format!("@{}", me.as_str().trim_end_matches("[bot]"));
        let mentioned = |kinds: &[&str], path: &str, fresh: &[&str]| {
            let asks = Predicate::Leaf(path.to_owned(), Test::Contains(vec![mention.clone()]));
            let before = "changes.body.from";
            let anew = Predicate::All(vec![
                is("action", &["edited"]),
                is_not(before, &[Json::Null]),
                Predicate::Leaf(before.to_owned(), Test::NotContains(vec![mention.clone()])),
            ]);
            by_others(vec![
                is("event", kinds),
                asks,
                Predicate::Any(vec![is("action", fresh), anew]),
            ])
        };
        let work = || is("event", &["issues", "pull_request"]);
        let mut clauses = vec![
            by_others(vec![work(), is("action", &["opened", "reopened"])]),
            by_others(vec![
                work(),
                is("action", &["assigned"]),
                is("assignee.login", &[me.as_str()]),
            ]),
            mentioned(&COMMENTED, "comment.body", &["created"]),
            mentioned(&["pull_request_review"], "review.body", &["submitted"]),
            by_others(vec![
                is("event", &["pull_request_review"]),
                is("action", &["submitted"]),
                is("review.state", &["approved", "changes_requested", "commented"]),
                is("pull_request.user.login", &[me.as_str()]),
            ]),
        ];
        // Whoever's push broke it, the box's included. What does not say how it ended broke.
        let failing = FAILING.into_iter().map(Json::text).chain([Json::Null]);
        let failing = Test::In(failing.collect());
        clauses.extend(CHECKED.map(|run| {
            Predicate::All(vec![
                is("event", &[run]),
                is("action", &["completed"]),
                Predicate::Leaf(format!("{run}.conclusion"), failing.clone()),
            ])
        }));
        for (kind, state) in [("deployment_status", "deployment_status.state"), ("status", "state")]
        {
            clauses.push(Predicate::All(vec![is("event", &[kind]), is(state, &BROKEN)]));
        }
        Self { include: Some(Predicate::Any(clauses)), ..Self::default() }
    }
}

fn is(path: &str, values: &[&str]) -> Predicate {
    let values = values.iter().map(|value| Json::text(*value)).collect();
    Predicate::Leaf(path.to_owned(), Test::In(values))
}

fn is_not(path: &str, values: &[Json]) -> Predicate {
    Predicate::Leaf(path.to_owned(), Test::NotIn(values.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::payload;
    use crate::subscription::tests::row;
    use crate::{Audience, Event, Filter, Policy, Routed, Topic, TopicPattern, route};

    /// Whether a box that acts as `box` would act.
    fn acts(kind: &str, fields: &[(&str, &str)]) -> bool {
        let rules = DeclaredRules::usual(&Login::parse("box").unwrap());
        let pattern = TopicPattern::parse("github:o/*").unwrap();
        let policy = Policy { rules: vec![(pattern, rules)] };
        let filter = Filter { enabled: true, ttl_ms: None, rows: vec![row("github:o/*")] };
        let (topic, payload) = (Topic::parse("github:o/r").unwrap(), payload(fields));
        let event = Event { topic: Some(&topic), kind, sender: None, payload: &payload };
        route(&policy.govern(&filter), &event, Audience::Standing, None, 0) == Routed::Accepted(0)
    }

    fn check(kind: &str, fields: &[(&str, &str)], expected: bool) {
        assert_eq!(acts(kind, fields), expected, "{kind} {fields:?}");
    }

    const JOE: (&str, &str) = ("sender.login", "joe");
    const BOX: (&str, &str) = ("sender.login", "Box");

    #[test]
    fn new_work_and_assignments_by_others_count() {
        for kind in ["issues", "pull_request"] {
            for action in ["opened", "reopened"] {
                check(kind, &[JOE, ("action", action)], true);
                check(kind, &[BOX, ("action", action)], false);
                for other in ["milestone", "code_scanning_alert", "project"] {
                    check(other, &[JOE, ("action", action)], false);
                }
            }
            check(kind, &[JOE, ("action", "assigned"), ("assignee.login", "BOX")], true);
            check(kind, &[BOX, ("action", "assigned"), ("assignee.login", "box")], false);
            check(kind, &[JOE, ("action", "assigned"), ("assignee.login", "joe")], false);
            check(kind, &[JOE, ("action", "unassigned"), ("assignee.login", "box")], false);
            for action in ["closed", "synchronize", "labeled", "edited"] {
                check(kind, &[JOE, ("action", action)], false);
            }
        }
        check("push", &[JOE], false);
        check("release", &[JOE, ("action", "published")], false);
    }

    #[test]
    fn a_mention_counts_once() {
        for kind in COMMENTED {
            let body = ("comment.body", "please, @Box");
            check(kind, &[JOE, ("action", "created"), body], true);
            check(kind, &[BOX, ("action", "created"), body], false);
            check(kind, &[JOE, ("action", "deleted"), body], false);
            check(
                kind,
                &[JOE, ("action", "created"), ("comment.body", "@boxer joe@box.com")],
                false,
            );
            let before = |text| ("changes.body.from", text);
            check(kind, &[JOE, ("action", "edited"), body, before("please")], true);
            check(kind, &[JOE, ("action", "edited"), body, before("pleas, @box")], false);
            check(kind, &[JOE, ("action", "edited"), body], false);
        }
        let body = ("review.body", "@box?");
        check("pull_request_review", &[JOE, ("action", "submitted"), body], true);
        check("pull_request_review", &[JOE, ("action", "dismissed"), body], false);
        check("issues", &[JOE, ("action", "created"), ("comment.body", "@box")], false);
    }

    #[test]
    fn an_app_is_mentioned_without_its_suffix() {
        let rules = DeclaredRules::usual(&Login::parse("my-app[bot]").unwrap());
        let acts = |sender: &str| {
            let fields =
                [("action", "created"), ("comment.body", "@my-app"), ("sender.login", sender)];
            let payload = payload(&fields);
            let event =
                Event { topic: None, kind: "issue_comment", sender: None, payload: &payload };
            rules.include.as_ref().unwrap().matches(&event)
        };
        assert!(acts("joe"));
        assert!(!acts("my-app[bot]"), "its own comments are not for it");
    }

    #[test]
    fn reviews_of_its_own_pull_requests_count() {
        let review = |state, author, sender| {
            let fields = [
                ("action", "submitted"),
                ("review.state", state),
                ("pull_request.user.login", author),
                ("sender.login", sender),
            ];
            acts("pull_request_review", &fields)
        };
        for state in ["approved", "changes_requested", "commented"] {
            assert!(review(state, "BOX", "joe"), "{state}");
            assert!(!review(state, "joe", "ann"), "{state}");
            assert!(!review(state, "box", "box"), "{state}");
        }
        assert!(!review("dismissed", "box", "joe"));
    }

    #[test]
    fn what_broke_counts_whoever_broke_it() {
        for run in CHECKED {
            let end = format!("{run}.conclusion");
            for value in FAILING {
                check(run, &[BOX, ("action", "completed"), (&end, value)], true);
                check(run, &[BOX, ("action", "rerequested"), (&end, value)], false);
                check("issues", &[JOE, ("action", "completed"), (&end, value)], false);
            }
            check(run, &[BOX, ("action", "completed")], true);
            check(run, &[BOX, ("action", "requested")], false);
            for value in ["success", "neutral", "skipped", "cancelled"] {
                check(run, &[JOE, ("action", "completed"), (&end, value)], false);
            }
        }
        check("status", &[BOX, ("state", "error")], true);
        check("status", &[BOX, ("state", "success")], false);
        check("issues", &[JOE, ("state", "error")], false);
        check("deployment_status", &[BOX, ("deployment_status.state", "failure")], true);
        check("deployment_status", &[BOX, ("deployment_status.state", "inactive")], false);
    }

    #[test]
    fn the_rules_can_be_written_into_a_policy() {
        let rules = DeclaredRules::usual(&Login::parse("box").unwrap());
        let include = rules.include.clone().unwrap();
        assert_eq!(Predicate::parse(&include.to_json()), Ok(include));
    }
}
