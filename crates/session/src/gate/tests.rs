//! Every reason to refuse, and what a passed gate mirrors.

use uuid::Uuid;

use super::*;
use crate::{Agent, Exit, ProcessRef, SessionId, SessionSpec, Timestamp};

const NOW: Timestamp = Timestamp::from_millis(1);

fn name() -> SessionName {
    SessionName::parse("a").unwrap()
}

fn session() -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(1))
}

fn launch(number: u128) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(number))
}

/// A session of generation 2, launched so.
fn world() -> (Registry, LaunchRecord) {
    let mut entry = Entry::new(session(), SessionSpec::new(Agent::Claude));
    entry.generation = 2;
    let registry = Registry::from_parts(vec![(name(), entry)], Vec::new());
    (registry, LaunchRecord::blank(session(), name(), launch(7), Agent::Claude, 2, NOW))
}

fn starting() -> LaunchState {
    let launcher = ProcessRef { pid: 1, start_time: 1, boot_id: String::new() };
    LaunchState::Starting { launcher, at: NOW, agent: None, suspended: false }
}

fn ended(ending: Ending) -> LaunchState {
    let exit = Exit::Code(1);
    LaunchState::Ended { started: NOW, at: NOW, exit, ending, needs_login: false }
}

/// What both gates answer after `change`.
fn check(
    change: impl FnOnce(&mut Registry, &mut LaunchRecord),
    expect: &Result<(), GateRefusal>,
    expect_show: &Result<(), GateRefusal>,
) {
    let (mut registry, mut record) = world();
    change(&mut registry, &mut record);
    let start = check_gate(&registry, false, &record, launch(7));
    assert_eq!(start.map(drop), *expect);
    let show = check_post_mortem_gate(&registry, false, &record, launch(7));
    assert_eq!(show.map(drop), *expect_show);
}

#[test]
fn only_what_is_prepared_starts_and_only_a_post_mortem_is_shown() {
    let used = &Err(GateRefusal::Used { this: launch(7) });
    let nothing = &Err(GateRefusal::NoPostMortem { this: launch(7) });
    check(|_, _| {}, &Ok(()), nothing);
    check(|_, record| record.state = starting(), used, nothing);
    check(|_, record| record.state = ended(Ending::PostMortem), used, &Ok(()));
    for ending in [Ending::Parked, Ending::Interrupted, Ending::Respawn] {
        check(|_, record| record.state = ended(ending), used, nothing);
    }
}

#[test]
fn whatever_changed_since_is_a_reason_to_refuse() {
    let both = |change: fn(&mut Registry, &mut LaunchRecord), refusal: GateRefusal| {
        let refused = Err(refusal);
        check(change, &refused, &refused);
    };
    both(|registry, _| *registry = Registry::default(), GateRefusal::NotListed { name: name() });
    both(
        |registry, _| registry.entry_mut(&name()).unwrap().stopped = true,
        GateRefusal::Stopped { name: name() },
    );
    both(
        |registry, _| registry.entry_mut(&name()).unwrap().generation = 3,
        GateRefusal::OtherGeneration { launch: 2, wanted: 3 },
    );
    both(
        |_, record| record.launch = launch(8),
        GateRefusal::Replaced { this: launch(7), newer: launch(8) },
    );
}

#[test]
fn a_tombstone_refuses_even_what_is_listed() {
    let (registry, record) = world();
    let refused = check_gate(&registry, true, &record, launch(7));
    assert_eq!(refused.map(drop), Err(GateRefusal::Removed { name: name() }));
}

#[test]
fn a_session_that_was_renamed_meanwhile_may_start() {
    let (registry, record) = world();
    let entry = registry.entry(&name()).unwrap().clone();
    let renamed = SessionName::parse("b").unwrap();
    let registry = Registry::from_parts(vec![(renamed.clone(), entry)], Vec::new());
    let (listed_as, _) = check_gate(&registry, false, &record, launch(7)).unwrap();
    assert_eq!(*listed_as, renamed);
}

#[test]
fn a_passed_gate_mirrors_the_run_the_conversation_and_the_consumed_prompt() {
    let (mut registry, mut record) = world();
    registry.entry_mut(&name()).unwrap().spec.initial_prompt = Some("go".to_owned());
    record.prompt = Some("go".to_owned());
    record.conversation = Some("c".to_owned());
    let mut identities = Identities::default();
    mirror_launch(&mut registry, &mut identities, &record);
    let entry = registry.entry(&name()).unwrap();
    assert!(entry.has_run);
    assert_eq!(entry.conversation.as_deref(), Some("c"));
    assert_eq!(entry.spec.initial_prompt, None);
    // Seen in the same transaction, so that an id dropped right afterwards finds its way back.
    assert_eq!(identities.live[&session()].conversations, ["c"]);
}

#[test]
fn a_prompt_written_by_hand_after_the_record_stays() {
    let (mut registry, mut record) = world();
    registry.entry_mut(&name()).unwrap().spec.initial_prompt = Some("new".to_owned());
    record.prompt = Some("go".to_owned());
    mirror_launch(&mut registry, &mut Identities::default(), &record);
    let entry = registry.entry(&name()).unwrap();
    assert_eq!(entry.spec.initial_prompt.as_deref(), Some("new"));
}

#[test]
fn nothing_is_mirrored_into_a_session_that_is_gone() {
    let (_, record) = world();
    let (mut registry, mut identities) = (Registry::default(), Identities::default());
    mirror_launch(&mut registry, &mut identities, &record);
    assert_eq!((registry, identities), Default::default());
}
