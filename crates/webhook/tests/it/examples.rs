//! Real payloads of every kind, from the npm package `@octokit/webhooks-examples`, through
//! everything that is decided about an event and said of it.
//!
//! `AGENT_BOX_WEBHOOK_EXAMPLES` names the package's directory; without it the tests say that they
//! did not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agent_box_event::{
    Audience, Consideration, DeclaredRules, Event, EventKey, Filter, Login, Payload, Policy,
    Refusal, Routed, Source, Subscription, Topic, TopicPattern, consider, derive_text, is_ci,
    is_failing, is_noise, objects_of, route, summary,
};
use agent_box_webhook::{Parsed, from_event_json, to_event_json};
use serde_json::Value;

const VARIABLE: &str = "AGENT_BOX_WEBHOOK_EXAMPLES";
const NOW: u64 = 1_796_124_677_000;

/// One payload, as its sender would have sent it.
struct Example {
    kind: String,
    payload: Parsed,
    topic: Option<Topic>,
    sender: Option<String>,
}

impl Example {
    fn event(&self) -> Event<'_> {
        Event {
            topic: self.topic.as_ref(),
            kind: &self.kind,
            sender: self.sender.as_deref(),
            payload: &self.payload,
        }
    }

    fn name(&self) -> String {
        match self.event().text("action") {
            Some(action) => format!("{}.{action}", self.kind),
            None => self.kind.clone(),
        }
    }
}

fn source() -> Source {
    Source::parse("github").unwrap()
}

/// Every example of the installed package; `None` if it is not installed.
#[expect(clippy::print_stdout, reason = "a test that did not run says so")]
fn examples() -> Option<Vec<Example>> {
    let Some(directory) = std::env::var_os(VARIABLE) else {
        println!("did not run: {VARIABLE} does not name the directory of the npm package");
        return None;
    };
    let path = Path::new(&directory).join("api.github.com/index.json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let Value::Array(kinds) = serde_json::from_slice(&text).unwrap() else { panic!("no list") };
    let mut examples = Vec::new();
    for mut kind in kinds {
        let Value::Array(payloads) = kind["examples"].take() else { panic!("no examples") };
        for payload in payloads.into_iter().map(Parsed) {
            let key = derive_text(payload.at("repository.full_name"));
            let key = key.and_then(|it| EventKey::parse(&it).ok());
            examples.push(Example {
                kind: kind["name"].as_str().unwrap().to_owned(),
                topic: key.map(|key| Topic::new(source(), key)),
                sender: derive_text(payload.at("sender.login")),
                payload,
            });
        }
    }
    Some(examples)
}

fn watch(topic: &Topic) -> Filter {
    let row = Subscription::new(TopicPattern::exactly(topic).unwrap(), NOW);
    Filter { enabled: true, ttl_ms: Some(0), rows: vec![row] }
}

fn usual(watch: &Filter, login: &str) -> Filter {
    let rules = DeclaredRules::usual(&Login::parse(login).unwrap());
    Policy { rules: vec![(watch.rows[0].pattern.clone(), rules)] }.govern(watch)
}

#[test]
fn every_real_payload_has_a_line_that_lacks_nothing() {
    let Some(examples) = examples() else { return };
    let mut lacking = BTreeSet::new();
    for example in &examples {
        assert!(summary::is_known(&example.kind), "{} has no line of its own", example.kind);
        let line = summary::github(&example.event(), &source());
        let text = line.as_str();
        assert!(!text.contains('\n') && text.len() < 8000, "{text}");
        if text.contains("(unknown)") {
            lacking.insert(format!("{}: {text}", example.name()));
        }
        let ours = text.replace("⟪UNTRUSTED:", "");
        assert_eq!(ours.matches('⟫').count(), text.matches("⟪UNTRUSTED:").count(), "{text}");
        let meta = summary::github_meta(&example.event(), &source(), None);
        assert!(meta.iter().any(|it| it.0 == "event" && it.1 == example.kind));
        assert!(meta.iter().all(|(_, value)| !value.is_empty() && value.chars().count() <= 200));
        let generic = summary::generic(&example.event(), &source());
        assert!(!generic.as_str().contains('\n'));
    }
    assert!(lacking.is_empty(), "a field has another name:\n{lacking:#?}");
}

#[test]
fn every_real_payload_is_the_same_after_both_conversions() {
    let Some(examples) = examples() else { return };
    for example in &examples {
        assert_eq!(from_event_json(&to_event_json(&example.payload.0)), example.payload.0);
        let tree = to_event_json(&example.payload.0);
        let event = Event { payload: &tree, ..example.event() };
        assert_eq!(
            summary::github(&event, &source()),
            summary::github(&example.event(), &source()),
            "both parsers see the same"
        );
    }
}

#[test]
fn every_real_payload_is_decided_as_the_contract_says() {
    let Some(examples) = examples() else { return };
    let mut table: BTreeMap<String, [usize; 6]> = BTreeMap::new();
    for example in &examples {
        let event = example.event();
        let count = table.entry(example.kind.clone()).or_default();
        count[0] += 1;
        let Some(topic) = &example.topic else {
            let all = Filter {
                enabled: true,
                ttl_ms: Some(0),
                rows: vec![Subscription::new(TopicPattern::parse("Codertocat/*").unwrap(), NOW)],
            };
            let decided = consider(&all, &event, None, None, &[], &[], NOW);
            assert_eq!(decided, Consideration::Unwatched, "nothing without a key reaches anybody");
            continue;
        };
        count[1] += 1;
        let bare = watch(topic);
        // A running session gets everything but noise.
        let session = route(&bare, &event, Audience::Session, None, NOW);
        let expected = if is_noise(&event) {
            Routed::Refused(vec![(0, Refusal::Noise)])
        } else {
            Routed::Accepted(0)
        };
        assert_eq!(session, expected, "{}", example.name());
        count[2] += usize::from(session == Routed::Accepted(0));
        // A watch without rules starts a session for all but CI that is no failure.
        let decided = consider(&bare, &event, None, None, &[], &[], NOW);
        let expected = if is_ci(event.kind) && !is_failing(&event) {
            Consideration::NotFailing
        } else {
            Consideration::Wanted(0)
        };
        assert_eq!(decided, expected, "{}", example.name());
        count[3] += usize::from(decided == Consideration::Wanted(0));
        // Under the usual rules it does so for what others ask and for what broke.
        let governed = usual(&bare, "some-box");
        let decided = consider(&governed, &event, None, None, &[], &[], NOW);
        let opened = matches!(event.text("action"), Some("opened" | "reopened"))
            && matches!(event.kind, "issues" | "pull_request");
        // The rules ask for a completed run and for a deployment or status that broke.
        let expected = if opened || is_ci(event.kind) && is_failing(&event) {
            Consideration::Wanted(0)
        } else {
            Consideration::Declined(vec![(0, Refusal::NotIncluded)])
        };
        assert_eq!(decided, expected, "{}", example.name());
        count[4] += usize::from(decided == Consideration::Wanted(0));
        count[5] += usize::from(!objects_of(&event).is_empty());
        // Of its own doings only what broke.
        let own = usual(&bare, example.sender.as_deref().unwrap_or("nobody"));
        let decided = consider(&own, &event, None, None, &[], &[], NOW);
        let broke = is_ci(event.kind) && is_failing(&event);
        assert_eq!(decided == Consideration::Wanted(0), broke, "{}", example.name());
    }
    println!("{:32} all keyed session watch usual objects", "kind");
    for (kind, [all, keyed, session, watch, usual, objects]) in &table {
        println!("{kind:32} {all:3} {keyed:5} {session:7} {watch:5} {usual:5} {objects:7}");
    }
    let all: usize = table.values().map(|it| it[0]).sum();
    println!("{all} payloads of {} kinds", table.len());
    // The package's own size, so that an empty or moved catalogue is seen.
    assert!(all > 300 && table.len() >= 58, "{all} payloads of {} kinds", table.len());
}

#[test]
fn what_work_is_about_is_found_in_real_payloads() {
    let Some(examples) = examples() else { return };
    for example in &examples {
        let objects: Vec<String> =
            objects_of(&example.event()).iter().map(ToString::to_string).collect();
        let has = |start: &str| objects.iter().any(|it| it.starts_with(start));
        let fits = match example.kind.as_str() {
            "issues" | "issue_comment" => has("issue:") || has("pr:"),
            "pull_request" | "pull_request_review" | "pull_request_review_comment" => has("pr:"),
            "push" => has("commit:") && has("branch:"),
            "workflow_run" => has("run:") && has("commit:") && has("branch:"),
            "workflow_job" => has("run:") && has("commit:"),
            "check_run" | "check_suite" | "status" | "deployment_status" => has("commit:"),
            _ => true,
        };
        assert!(fits, "{}: {objects:?}", example.name());
    }
}
