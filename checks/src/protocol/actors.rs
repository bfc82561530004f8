//! The steps that the actors can take.
//!
//! A step is what cannot be interrupted: one read, one durable write, one request, one signal.
//! Between any two of them everybody else may act, and whoever is half-way may die.

mod launcher;
mod operator;
mod supervisor;

use agent_box_session::{Exit, Identities};
use agent_box_supervisor::plan::Action;

use self::launcher::{exec, kill_launcher, kill_tree, launcher_goes_on};
use self::operator::{commit, delete, edit_by_hand};
use self::supervisor::{take_on, work};
use super::config::{Broken, Config, Edit};
use super::state::{
    Deleter, Editor, Holder, Launcher, Process, State, Supervisor, Verb, mint, name,
};

pub use self::launcher::is_held;
pub use self::supervisor::decide;

/// One step of one actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The supervisor reads the launch records.
    LookAtRecords,
    /// The supervisor asks tmux and looks at processes and lifetime locks.
    LookAtTerminals,
    /// The supervisor reads the registry, plans, and takes on this action of the plan.
    Decide(Option<Action>),
    /// The supervisor goes on with what it took on.
    Work,
    /// The supervisor dies; its successor begins with a fresh look.
    SupervisorCrashes,
    /// tmux executes the request of this launch.
    Execute(usize),
    /// The tmux server dies with its requests and terminals.
    ServerDies,
    /// The launcher goes on.
    Launch(usize),
    /// The launcher ends, but tmux misses it and keeps the terminal.
    Linger(usize),
    /// The launcher is killed with -9.
    KillLauncher(usize),
    /// The same, but tmux misses it and keeps the terminal.
    KillAndLinger(usize),
    /// The forked child becomes the agent.
    Exec(usize),
    /// The forked child sees that its launcher is dead and exits.
    ChildGivesUp(usize),
    /// The parent-death signal lands.
    DeathSignal(usize),
    /// The agent ends by itself.
    AgentEnds(usize, Exit),
    /// The agent forks a descendant that will outlive it.
    Fork(usize),
    /// The agent writes a transcript that holds its prompt.
    Transcript(usize),
    /// A deleter goes on.
    Delete(usize),
    /// A deleter dies.
    DeleterCrashes(usize),
    /// Somebody adds a session of the same name.
    Add,
    /// `restart` commits.
    Restart,
    /// `stop` commits.
    Stop,
    /// `restart` (true) or `stop` tells the old launch to end and returns.
    Tell(bool),
    /// `restart` (true) or `stop` dies after its commit.
    VerbCrashes(bool),
    /// A person opens the registry in an editor.
    EditorOpens,
    /// The person saves it so.
    EditorSaves(Edit),
}

impl Step {
    /// Whether the step is part of finishing what was begun: no fault, no new intent, nothing
    /// that an agent or person may just as well never do.
    pub fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::LookAtRecords
                | Self::LookAtTerminals
                | Self::Decide(_)
                | Self::Work
                | Self::Execute(_)
                | Self::Launch(_)
                | Self::Exec(_)
                | Self::ChildGivesUp(_)
                | Self::DeathSignal(_)
                | Self::Delete(_)
                | Self::Tell(_)
        )
    }
}

/// The steps that are possible now.
pub fn steps(config: &Config, state: &State, steps: &mut Vec<Step>) {
    let free = state.lock.is_none() || config.lacks(Broken::NoLock);
    supervisor_steps(config, state, free, steps);
    for number in 0..state.launches.len() {
        launch_steps(config, state, number, free, steps);
    }
    if state.spent.servers < config.servers {
        steps.push(Step::ServerDies);
    }
    for (index, deleter) in state.deleters.iter().enumerate().take(2) {
        let begun = state.deleters.iter().filter(|it| **it != Deleter::Idle).count();
        let first_idle = state.deleters.iter().position(|it| *it == Deleter::Idle);
        match deleter {
            Deleter::Idle if begun < config.deleters && first_idle == Some(index) && free => {
                steps.push(Step::Delete(index));
            }
            Deleter::Idle | Deleter::Over => {}
            _ => steps.extend([Step::Delete(index), Step::DeleterCrashes(index)]),
        }
    }
    if state.adds < config.adds && free && !state.registry.is_taken(name().as_str()) {
        steps.push(Step::Add);
    }
    for (restart, (begun, verb), most) in
        [(true, state.restarter, config.restarts), (false, state.stopper, config.stops)]
    {
        match verb {
            Verb::Idle if begun < most && free && state.entry().is_some() => {
                steps.push(if restart { Step::Restart } else { Step::Stop });
            }
            Verb::Idle => {}
            Verb::Committed(_) => steps.extend([Step::Tell(restart), Step::VerbCrashes(restart)]),
        }
    }
    match &state.editor {
        Editor::Closed if !config.edits.is_empty() && state.entry().is_some() => {
            steps.push(Step::EditorOpens);
        }
        Editor::Open(copy) => {
            let stale = *copy != state.registry;
            let stopped = copy.entry(&name()).is_some_and(|entry| entry.stopped);
            for edit in config.edits {
                let possible = match edit {
                    Edit::Stale => stale,
                    Edit::DropId | Edit::Remove => true,
                    Edit::Enable => stopped && !stale,
                };
                if possible {
                    steps.push(Step::EditorSaves(*edit));
                }
            }
        }
        _ => {}
    }
}

fn supervisor_steps(config: &Config, state: &State, free: bool, steps: &mut Vec<Step>) {
    match &state.supervisor {
        Supervisor::Idle => return steps.push(Step::LookAtRecords),
        Supervisor::SawRecords(_) => steps.push(Step::LookAtTerminals),
        Supervisor::SawTerminals(records, terminal) => {
            let actions = decide(config, state, records, *terminal).actions;
            if actions.is_empty() {
                steps.push(Step::Decide(None));
            }
            let exhausted = state.launches.len() == config.launches;
            steps.extend(
                actions
                    .into_iter()
                    .filter(|action| !(exhausted && matches!(action, Action::Start { .. })))
                    .map(|action| Step::Decide(Some(action))),
            );
        }
        Supervisor::Settling | Supervisor::Parking(..) if free => steps.push(Step::Work),
        Supervisor::Writing(..) if free || config.lacks(Broken::NoComparing) => {
            steps.push(Step::Work);
        }
        // These wait for the registry lock.
        Supervisor::Settling | Supervisor::Parking(..) | Supervisor::Writing(..) => {}
        Supervisor::Ending(_) | Supervisor::Requesting(..) => steps.push(Step::Work),
    }
    if config.supervisor_crashes {
        steps.push(Step::SupervisorCrashes);
    }
}

fn launch_steps(config: &Config, state: &State, number: usize, free: bool, steps: &mut Vec<Step>) {
    let launch = &state.launches[number];
    if launch.request.is_some() {
        steps.push(Step::Execute(number));
    }
    match launch.launcher {
        Launcher::AtGate(_) if !free => {}
        // These wait for the agent, or for a person.
        Launcher::None
        | Launcher::Forked
        | Launcher::Running
        | Launcher::PostMortem
        | Launcher::Gone => {}
        Launcher::Reported => {
            steps.push(Step::Launch(number));
            if state.spent.lingering < config.lingering {
                steps.push(Step::Linger(number));
            }
        }
        _ => steps.push(Step::Launch(number)),
    }
    if launch.launcher_lives() && state.spent.kills < config.kills {
        steps.push(Step::KillLauncher(number));
        if state.terminal == Some(number) && state.spent.lingering < config.lingering {
            steps.push(Step::KillAndLinger(number));
        }
    }
    match launch.agent {
        Process::None => {}
        Process::Forked => {
            steps.push(Step::Exec(number));
            if !launch.launcher_lives() {
                steps.push(Step::ChildGivesUp(number));
            }
        }
        Process::Orphan => steps.push(Step::DeathSignal(number)),
        Process::Running => {
            if launch.launcher == Launcher::Running {
                let ends = config.exits.iter().cloned();
                steps.extend(ends.map(|exit| Step::AgentEnds(number, exit)));
            }
            if state.spent.descendants < config.descendants {
                steps.push(Step::Fork(number));
            }
            let prompt = state.carried_prompt(number);
            if prompt.is_some_and(|prompt| !state.ghost.transcripts.contains(prompt)) {
                steps.push(Step::Transcript(number));
            }
        }
    }
}

/// Takes a step.
pub fn take(config: &Config, before: &State, step: &Step) -> State {
    let mut state = before.clone();
    match step {
        Step::LookAtRecords => state.supervisor = Supervisor::SawRecords(state.records.clone()),
        Step::LookAtTerminals => {
            let looking = std::mem::replace(&mut state.supervisor, Supervisor::Idle);
            let Supervisor::SawRecords(records) = looking else { return state };
            state.supervisor = Supervisor::SawTerminals(records, state.terminal);
        }
        Step::Decide(action) => state.supervisor = take_on(config, before, action.as_ref()),
        Step::Work => work(config, &mut state),
        Step::SupervisorCrashes => state.supervisor = Supervisor::Idle,
        Step::Execute(number) => {
            let request = state.launches[*number].request.take();
            // Create-if-absent: a name that is taken makes it a no-op.
            if state.terminal.is_none()
                && let Some(request) = request
            {
                state.terminal = Some(*number);
                state.launches[*number].launcher = Launcher::AtGate(request);
            }
        }
        Step::ServerDies => {
            state.spent.servers += 1;
            for launch in &mut state.launches {
                launch.request = None;
            }
            if let Some(number) = state.terminal.take() {
                state.launches[number].asked = true;
                if state.launches[number].launcher == Launcher::PostMortem {
                    kill_launcher(&mut state, number);
                }
            }
        }
        Step::Launch(number) => launcher_goes_on(config, &mut state, *number),
        Step::Linger(number) => {
            state.spent.lingering += 1;
            kill_launcher(&mut state, *number);
            state.terminal = Some(*number);
        }
        Step::KillLauncher(number) | Step::KillAndLinger(number) => {
            state.spent.kills += 1;
            let terminal = state.terminal;
            kill_launcher(&mut state, *number);
            if matches!(step, Step::KillAndLinger(_)) {
                state.spent.lingering += 1;
                state.terminal = terminal;
            }
        }
        Step::Exec(number) => exec(&mut state, *number),
        Step::ChildGivesUp(number) | Step::DeathSignal(number) => {
            state.launches[*number].agent = Process::None;
        }
        Step::AgentEnds(number, exit) => {
            state.launches[*number].agent = Process::None;
            state.launches[*number].launcher = Launcher::Reporting(exit.clone());
        }
        Step::Fork(number) => {
            state.spent.descendants += 1;
            state.launches[*number].descendant = true;
        }
        Step::Transcript(number) => {
            let prompt = state.carried_prompt(*number).cloned();
            state.ghost.transcripts.extend(prompt);
        }
        Step::Delete(index) => delete(config, &mut state, *index),
        Step::DeleterCrashes(index) => {
            let held = matches!(state.deleters[*index], Deleter::Delisted(_) | Deleter::Buried(_));
            if held && state.lock == Some(Holder::Deleter) {
                state.lock = None;
            }
            state.deleters[*index] = Deleter::Over;
        }
        Step::Add => {
            state.adds += 1;
            let id = if config.lacks(Broken::IdentityByName) {
                state.identities = Identities::default();
                mint(&mut 0)
            } else {
                mint(&mut state.minted)
            };
            state.add_session(id);
            state.ghost.wish = None;
        }
        Step::Restart | Step::Stop => commit(config, &mut state, *step == Step::Restart),
        Step::Tell(restart) => {
            let verb = if *restart { &mut state.restarter.1 } else { &mut state.stopper.1 };
            let Verb::Committed(launch) = std::mem::replace(verb, Verb::Idle) else { return state };
            if let Some(number) = launch
                && state.launches[number].launcher_lives()
            {
                state.launches[number].asked = true;
                kill_tree(&mut state, number);
            }
        }
        Step::VerbCrashes(true) => state.restarter.1 = Verb::Idle,
        Step::VerbCrashes(false) => state.stopper.1 = Verb::Idle,
        Step::EditorOpens => state.editor = Editor::Open(state.registry.clone()),
        Step::EditorSaves(edit) => edit_by_hand(&mut state, *edit),
    }
    state.canonical()
}
