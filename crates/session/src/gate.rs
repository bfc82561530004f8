//! The gate: the last check before an agent starts, made by the program in the pane.
//!
//! ```text
//! supervisor      1 prepare ── 2 record `prepared` ── 3 ask tmux ┄┄┄┄┐ (no lock held)
//! launcher        4 [registry lock: check_gate → `starting` → mirror_launch] ── 5 agent
//! rm/stop/restart   [registry lock: delist, tombstone / raise generation]  ── end launches
//! ```
//! A tmux request outlives its sender, so nothing checked before the request counts when the
//! pane starts. Both critical sections hold the same lock: whichever comes second sees the other.

use thiserror::Error;

use crate::{
    Ending, Entry, Identities, LaunchId, LaunchRecord, LaunchState, Registry, SessionName,
};

/// Why a launch must not start its agent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GateRefusal {
    /// The session was deleted (or never listed).
    #[error("session `{name}` is not listed any more")]
    NotListed {
        /// The name it had.
        name: SessionName,
    },
    /// The id has a tombstone.
    #[error("session `{name}` was removed")]
    Removed {
        /// The name it had.
        name: SessionName,
    },
    /// It shall not run.
    #[error("session `{name}` is stopped")]
    Stopped {
        /// Its name.
        name: SessionName,
    },
    /// A newer intent exists.
    #[error("this launch is for generation {launch}, the registry wants generation {wanted}")]
    OtherGeneration {
        /// The launch's.
        launch: u64,
        /// The entry's.
        wanted: u64,
    },
    /// The record names another launch.
    #[error("launch {this} was replaced by launch {newer}")]
    Replaced {
        /// This launch.
        this: LaunchId,
        /// The one on record.
        newer: LaunchId,
    },
    /// The record is past `prepared`: this launch already had its chance.
    #[error("launch {this} was already used")]
    Used {
        /// This launch.
        this: LaunchId,
    },
    /// Not a session that has a post-mortem to show.
    #[error("launch {this} has no post-mortem to show")]
    NoPostMortem {
        /// This launch.
        this: LaunchId,
    },
}

/// Checks, under the registry lock, that the launch is still wanted and current.
///
/// `removed` says whether the record's session id has a tombstone.
///
/// # Errors
/// When the launch must not start; nothing was changed.
pub fn check_gate<'r>(
    registry: &'r Registry,
    removed: bool,
    record: &LaunchRecord,
    launch: LaunchId,
) -> Result<(&'r SessionName, &'r Entry), GateRefusal> {
    let found = check_wanted(registry, removed, record, launch)?;
    match record.state {
        LaunchState::Prepared => Ok(found),
        _ => Err(GateRefusal::Used { this: launch }),
    }
}

/// Checks, under the registry lock, that the post-mortem of `launch` may be shown (again).
///
/// # Errors
/// When the session moved on since.
pub fn check_post_mortem_gate<'r>(
    registry: &'r Registry,
    removed: bool,
    record: &LaunchRecord,
    launch: LaunchId,
) -> Result<(&'r SessionName, &'r Entry), GateRefusal> {
    let found = check_wanted(registry, removed, record, launch)?;
    match record.state {
        LaunchState::Ended { ending: Ending::PostMortem, .. } => Ok(found),
        _ => Err(GateRefusal::NoPostMortem { this: launch }),
    }
}

fn check_wanted<'r>(
    registry: &'r Registry,
    removed: bool,
    record: &LaunchRecord,
    launch: LaunchId,
) -> Result<(&'r SessionName, &'r Entry), GateRefusal> {
    let name = || record.name.clone();
    if removed {
        return Err(GateRefusal::Removed { name: name() });
    }
    let Some((listed_as, entry)) = registry.by_id(record.session) else {
        return Err(GateRefusal::NotListed { name: name() });
    };
    if entry.stopped {
        return Err(GateRefusal::Stopped { name: listed_as.clone() });
    }
    if entry.generation != record.generation {
        return Err(GateRefusal::OtherGeneration {
            launch: record.generation,
            wanted: entry.generation,
        });
    }
    if record.launch != launch {
        return Err(GateRefusal::Replaced { this: launch, newer: record.launch });
    }
    Ok((listed_as, entry))
}

/// Mirrors a launch that passed the gate into the registry: `hasRun`, the conversation, and the
/// consumed prompt (only the prompt that this session's record holds durably).
///
/// The conversation is noted as seen in the same transaction: an editor that drops the id a moment
/// later leaves only the conversation to tell whose entry it is, and an entry taken for a new
/// session would put a second agent on it.
pub fn mirror_launch(registry: &mut Registry, identities: &mut Identities, record: &LaunchRecord) {
    let Some((name, _)) = registry.by_id(record.session) else { return };
    let name = name.clone();
    let entry = registry.by_id_mut(record.session).expect("BUG: found a line above");
    entry.has_run = true;
    if record.conversation.is_some() {
        entry.conversation.clone_from(&record.conversation);
    }
    // A prompt that was written by hand after the record is a new one and stays.
    if entry.spec.initial_prompt.is_some() && entry.spec.initial_prompt == record.prompt {
        entry.spec.initial_prompt = None;
    }
    identities.see(&name, entry);
}

#[cfg(test)]
mod tests;
