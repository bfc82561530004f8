//! Of two starts that chose one conversation, one gets it; and an end is told once.

use std::ffi::OsString;
use std::path::Path;

use agent_box_harness::{Harness, Surroundings};
use agent_box_session::paths::Paths;
use agent_box_session::{
    Agent, Entry, Exit, Identities, LaunchId, LaunchRecord, LaunchState, ProcessRef, Registry,
    SessionId, SessionName, SessionSpec, Timestamp, WebhookPaths,
};
use agent_box_session_store::{Change, EventKind, Filter, Store};
use agent_box_tmux_driver::{Server, StartPolicy, Tmux};
use uuid::Uuid;

use super::beside::claim_conversation;
use super::{Planned, Starter};
use crate::subscriptions::Subscriptions;
use crate::tasks::report_start;

fn session(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
}

fn record(number: u128, conversation: &str) -> LaunchRecord {
    let launch = LaunchId::from_uuid(Uuid::from_u128(number + 100));
    let name = SessionName::parse(&format!("s{number}")).unwrap();
    let now = Timestamp::default();
    let blank = LaunchRecord::blank(session(number), name, launch, Agent::Claude, 1, now);
    LaunchRecord { conversation: Some(conversation.to_owned()), ..blank }
}

#[test]
fn a_conversation_is_claimed_by_one_session_and_kept_by_it() {
    let mut entries = Vec::new();
    let mut identities = Identities::default();
    for number in [1, 2] {
        let name = SessionName::parse(&format!("s{number}")).unwrap();
        let entry = Entry::new(session(number), SessionSpec::new(Agent::Claude));
        identities.see(&name, &entry);
        entries.push((name, entry));
    }
    let registry = Registry::from_parts(entries, Vec::new());
    assert!(claim_conversation(&registry, &mut identities, &record(1, "shared")));
    assert!(!claim_conversation(&registry, &mut identities, &record(2, "shared")));
    assert!(claim_conversation(&registry, &mut identities, &record(1, "shared")));
    assert!(claim_conversation(&registry, &mut identities, &record(2, "own")));
}

/// A box whose only session wants an agent that is not installed.
fn starter(home: &Path) -> (Starter, SessionId) {
    let paths = Paths::new(home, home.join("socket"));
    let store = Store::open(paths.clone()).unwrap();
    let spec = SessionSpec::new(Agent::Other("missing".to_owned()));
    let change = Change::Operator { by: "test".to_owned(), summary: "add".to_owned() };
    let name = SessionName::parse("one").unwrap();
    let added = store.transact(change, |tx| tx.add(name, spec, "test")).unwrap();
    let webhook = WebhookPaths::of_home(home);
    let surroundings = Surroundings {
        paths,
        webhook: webhook.clone(),
        user: "ann".to_owned(),
        host: None,
        program: "/bin/false".into(),
        agents: vec![(Agent::Claude, "/bin/false".into())],
        search_path: OsString::new(),
        shell: "/bin/sh".into(),
        root: false,
        sandbox: false,
        codex_full_access: false,
        agents_pointer: None,
        claude_guide_target: None,
        inherited: Vec::new(),
        inherit: Vec::new(),
    };
    let tmux = Tmux::new(Server {
        binary: "/bin/false".into(),
        socket: home.join("socket"),
        start: StartPolicy::Never,
        environment: Vec::new(),
    });
    let starter = Starter {
        store,
        tmux,
        harness: Harness::new(surroundings),
        subscriptions: Subscriptions { paths: webhook, user: "ann".to_owned() },
        program: "/bin/false".into(),
        launcher_environment: Vec::new(),
        grace_ms: 0,
    };
    (starter, added)
}

#[test]
fn a_launcher_that_reported_its_end_is_not_said_to_have_vanished() {
    let home = tempfile::tempdir().unwrap();
    let (starter, session) = starter(home.path());
    let ends = || {
        let filter = Filter { session: Some(session), name: None };
        let events = starter.store.journal().read(&filter, 100).unwrap();
        events.into_iter().filter(|event| event.kind == EventKind::Exit).count()
    };
    let at = Timestamp::from_millis(1);
    let launcher = ProcessRef { pid: 1, start_time: 1, boot_id: String::new() };
    let starting = LaunchState::Starting { launcher, at, agent: None, suspended: false };
    let name = SessionName::parse("one").unwrap();
    let launch = starter.store.mint_launch();
    let agent = Agent::Other("missing".to_owned());
    let mut record = LaunchRecord::blank(session, name, launch, agent, 1, at);
    // It was seen starting; then its launcher wrote how it ended, and said so in the journal.
    let planned = Planned { session, generation: 1, base: Some((launch, starting.clone())) };
    record.end(at, at, Exit::Signal(1), true);
    starter.store.write_launch(&record).unwrap();
    report_start(&starter, &planned);
    assert_eq!(ends(), 0, "the launcher says it");

    // Nobody wrote anything: it did vanish, and that is told once.
    record.state = starting;
    starter.store.write_launch(&record).unwrap();
    report_start(&starter, &planned);
    report_start(&starter, &planned);
    assert_eq!(ends(), 1);
}
