//! Deliveries decided under all that can be known.

use agent_box_event::{
    BodyDigest, DeliveryId, EventKey, Muted, Object, Source, Subscription, Topic, WaitReason,
};
use serde_json::json;

use super::*;
use crate::engine::roster::tests::{queue, roster};
use crate::inbox::{Format, Relation};

const T: u64 = 1_800_000_000_000;
const HOUR: u64 = 3_600_000;

fn delivery(kind: &str, key: Option<&str>) -> Delivery {
    Delivery {
        sequence: 1,
        source: Source::parse("github").unwrap(),
        format: Format::GitHub,
        kind: kind.to_owned(),
        key: key.map(|key| EventKey::parse(key).unwrap()),
        sender: Some("joe".to_owned()),
        id: DeliveryId::parse("d-1").unwrap(),
        is_id_ours: false,
        digest: BodyDigest([0; 32]),
        size: 0,
        received_ms: T,
        relation: Relation::New,
        duplicates: 0,
        duplicate_ms: None,
        state: DeliveryState::Received,
        settled_ms: None,
    }
}

fn row(pattern: &str) -> Subscription {
    Subscription::new(TopicPattern::parse(pattern).unwrap(), T)
}

fn filter(rows: Vec<Subscription>) -> Filter {
    Filter { enabled: true, ttl_ms: None, rows }
}

fn session(key: &str, rows: Vec<Subscription>) -> SessionFilter {
    SessionFilter { key: key.to_owned(), filter: filter(rows), heard_ms: None }
}

/// What is known in a test, owned.
struct World {
    watches: Filter,
    sessions: Vec<SessionFilter>,
    roster: Roster,
    leases: Vec<Lease>,
    now_ms: u64,
}

impl World {
    fn new(watches: Vec<Subscription>, sessions: Vec<SessionFilter>) -> Self {
        let roster = roster(&[("i1", "main", true), ("i2", "two", true)]);
        Self { watches: filter(watches), sessions, roster, leases: Vec::new(), now_ms: T }
    }

    fn known(&self) -> Known<'_> {
        Known {
            watches: &self.watches,
            sessions: &self.sessions,
            roster: &self.roster,
            leases: &self.leases,
            me: None,
            minimum: None,
            now_ms: self.now_ms,
        }
    }

    fn decide(&self, delivery: &Delivery) -> Effects {
        decide(delivery, &issue(), self.known(), || Fence::new(7))
    }

    fn ask_again(&self, has_it: bool) -> Again {
        ask_again(&delivery("issues", Some("o/r")), &issue(), self.known(), |_| has_it)
    }
}

fn issue() -> Parsed {
    Parsed(json!({"action": "opened", "issue": {"number": 7, "title": "t"}}))
}

fn lease() -> Lease {
    Lease {
        session: "i1".to_owned(),
        topic: Topic::parse("github:o/r").unwrap(),
        objects: vec![Object::Issue(7)],
        renewed_ms: T,
    }
}

#[test]
fn whoever_is_subscribed_is_told_and_the_watch_makes_it_wait() {
    let sessions = vec![
        session("alice-main", vec![row("o/r")]),
        session("alice-two", vec![row("o/other")]),
        session("alice-gone", vec![row("o/*")]),
    ];
    let effects = World::new(vec![row("o/*")], sessions).decide(&delivery("issues", Some("o/r")));
    assert_eq!(effects.state, DeliveryState::Matched);
    let told: Vec<&SessionRef> = effects.tells.iter().map(|tell| &tell.session).collect();
    assert_eq!(told, [&queue("alice-main", Some("i1"))]);
    let text = &effects.tells[0].text;
    assert!(text.contains("subscribed to github:o/r <1h ago"), "{text}");
    assert!(text.contains("(delivery ⟪UNTRUSTED:d-1⟫)"), "{text}");
    let wait = effects.wait.unwrap();
    assert_eq!((wait.watch.to_string().as_str(), wait.reason), ("github:o/*", WaitReason::Window));
    assert_eq!(effects.note.unwrap(), "alice-gone subscribed and is gone");
    let rows: Vec<String> = effects.delivered.iter().map(|it| format!("{it:?}")).collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
}

#[test]
fn every_decline_says_why() {
    let check = |world: &World, delivery: &Delivery, expected: &str| {
        let effects = world.decide(delivery);
        let DeliveryState::Declined(why) = &effects.state else { panic!("{effects:?}") };
        assert!(why.contains(expected), "{why}");
        assert!(effects.tells.is_empty() && effects.wait.is_none());
    };
    let nobody = World::new(Vec::new(), Vec::new());
    check(&nobody, &delivery("issues", None), "names nothing that it is about");
    check(&nobody, &delivery("issues", Some("o/r")), "nobody is subscribed");
    let mut muted = row("o/r");
    muted.muted = vec![Muted::Sender("JOE".to_owned())];
    let world = World::new(vec![muted.clone()], vec![session("alice-main", vec![muted])]);
    let why = "alice-main (github:o/r): the sender is muted; the standing watch (github:o/r): \
               the sender is muted";
    check(&world, &delivery("issues", Some("o/r")), why);
    let world = World::new(vec![row("o/r")], Vec::new());
    let ci = delivery("check_run", Some("o/r"));
    check(&world, &ci, "no standing watch asks for CI results that are no failure");
    let gone = World::new(Vec::new(), vec![session("alice-gone", vec![row("o/r")])]);
    check(&gone, &delivery("issues", Some("o/r")), "alice-gone subscribed and is gone");
}

#[test]
fn nobody_is_gone_while_nobody_can_say_who_is_there() {
    let mut world = World::new(Vec::new(), vec![session("alice-gone", vec![row("o/r")])]);
    world.roster.status = None;
    let effects = world.decide(&delivery("issues", Some("o/r")));
    assert_eq!(effects.tells[0].session, queue("alice-gone", None));
}

/// Seen red with rows that are judged by the present.
#[test]
fn downtime_declines_nothing() {
    let sessions = vec![session("alice-main", vec![row("o/r")])];
    let mut world = World::new(vec![row("o/r")], sessions);
    world.now_ms = T + 100 * HOUR;
    let effects = world.decide(&delivery("issues", Some("o/r")));
    assert_eq!((effects.tells.len(), effects.wait.is_some()), (1, true));
    let late = Delivery { received_ms: T + 2 * HOUR, ..delivery("issues", Some("o/r")) };
    assert_eq!(world.decide(&late).tells, [], "it came after the subscription had ended");
}

#[test]
fn what_a_session_works_on_waits_for_it_and_is_withdrawn_once_it_has_it() {
    let mut world = World::new(vec![row("o/r")], vec![session("alice-main", vec![row("o/r")])]);
    world.leases = vec![lease()];
    let effects = world.decide(&delivery("issues", Some("o/r")));
    assert_eq!(effects.wait.unwrap().reason, WaitReason::Claim);
    assert_eq!(effects.tells.len(), 1, "the owner is told");
    assert_eq!(world.ask_again(false), Again::Claimed);
    let withdrawn = "session i1 was started for the same thing".to_owned();
    assert_eq!(world.ask_again(true), Again::Withdrawn(withdrawn));
    world.roster = roster(&[("i2", "two", true)]);
    assert!(matches!(world.ask_again(false), Again::Wanted { .. }), "the owner is gone");
    world.roster.status = None;
    assert_eq!(world.ask_again(false), Again::Claimed, "nobody knows");
    world.watches.rows.clear();
    let Again::Withdrawn(why) = world.ask_again(false) else { panic!("still wanted") };
    assert!(why.contains("was removed"), "{why}");
}

#[test]
fn a_session_that_listens_and_declared_it_owns_it_while_it_is_heard() {
    let mut declared = row("o/r");
    declared.include = Some(agent_box_event::Predicate::All(Vec::new()));
    let mut listener = session("alice-main", vec![declared]);
    listener.heard_ms = Some(T);
    let mut world = World::new(vec![row("o/r")], vec![listener]);
    assert_eq!(world.ask_again(false), Again::Claimed);
    world.now_ms = T + agent_box_event::LISTENER_MS;
    assert!(matches!(world.ask_again(false), Again::Wanted { .. }));
}
