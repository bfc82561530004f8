//! What people do: `rm`, `stop`, `restart`, and an editor.

use agent_box_session::{Entry, Registry, SessionId};

use super::launcher::end;
use crate::protocol::config::{Broken, Config, Edit};
use crate::protocol::state::{
    Deleter, Editor, EndPhase, Ending, Holder, START, State, Verb, Wish, mint, name,
};

pub(super) fn delete(config: &Config, state: &mut State, index: usize) {
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

pub(super) fn succeed(state: &mut State, id: SessionId) -> Deleter {
    state.ghost.removed.insert(id);
    Deleter::Over
}

/// The transaction of `restart` or `stop`.
pub(super) fn commit(config: &Config, state: &mut State, restart: bool) {
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
pub(super) fn keep_generation(config: &Config, state: &mut State, before: Option<&Entry>) {
    let Some(before) = before.filter(|_| config.lacks(Broken::NoGeneration)) else { return };
    if let Some(entry) = state.registry.entry_mut(&name()) {
        entry.generation = before.generation;
    }
}

pub(super) fn edit_by_hand(state: &mut State, edit: Edit) {
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
