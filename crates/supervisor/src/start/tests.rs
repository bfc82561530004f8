//! Of two starts that chose one conversation, one gets it.

use agent_box_session::{
    Agent, Entry, Identities, LaunchId, LaunchRecord, Registry, SessionId, SessionName,
    SessionSpec, Timestamp,
};
use uuid::Uuid;

use super::beside::claim_conversation;

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
