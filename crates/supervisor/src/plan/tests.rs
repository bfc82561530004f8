//! The rules of the plan, one by one and all together.

mod rules;
mod simulated;

use std::collections::{BTreeMap, BTreeSet};

use agent_box_session::{
    Agent, Ending, Entry, Exit, LaunchId, LaunchRecord, LaunchState, ProcessRef, Registry,
    SessionId, SessionName, SessionSpec, Timestamp,
};
use uuid::Uuid;

use super::{Intent, Known, LaunchView, Observed, Terminal};

/// A time far enough from zero that nothing saturates.
const NOW: u64 = 10_000_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn session(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
}

fn launch(number: u128) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(0x1000 + number))
}

fn name(number: u128) -> SessionName {
    SessionName::parse(&format!("s{number}")).unwrap()
}

fn entry(number: u128, generation: u64) -> Entry {
    Entry { generation, ..Entry::new(session(number), SessionSpec::new(Agent::Claude)) }
}

fn intent(entries: Vec<(SessionName, Entry)>) -> Intent {
    Intent {
        registry: Registry::from_parts(entries, Vec::new()),
        removed: BTreeSet::new(),
        unsettled: false,
    }
}

fn record(number: u128, which: u128, generation: u64, state: LaunchState) -> LaunchRecord {
    let blank = LaunchRecord::blank(
        session(number),
        name(number),
        launch(which),
        Agent::Claude,
        generation,
        at(NOW - 5000),
    );
    LaunchRecord { state, ..blank }
}

fn starting() -> LaunchState {
    LaunchState::Starting {
        launcher: ProcessRef { pid: 7, start_time: 1, boot_id: "boot".to_owned() },
        at: at(NOW - 5000),
        agent: None,
        suspended: false,
    }
}

fn ended(ending: Ending, started: u64, ended: u64) -> LaunchState {
    let exit = match ending {
        Ending::Parked | Ending::Interrupted => Exit::Code(0),
        Ending::PostMortem => Exit::Code(1),
        Ending::Respawn => Exit::Signal(9),
    };
    LaunchState::Ended { started: at(started), at: at(ended), exit, ending, needs_login: false }
}

/// Nothing of the launch is left.
fn gone(record: LaunchRecord) -> LaunchView {
    LaunchView {
        record: Known::Known(record),
        lock_free: true,
        launcher_alive: false,
        leftovers: false,
    }
}

/// The launch runs.
fn live(record: LaunchRecord) -> LaunchView {
    LaunchView { lock_free: false, launcher_alive: true, ..gone(record) }
}

fn terminal(number: u128, which: u128) -> Terminal {
    Terminal {
        tmux_id: format!("${which}"),
        name: name(number).as_str().to_owned(),
        session: Some(session(number)),
        launch: Some(launch(which)),
        pane_pid: 7,
        foreign: false,
        conversation: None,
    }
}

/// A terminal that somebody made by hand.
fn untagged(number: u128) -> Terminal {
    Terminal { session: None, launch: None, ..terminal(number, 99) }
}

fn observed(terminals: Vec<Terminal>, views: Vec<LaunchView>) -> Observed {
    let of = |view: &LaunchView| view.record.known().map(|record| record.session);
    Observed {
        terminals: Known::Known(terminals),
        launches: views.into_iter().filter_map(|view| Some((of(&view)?, view))).collect(),
        attempts: BTreeMap::new(),
        busy: BTreeSet::new(),
    }
}
