//! The steps that the actors can take.
//!
//! A step is what cannot be interrupted: one read, one durable write, one request, one signal.
//! Between any two of them everybody else may act, and whoever is half-way may die.

use std::collections::{BTreeMap, BTreeSet};

use agent_box_session::{
    Agent, Backoff, Entry, Exit, Identities, LaunchRecord, LaunchState, ProcessRef, Registry,
    SessionId, check_gate, check_post_mortem_gate, is_settled, mirror_launch, settle_identities,
};
use agent_box_supervisor::plan::{
    Action, EndReason, Intent, Known, LaunchView, Observed, Plan, Terminal, plan,
};

use super::config::{Broken, Config, Edit};
use super::state::{
    Deleter, Editor, EndPhase, Ending, Fault, Holder, LATE, LATER, Launch, Launcher, Process,
    Request, START, State, Supervisor, Verb, Wish, launch_id, mint, name, number,
};

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
        Supervisor::Settling | Supervisor::Parking(..) => {}
        Supervisor::Writing(..) if free || config.lacks(Broken::NoComparing) => {
            steps.push(Step::Work);
        }
        Supervisor::Writing(..) => {}
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
            let launch = &state.launches[*number];
            if launch.launcher == Launcher::Executed {
                // The handing was not counted; its agent dies with its launcher.
                let prompt = state.carried_prompt(*number).cloned();
                if let Some(handed) = prompt.and_then(|it| state.ghost.handed.get_mut(&it)) {
                    *handed -= 1;
                }
            }
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

/// What the supervisor sees: records and terminal as they were a moment ago, processes as they
/// are now.
pub fn look(
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
fn take_on(config: &Config, state: &State, action: Option<&Action>) -> Supervisor {
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
            debug_assert_eq!(base.as_ref().map(|it| it.0), old.as_ref().map(|it| it.launch));
            let Some((_, entry)) = state.registry.by_id(*session) else { return Supervisor::Idle };
            let record = prepare(config, state, *session, *generation, entry, old.as_ref());
            Supervisor::Writing(Box::new(record), old)
        }
        // There are no untagged terminals here.
        Some(Action::Adopt { .. } | Action::Report { .. }) | None => Supervisor::Idle,
    }
}

/// The record of a new launch, as the harness and the supervisor prepare it.
fn prepare(
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
fn work(config: &Config, state: &mut State) {
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
            let same = |old: &LaunchRecord, now: &LaunchRecord| {
                old.launch == now.launch && old.state == now.state
            };
            let current = match (&base, state.records.get(&record.session)) {
                (None, None) => true,
                (Some(old), Some(now)) => same(old, now),
                _ => false,
            };
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

/// One step of ending a launch; what comes next, if anything.
fn end(state: &mut State, ending: Ending) -> Option<Ending> {
    let Ending { launch, phase } = ending;
    let marked = state.launches[launch].has_marked();
    match phase {
        EndPhase::Tree if marked => {
            state.launches[launch].asked = true;
            kill_tree(state, launch);
            Some(ending)
        }
        EndPhase::Tree => {
            state.launches[launch].asked = true;
            Some(Ending { launch, phase: EndPhase::Launcher })
        }
        EndPhase::Launcher => {
            kill_launcher(state, launch);
            Some(Ending { launch, phase: EndPhase::Again })
        }
        EndPhase::Again if marked => {
            kill_tree(state, launch);
            Some(ending)
        }
        EndPhase::Again => {
            if state.terminal == Some(launch) {
                state.terminal = None;
            }
            None
        }
    }
}

/// Ends every marked process but the launcher.
fn kill_tree(state: &mut State, number: usize) {
    let launch = &mut state.launches[number];
    let had_agent = launch.agent != Process::None;
    launch.agent = Process::None;
    launch.descendant = false;
    if had_agent
        && matches!(launch.launcher, Launcher::Forked | Launcher::Executed | Launcher::Running)
    {
        launch.launcher = Launcher::Reporting(Exit::Signal(9));
    }
}

/// The launcher is no more: its locks are free, its terminal closes, its child is told.
fn kill_launcher(state: &mut State, number: usize) {
    let launch = &mut state.launches[number];
    if !launch.launcher_lives() {
        return;
    }
    launch.launcher = Launcher::Gone;
    launch.lifetime = false;
    launch.stale = None;
    if launch.agent == Process::Running {
        launch.agent = Process::Orphan;
    }
    if state.lock == Some(Holder::Launcher(number)) {
        state.lock = None;
    }
    if state.terminal == Some(number) {
        state.terminal = None;
    }
}

fn launcher_goes_on(config: &Config, state: &mut State, number: usize) {
    let launch = state.launches[number].clone();
    let next = match launch.launcher {
        Launcher::AtGate(request) => return at_the_gate(config, state, number, request),
        Launcher::Passed => {
            if let Some(record) = state.record_of(number) {
                record.state = LaunchState::Starting {
                    launcher: process(number),
                    at: START,
                    agent: None,
                    suspended: false,
                };
            }
            Launcher::Written
        }
        Launcher::Written => {
            if let Some(stale) = state.launches[number].stale.take() {
                state.registry = stale;
            }
            if let Some(record) = state.records.get(&launch.session).cloned() {
                mirror_launch(&mut state.registry, &mut state.identities, &record);
            }
            if state.lock == Some(Holder::Launcher(number)) {
                state.lock = None;
            }
            Launcher::Clear
        }
        Launcher::Clear => {
            state.launches[number].agent = Process::Forked;
            Launcher::Forked
        }
        Launcher::Executed => {
            if let Some(record) = state.record_of(number) {
                record.prompt_handed += u32::from(record.carries_prompt);
                if let LaunchState::Starting { agent, .. } = &mut record.state {
                    *agent = Some(process(100 + number));
                }
            }
            Launcher::Running
        }
        Launcher::Reporting(exit) => {
            // It is the subreaper: descendants end before the report is written.
            state.launches[number].descendant = false;
            let ended = if config.deaths.is_some() { START } else { LATER };
            if let Some(record) = state.record_of(number) {
                record.end(START, ended, exit, launch.asked);
            }
            Launcher::Reported
        }
        Launcher::Reported => {
            let post_mortem = state.record_of(number).is_some_and(|record| {
                let LaunchState::Ended { ending, .. } = record.state else { return false };
                ending == agent_box_session::Ending::PostMortem
            });
            if !post_mortem || state.terminal != Some(number) {
                return kill_launcher(state, number);
            }
            state.launches[number].lifetime = false;
            Launcher::PostMortem
        }
        waiting => waiting,
    };
    state.launches[number].launcher = next;
}

/// The transaction that decides whether this launch may start its agent.
fn at_the_gate(config: &Config, state: &mut State, number: usize, request: Request) {
    let session = state.launches[number].session;
    let removed = state.identities.is_removed(session);
    let passes = state.records.get(&session).is_some_and(|record| {
        let (registry, launch) = (&state.registry, launch_id(number));
        match request {
            Request::Start => {
                config.lacks(Broken::CheckBeforeTmux)
                    || check_gate(registry, removed, record, launch).is_ok()
            }
            Request::Show => check_post_mortem_gate(registry, removed, record, launch).is_ok(),
        }
    });
    let proven = config.lacks(Broken::NoProof);
    let held = state.launches.iter().any(|it| it.session == session && it.lifetime);
    if !passes || (request == Request::Start && held && !proven) {
        return kill_launcher(state, number);
    }
    if request == Request::Show {
        state.launches[number].launcher = Launcher::PostMortem;
        return;
    }
    if let Some(record) = state.records.get(&session) {
        let buried = |text: &Option<String>| {
            text.as_ref().is_some_and(|text| state.ghost.buried.contains(text))
        };
        if buried(&record.conversation) || (record.carries_prompt && buried(&record.prompt)) {
            state.ghost.fault.get_or_insert(Fault::Inherited);
        }
    }
    let launch = &mut state.launches[number];
    launch.launcher = Launcher::Passed;
    launch.lifetime = !proven;
    if config.lacks(Broken::NoLock) {
        launch.stale = Some(state.registry.clone());
    } else {
        state.lock = Some(Holder::Launcher(number));
    }
}

fn exec(state: &mut State, number: usize) {
    let launch = &mut state.launches[number];
    launch.agent = if launch.launcher_lives() { Process::Running } else { Process::Orphan };
    let counted = launch.launcher == Launcher::Forked;
    if counted {
        launch.launcher = Launcher::Executed;
    }
    let Some(prompt) = state.carried_prompt(number).cloned() else { return };
    if state.ghost.transcripts.contains(&prompt) {
        state.ghost.fault.get_or_insert(Fault::Repeated);
    }
    let handed = state.ghost.handed.entry(prompt).or_default();
    *handed += u32::from(counted);
    if *handed > LaunchRecord::MOST_HANDINGS {
        state.ghost.fault.get_or_insert(Fault::TooOften);
    }
}

fn delete(config: &Config, state: &mut State, index: usize) {
    let locked = Holder::Deleter;
    state.deleters[index] = match state.deleters[index].clone() {
        Deleter::Idle => {
            let (mut registry, mut identities) = (state.registry.clone(), state.identities.clone());
            let mut minted = state.minted;
            let mut mint = || mint(&mut minted);
            match registry.delist(&mut identities, &name(), &mut mint, START, "cli") {
                Err(_) => Deleter::Over,
                Ok(delisted) => {
                    let id = delisted.id.expect("BUG: the entry is usable");
                    state.minted = minted;
                    state.registry = registry;
                    // The tombstone is written after the registry; until then the identity stays.
                    if let Some(tombstone) = identities.removed.remove(&id) {
                        identities.live.insert(id, tombstone.identity);
                    }
                    state.identities = identities;
                    state.ghost.wish = None;
                    state.ghost.absent = true;
                    if !config.lacks(Broken::NoLock) {
                        state.lock = Some(locked);
                    }
                    Deleter::Delisted(id)
                }
            }
        }
        Deleter::Delisted(id) => {
            if let Some(identity) = state.identities.live.get(&id).cloned() {
                state.identities.bury(identity, START, "cli");
            }
            state.mourn(id);
            Deleter::Buried(id)
        }
        Deleter::Buried(id) => {
            if state.lock == Some(locked) {
                state.lock = None;
            }
            match state.recorded(id) {
                Some(launch) => Deleter::Ending(id, launch, 0),
                None => succeed(state, id),
            }
        }
        Deleter::Ending(id, launch, phase) => {
            let phases = [EndPhase::Tree, EndPhase::Launcher, EndPhase::Again];
            match end(state, Ending { launch, phase: phases[usize::from(phase)] }) {
                Some(Ending { phase, .. }) => Deleter::Ending(id, launch, phase as u8),
                None => succeed(state, id),
            }
        }
        Deleter::Over => Deleter::Over,
    };
}

fn succeed(state: &mut State, id: SessionId) -> Deleter {
    state.ghost.removed.insert(id);
    Deleter::Over
}

/// The transaction of `restart` or `stop`.
fn commit(config: &Config, state: &mut State, restart: bool) {
    let before = state.entry().cloned();
    let mut minted = state.minted;
    let mut mint = || mint(&mut minted);
    let records = &state.records;
    let launched = |id| State::launched(records, id);
    let (registry, identities) = (&mut state.registry, &mut state.identities);
    let done = if restart {
        registry.restart(identities, &name(), &mut mint, &launched)
    } else {
        registry.stop(identities, &name(), &mut mint, &launched, "cli")
    };
    state.minted = minted;
    let id = done.expect("BUG: the step is offered only while the name is listed");
    keep_generation(config, state, before.as_ref());
    let launch = state.recorded(id);
    let verb = if restart { &mut state.restarter } else { &mut state.stopper };
    *verb = (verb.0 + 1, Verb::Committed(launch));
    state.ghost.wish =
        Some(if restart { Wish::Launch(id, state.launches.len()) } else { Wish::Stopped(id) });
}

/// Undoes the raising of the generation, for the variant without one.
fn keep_generation(config: &Config, state: &mut State, before: Option<&Entry>) {
    let Some(before) = before.filter(|_| config.lacks(Broken::NoGeneration)) else { return };
    if let Some(entry) = state.registry.entry_mut(&name()) {
        entry.generation = before.generation;
    }
}

fn edit_by_hand(state: &mut State, edit: Edit) {
    let Editor::Open(copy) = std::mem::replace(&mut state.editor, Editor::Saved) else { return };
    let stale = copy != state.registry;
    state.registry = copy;
    state.ghost.absent = false;
    if stale {
        // What was acknowledged meanwhile is lost, as with any file.
        state.ghost.wish = None;
    }
    let number = state.launches.len();
    let Some(entry) = state.registry.entry_mut(&name()) else { return };
    match edit {
        Edit::Stale => {}
        Edit::DropId => {
            entry.id = None;
            entry.generation = 0;
        }
        Edit::Enable => {
            entry.stopped = false;
            state.ghost.wish = entry.id.map(|id| Wish::Launch(id, number));
        }
        Edit::Remove => {
            state.registry = Registry::default();
            state.ghost.wish = None;
        }
    }
}

fn pid(number: usize) -> i32 {
    i32::try_from(number).expect("BUG: small") + 1
}

fn process(number: usize) -> ProcessRef {
    ProcessRef { pid: pid(number), start_time: 0, boot_id: String::new() }
}

/// Whether this record waits for a person.
pub fn is_held(record: &LaunchRecord) -> bool {
    record.next_start() == Backoff::CrashLooping
        || matches!(
            record.state,
            LaunchState::Ended { ending: agent_box_session::Ending::PostMortem, .. }
        )
}
