//! The launcher and its agent, and how others end them.

use agent_box_session::{
    Backoff, Exit, LaunchRecord, LaunchState, ProcessRef, check_gate, check_post_mortem_gate,
    mirror_launch,
};

use crate::protocol::config::{Broken, Config};
use crate::protocol::state::{
    EndPhase, Ending, Fault, Holder, LATER, Launcher, Process, Request, START, State, launch_id,
};

/// One step of ending a launch; what comes next, if anything.
pub(super) fn end(state: &mut State, ending: Ending) -> Option<Ending> {
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
pub(super) fn kill_tree(state: &mut State, number: usize) {
    let launch = &mut state.launches[number];
    let had_agent = launch.agent != Process::None;
    launch.agent = Process::None;
    launch.descendant = false;
    // A launcher that saw the exec counts the handing before it looks at the end.
    if had_agent && matches!(launch.launcher, Launcher::Forked | Launcher::Running) {
        launch.launcher = Launcher::Reporting(Exit::Signal(9));
    }
}

/// The launcher is no more: its locks are free, its terminal closes, its child is told.
pub(super) fn kill_launcher(state: &mut State, number: usize) {
    if !state.launches[number].launcher_lives() {
        return;
    }
    if state.launches[number].launcher == Launcher::Executed {
        // Nobody counted this handing; its agent dies in the same moment.
        let prompt = state.carried_prompt(number).cloned();
        if let Some(handed) = prompt.and_then(|it| state.ghost.handed.get_mut(&it)) {
            *handed -= 1;
        }
    }
    let launch = &mut state.launches[number];
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

pub(super) fn launcher_goes_on(config: &Config, state: &mut State, number: usize) {
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
            match launch.agent {
                Process::None => Launcher::Reporting(Exit::Signal(9)),
                _ => Launcher::Running,
            }
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
pub(super) fn at_the_gate(config: &Config, state: &mut State, number: usize, request: Request) {
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

pub(super) fn exec(state: &mut State, number: usize) {
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

pub(super) fn pid(number: usize) -> i32 {
    i32::try_from(number).expect("BUG: small") + 1
}

pub(super) fn process(number: usize) -> ProcessRef {
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
