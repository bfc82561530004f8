//! The supervisor: what it sees, what it decides (production code), and how it carries that out.

use std::collections::{BTreeMap, BTreeSet};

use agent_box_session::{
    Agent, Entry, LaunchRecord, SessionId, check_gate, is_settled, settle_identities,
};
use agent_box_supervisor::plan::{
    Action, EndReason, Intent, Known, LaunchView, Observed, Plan, Terminal, plan,
};

use super::launcher::{end, pid};
use super::operator::keep_generation;
use crate::protocol::config::{Broken, Config};
use crate::protocol::state::{
    EndPhase, Ending, LATE, Launch, Request, START, State, Supervisor, launch_id, mint, name,
    number,
};

/// What the supervisor sees: records and terminal as they were a moment ago, processes as they
/// are now.
pub(super) fn look(
    config: &Config,
    state: &State,
    records: &BTreeMap<SessionId, LaunchRecord>,
    terminal: Option<usize>,
) -> Observed {
    let terminals = terminal.iter().map(|number| Terminal {
        tmux_id: format!("${number}"),
        name: name().as_str().to_owned(),
        session: Some(state.launches[*number].session),
        launch: Some(launch_id(*number)),
        pane_pid: pid(*number),
        foreign: false,
        conversation: None,
    });
    let view = |record: &LaunchRecord| {
        let number = number(record.launch);
        let launch = &state.launches[number];
        let record_known = Known::Known(record.clone());
        if terminal == Some(number) {
            // Only the pane's process is looked at where a terminal is seen.
            return Some(LaunchView {
                record: record_known,
                lock_free: false,
                launcher_alive: launch.launcher_lives(),
                leftovers: false,
            });
        }
        if !state.registry.lists(record.session) && record.launcher().is_none() {
            return None;
        }
        let held = state.launches.iter().any(|it| it.session == record.session && it.lifetime);
        let blind = config.lacks(Broken::NoProof);
        let on_record = record.launcher().is_some();
        // A launcher that is not on record is found by its mark, like anything else.
        let leftovers = launch.has_marked() || (launch.launcher_lives() && !on_record);
        Some(LaunchView {
            record: record_known,
            lock_free: !held || blind,
            launcher_alive: on_record && launch.launcher_lives() && !blind,
            leftovers: leftovers && !blind,
        })
    };
    let views = records.iter().filter_map(|(id, record)| Some((*id, view(record)?)));
    Observed {
        launches: views.collect(),
        terminals: Known::Known(terminals.collect()),
        attempts: BTreeMap::new(),
        busy: BTreeSet::new(),
    }
}

/// The registry and the processes as the supervisor sees them now, and the production plan.
pub fn decide(
    config: &Config,
    state: &State,
    records: &BTreeMap<SessionId, LaunchRecord>,
    terminal: Option<usize>,
) -> Plan {
    let listed = state.registry.entries().filter_map(|(_, entry)| entry.id);
    let removed: BTreeSet<_> = listed.filter(|id| state.identities.is_removed(*id)).collect();
    let unsettled = !removed.is_empty() || !is_settled(&state.registry, &state.identities);
    let intent = Intent { registry: state.registry.clone(), removed, unsettled };
    let observed = look(config, state, records, terminal);
    let mut plan = plan(&Known::Known(intent), &observed, LATE);
    let left_out = |action: &Action| match action {
        Action::End { reason: EndReason::NotListed | EndReason::Stopped, .. } => {
            config.lacks(Broken::NoReaping)
        }
        _ => false,
    };
    plan.actions.retain(|action| !left_out(action));
    plan
}

/// Begins an action.
pub(super) fn take_on(config: &Config, state: &State, action: Option<&Action>) -> Supervisor {
    match action {
        Some(Action::Settle) => Supervisor::Settling,
        Some(Action::Park { session, generation }) => Supervisor::Parking(*session, *generation),
        Some(Action::End { launch, .. }) => {
            Supervisor::Ending(Ending { launch: number(*launch), phase: EndPhase::Tree })
        }
        Some(Action::ShowPostMortem { launch, .. }) => {
            Supervisor::Requesting(number(*launch), Request::Show)
        }
        Some(Action::Start { session, generation, base }) => {
            let Supervisor::SawTerminals(records, _) = &state.supervisor else {
                return Supervisor::Idle;
            };
            let old = records.get(session).cloned();
            let Some((_, entry)) = state.registry.by_id(*session) else { return Supervisor::Idle };
            let record = prepare(config, state, *session, *generation, entry, old.as_ref());
            Supervisor::Writing(Box::new(record), Box::new(base.clone()))
        }
        // There are no untagged terminals here.
        Some(Action::Adopt { .. } | Action::Report { .. }) | None => Supervisor::Idle,
    }
}

/// The record of a new launch, as the harness and the supervisor prepare it.
pub(super) fn prepare(
    config: &Config,
    state: &State,
    session: SessionId,
    generation: u64,
    entry: &Entry,
    old: Option<&LaunchRecord>,
) -> LaunchRecord {
    let launch = launch_id(state.launches.len());
    let mut record = LaunchRecord::blank(session, name(), launch, Agent::Claude, generation, START);
    let recorded = old.and_then(|old| old.prompt.clone());
    record.prompt = entry.spec.initial_prompt.clone().or_else(|| recorded.clone());
    if let Some(old) = old.filter(|_| record.prompt == recorded) {
        record.prompt_handed = old.prompt_handed;
        record.prompt_proven = old.prompt_proven;
    }
    let proven = record.prompt.as_ref().is_some_and(|it| state.ghost.transcripts.contains(it));
    record.prompt_proven |= proven;
    record.carries_prompt = record.prompt.is_some()
        && !record.prompt_proven
        && record.prompt_handed < LaunchRecord::MOST_HANDINGS;
    let known = entry.conversation.clone().or_else(|| old.and_then(|old| old.conversation.clone()));
    record.resumed = known.is_some();
    record.conversation = known.or_else(|| Some(format!("conversation {}", state.launches.len())));
    record.quick_deaths = match old {
        None => config.deaths.unwrap_or(0),
        Some(old) if old.generation == generation => old.quick_deaths,
        Some(_) => 0,
    };
    record
}

/// The supervisor goes on with its task.
pub(super) fn work(config: &Config, state: &mut State) {
    let task = std::mem::replace(&mut state.supervisor, Supervisor::Idle);
    match task {
        Supervisor::Settling => {
            let mut minted = state.minted;
            let mut mint = || mint(&mut minted);
            settle_identities(&mut state.registry, &mut state.identities, &mut mint);
            state.minted = minted;
        }
        Supervisor::Parking(session, generation) => {
            let before = state.entry().cloned();
            state.registry.park(&mut state.identities, session, generation, "a clean exit");
            keep_generation(config, state, before.as_ref());
        }
        Supervisor::Ending(ending) => {
            if let Some(ending) = end(state, ending) {
                state.supervisor = Supervisor::Ending(ending);
            }
        }
        Supervisor::Writing(record, base) => {
            let on_record = state.records.get(&record.session);
            let current = *base == on_record.map(|it| (it.launch, it.state.clone()));
            let wanted = state
                .registry
                .by_id(record.session)
                .is_some_and(|(_, entry)| !entry.stopped && entry.generation == record.generation);
            let wanted = wanted && !state.identities.is_removed(record.session);
            if (current && wanted) || config.lacks(Broken::NoComparing) {
                let launch = state.launches.len();
                state.launches.push(Launch {
                    conversation: record.conversation.clone(),
                    ..Launch::new(record.session)
                });
                state.records.insert(record.session, *record);
                state.supervisor = Supervisor::Requesting(launch, Request::Start);
            }
        }
        Supervisor::Requesting(launch, request) => {
            let checked = !config.lacks(Broken::CheckBeforeTmux)
                || state.records.get(&state.launches[launch].session).is_some_and(|record| {
                    let removed = state.identities.is_removed(record.session);
                    check_gate(&state.registry, removed, record, launch_id(launch)).is_ok()
                });
            if checked {
                state.launches[launch].request = Some(request);
            }
        }
        Supervisor::Idle | Supervisor::SawRecords(_) | Supervisor::SawTerminals(..) => {}
    }
}
