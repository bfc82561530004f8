//! Passing the gate: the last check, the lifetime lock and the record, under the registry lock.

use std::path::Path;

use agent_box_session::{
    GateRefusal, LaunchRecord, LaunchState, ProcessRef, Timestamp, check_gate,
    check_post_mortem_gate, mirror_launch,
};
use agent_box_session_store::{
    Change, IoError, LaunchError, LifetimeLock, LockError, Store, TransactError, Transaction,
};
use agent_box_testpoint as testpoint;
use thiserror::Error;

use crate::place::Place;

/// What was found behind the gate.
pub(crate) enum Passed {
    /// The agent is to be started; the record says so durably.
    Start {
        record: Box<LaunchRecord>,
        /// When the gate was passed.
        at: Timestamp,
        /// Held until the end is on record.
        lifetime: LifetimeLock,
    },
    /// The agent failed in an earlier pane; only its post-mortem is to be shown.
    PostMortem(Box<LaunchRecord>),
}

/// Why nothing may be started.
#[derive(Debug, Error)]
pub(crate) enum PassError {
    /// An expected no.
    #[error(transparent)]
    Refused(#[from] GateRefusal),
    /// Nobody prepared this launch, or its record was swept.
    #[error("there is no launch record for this session")]
    NoRecord,
    /// Another launch of the session holds the lifetime lock.
    #[error("an earlier launch of this session still runs")]
    StillRunning,
    /// The launch record cannot be read.
    #[error(transparent)]
    Record(#[from] LaunchError),
    /// The lifetime lock cannot be tried.
    #[error(transparent)]
    Lifetime(#[from] LockError),
    /// The launch record cannot be written.
    #[error(transparent)]
    Write(#[from] IoError),
}

impl PassError {
    /// Whether this is an expected no, after which the pane closes quietly.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::NoRecord | Self::StillRunning)
    }
}

/// Makes the check and, if an agent may start, everything that must be durable before it does.
///
/// # Errors
/// When nothing may be started; then nothing was changed, except that a registry that could not
/// be written leaves a record in `starting` that names this process, soon gone.
pub(crate) fn pass(
    store: &Store,
    place: &Place,
    launcher: &ProcessRef,
    cgroup: Option<&Path>,
) -> Result<Passed, TransactError<PassError>> {
    store.transact(Change::Mirror, |tx| {
        testpoint::hit("pane.in-gate");
        let record = tx.launch(place.session)?.ok_or(PassError::NoRecord)?;
        let removed = tx.identities.is_removed(place.session);
        if matches!(record.state, LaunchState::Ended { .. }) {
            check_post_mortem_gate(&tx.registry, removed, &record, place.launch)?;
            return Ok(Passed::PostMortem(Box::new(record)));
        }
        check_gate(&tx.registry, removed, &record, place.launch)?;
        let lifetime = store.lifetime_lock(place.session)?.ok_or(PassError::StillRunning)?;
        start(tx, record, launcher, cgroup, lifetime)
    })
}

fn start(
    tx: &mut Transaction<'_>,
    mut record: LaunchRecord,
    launcher: &ProcessRef,
    cgroup: Option<&Path>,
    lifetime: LifetimeLock,
) -> Result<Passed, PassError> {
    let at = tx.now();
    record.cgroup = cgroup.map(|path| path.to_string_lossy().into_owned());
    record.state =
        LaunchState::Starting { launcher: launcher.clone(), at, agent: None, suspended: false };
    tx.write_launch(&record)?;
    mirror_launch(&mut tx.registry, &mut tx.identities, &record);
    Ok(Passed::Start { record: Box::new(record), at, lifetime })
}
