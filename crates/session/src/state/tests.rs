//! The state of a session from what is wanted and what is seen.

use uuid::Uuid;

use super::*;
use crate::{
    Agent, LaunchId, ProcessRef, SessionId, SessionName, SessionSpec, Trouble, TroubleKind,
};

const NOW: Timestamp = Timestamp::from_millis(100_000);

fn entry() -> Entry {
    Entry::new(SessionId::from_uuid(Uuid::from_u128(1)), SessionSpec::new(Agent::Claude))
}

fn record(state: LaunchState) -> LaunchRecord {
    let session = SessionId::from_uuid(Uuid::from_u128(1));
    let launch = LaunchId::from_uuid(Uuid::from_u128(2));
    let name = SessionName::parse("a").unwrap();
    LaunchRecord {
        state,
        ..LaunchRecord::blank(session, name, launch, Agent::Claude, 1, Timestamp::default())
    }
}

fn starting(suspended: bool) -> LaunchState {
    let launcher = ProcessRef { pid: 1, start_time: 1, boot_id: String::new() };
    LaunchState::Starting { launcher, at: NOW, agent: None, suspended }
}

fn ended(exit: Exit, ending: Ending, needs_login: bool) -> LaunchState {
    LaunchState::Ended { started: Timestamp::default(), at: NOW, exit, ending, needs_login }
}

fn unknown() -> LiveView {
    LiveView::Unknown("no answer".to_owned())
}

/// The state of a wanted session with this record.
fn check(state: LaunchState, live: &LiveView, expect: &str) {
    let derived = derive_state(&entry(), Some(&record(state)), live, NOW);
    assert_eq!(derived.to_string(), expect);
}

#[test]
fn a_wanted_session_is_what_its_launch_is() {
    check(LaunchState::Prepared, &LiveView::Absent, "starting");
    check(LaunchState::Prepared, &LiveView::Live, "starting");
    check(starting(false), &LiveView::Live, "live");
    check(starting(true), &LiveView::Live, "suspended");
    check(starting(false), &LiveView::Absent, "starting");
    check(starting(false), &unknown(), "unknown(no answer)");
}

#[test]
fn an_ended_session_says_why_and_what_next() {
    let post_mortem = |code| ended(Exit::Code(code), Ending::PostMortem, false);
    for live in [&LiveView::Live, &LiveView::Absent, &unknown()] {
        check(post_mortem(3), live, "post-mortem(3)");
    }
    let login = ended(Exit::Code(1), Ending::PostMortem, true);
    check(login, &LiveView::Live, "needs-login(sign in, then `restart`)");
    let parked = ended(Exit::Code(0), Ending::Parked, false);
    check(parked, &LiveView::Absent, "stopped(by a clean exit)");
    let died = ended(Exit::Signal(9), Ending::Respawn, false);
    let expect = "backing-off(1, until 1970-01-01T00:01:41.000Z)";
    check(died, &LiveView::Absent, expect);
    let interrupted = ended(Exit::Code(0), Ending::Interrupted, false);
    check(interrupted, &LiveView::Absent, "starting");
}

#[test]
fn a_wait_is_over_exactly_when_it_says_so() {
    let record = record(ended(Exit::Signal(9), Ending::Respawn, false));
    for (millis, expect) in [(999, "backing-off"), (1000, "starting"), (1001, "starting")] {
        let now = Timestamp::from_millis(NOW.as_millis() + millis);
        let state = derive_state(&entry(), Some(&record), &LiveView::Absent, now);
        assert_eq!(state.word(), expect, "{millis}");
    }
}

#[test]
fn a_crash_loop_is_held_with_its_count() {
    let mut record = record(ended(Exit::Signal(9), Ending::Respawn, false));
    record.quick_deaths = Backoff::LIMIT;
    let state = derive_state(&entry(), Some(&record), &LiveView::Absent, NOW);
    assert_eq!(state, SessionState::CrashLooping { deaths: 5 });
}

#[test]
fn what_is_not_wanted_is_stopped_whatever_is_seen() {
    let stopped = Entry { stopped: true, stopped_by: Some("cli".to_owned()), ..entry() };
    for live in [LiveView::Live, LiveView::Absent, unknown()] {
        let state = derive_state(&stopped, Some(&record(starting(false))), &live, NOW);
        assert_eq!(state.to_string(), "stopped(by cli)");
    }
    let by_hand = Entry { stopped: true, ..entry() };
    let state = derive_state(&by_hand, None, &LiveView::Absent, NOW);
    assert_eq!(state.to_string(), "stopped(by operator)");
}

#[test]
fn a_newer_intent_hides_the_older_launch() {
    let newer = Entry { generation: 2, ..entry() };
    let failed = record(ended(Exit::Code(1), Ending::PostMortem, false));
    for live in [LiveView::Live, LiveView::Absent] {
        assert_eq!(derive_state(&newer, Some(&failed), &live, NOW), SessionState::Starting);
    }
}

#[test]
fn trouble_is_an_error_with_its_text() {
    let mut record = record(LaunchState::Prepared);
    record.trouble = Some(Trouble {
        kind: TroubleKind::NotInstalled,
        text: "claude is not installed".to_owned(),
        at: NOW,
        attempts: 1,
    });
    let state = derive_state(&entry(), Some(&record), &LiveView::Absent, NOW);
    assert_eq!(state.to_string(), "error(claude is not installed)");
    let mut without = entry();
    without.spec.agent = None;
    let state = derive_state(&without, None, &LiveView::Absent, NOW);
    assert_eq!(state.word(), "error");
}
