//! What must hold in every state, and what must hold whenever nothing is left to be done.

use stateright::{Checker, Model, Property};

use super::actors::{Step, decide, is_held, steps, take};
use super::config::Config;
use super::state::{Deleter, Fault, Launcher, Process, State, Supervisor, Verb, Wish};

/// One promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Two agents of one session, or on one conversation, never run at once.
    OneAgent,
    /// Once `rm` returned, nothing of the session runs.
    RemovedIsGone,
    /// A session never gets a removed session's conversation or prompt.
    NothingInherited,
    /// A prompt that a transcript holds is not handed over again, and none more than three times.
    PromptBounded,
    /// At rest nothing unwanted is there.
    NothingUnwanted,
    /// At rest a removed session is not listed, under its old id or a new one.
    RemovedStaysRemoved,
    /// At rest what is wanted runs in its terminal, or waits for a person with a reason.
    WantedIsLive,
    /// At rest a running session was handed its prompt.
    PromptDelivered,
    /// At rest the newest `restart`, `stop` or re-enabling had its effect.
    IntentKept,
}

/// The first promise that this state breaks.
pub fn broken_claim(config: &Config, state: &State) -> Option<Claim> {
    broken_at_once(state)
        .or_else(|| if is_at_rest(config, state) { broken_at_rest(state) } else { None })
}

fn broken_at_once(state: &State) -> Option<Claim> {
    match state.ghost.fault {
        Some(Fault::Inherited) => return Some(Claim::NothingInherited),
        Some(Fault::Repeated | Fault::TooOften) => return Some(Claim::PromptBounded),
        None => {}
    }
    let running: Vec<_> = state.launches.iter().filter(|it| it.agent_runs()).collect();
    for (position, one) in running.iter().enumerate() {
        for other in &running[..position] {
            if one.session == other.session || one.conversation == other.conversation {
                return Some(Claim::OneAgent);
            }
        }
    }
    let removed = &state.ghost.removed;
    if state.launches.iter().any(|it| it.is_alive() && removed.contains(&it.session)) {
        return Some(Claim::RemovedIsGone);
    }
    None
}

/// Whether nobody is half-way through anything and the supervisor has nothing to do.
pub fn is_at_rest(config: &Config, state: &State) -> bool {
    let still = state.supervisor == Supervisor::Idle
        && state.lock.is_none()
        && state.deleters.iter().all(|it| matches!(it, Deleter::Idle | Deleter::Over))
        && (state.restarter.1, state.stopper.1) == (Verb::Idle, Verb::Idle)
        && state.launches.iter().all(|launch| {
            let waits = match launch.launcher {
                Launcher::Running => launch.agent == Process::Running,
                Launcher::None | Launcher::PostMortem | Launcher::Gone => {
                    launch.agent == Process::None
                }
                _ => false,
            };
            waits && launch.request.is_none()
        });
    still && decide(config, state, &state.records, state.terminal).actions.is_empty()
}

fn broken_at_rest(state: &State) -> Option<Claim> {
    let entry = state.entry();
    let wanted = entry.filter(|entry| !entry.stopped).and_then(|entry| entry.id);
    let current = wanted.and_then(|id| state.recorded(id));
    for (number, launch) in state.launches.iter().enumerate() {
        let there = launch.is_alive() || state.terminal == Some(number);
        if there && current != Some(number) {
            return Some(Claim::NothingUnwanted);
        }
    }
    let listed = entry.and_then(|entry| entry.id);
    let removed = listed.is_some_and(|id| state.identities.is_removed(id));
    if removed || (entry.is_some() && state.ghost.absent) {
        return Some(Claim::RemovedStaysRemoved);
    }
    if let Some(id) = wanted {
        let live =
            current.is_some_and(|it| state.launches[it].agent_runs() && state.terminal == Some(it));
        let record = state.records.get(&id);
        let held = record.is_some_and(|record| {
            is_held(record) && entry.is_some_and(|entry| entry.generation == record.generation)
        });
        if !live && !held {
            return Some(Claim::WantedIsLive);
        }
        let prompt = record.and_then(|record| record.prompt.as_ref());
        if live && prompt.is_some_and(|it| !state.ghost.handed.contains_key(it)) {
            return Some(Claim::PromptDelivered);
        }
    }
    match state.ghost.wish {
        Some(Wish::Launch(id, least))
            if listed == Some(id) && state.recorded(id).is_none_or(|it| it < least) =>
        {
            Some(Claim::IntentKept)
        }
        Some(Wish::Stopped(id)) if wanted == Some(id) => Some(Claim::IntentKept),
        _ => None,
    }
}

const PROPERTY: &str = "every promise holds";

impl Model for Config {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::initial()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        steps(self, state, actions);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(take(self, state, &step))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        // One property: all promises share the costly question whether a state is at rest.
        vec![Property::always(PROPERTY, |config: &Self, state| {
            let broken = broken_claim(config, state);
            broken.is_none_or(|claim| config.only.is_some_and(|only| only != claim))
        })]
    }
}

/// What a complete search found.
#[derive(Debug)]
pub struct Outcome {
    /// How many different states there are.
    pub states: usize,
    /// The broken promise and the steps to it, if there is one.
    pub broken: Option<(Claim, Vec<Step>)>,
}

/// Searches every state of a configuration.
///
/// One thread finds a shortest trace; several are faster where none is expected.
pub fn check(config: &Config, threads: usize) -> Outcome {
    let checker = config.clone().checker().threads(threads).spawn_bfs().join();
    let broken = checker.discovery(PROPERTY).map(|path| {
        let claim = broken_claim(config, path.last_state()).expect("BUG: the property said so");
        (claim, path.into_actions())
    });
    Outcome { states: checker.unique_state_count(), broken }
}

/// A trace, one numbered step a line.
pub fn print_trace(trace: &[Step]) -> String {
    let line = |(index, step)| format!("{:>4}  {step:?}\n", index + 1);
    trace.iter().enumerate().map(line).collect()
}
