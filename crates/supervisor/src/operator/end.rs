//! `rm`, `stop`, `restart`: an intent, then the end of the launches it was about.

use agent_box_session::{LaunchId, LaunchRecord, SessionId, SessionName, VerbRefusal};
use agent_box_session_store::{
    Change, Damage, Event, EventKind, Filter, IoError, LaunchError, LockError, ReadError,
    TransactError, Transaction,
};
use agent_box_tmux_driver::SessionTarget;
use thiserror::Error;

use super::Operator;
use crate::ending::{EndError, Target, end_launch, is_inside};
use crate::process::launches_beside;
use crate::tasks::chain;

/// Which verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndVerb {
    /// Take it off the list and end it.
    Remove,
    /// Keep it listed, not running.
    Stop,
    /// End it; the supervisor starts it anew.
    Restart,
}

impl EndVerb {
    fn word(self) -> &'static str {
        match self {
            Self::Remove => "rm",
            Self::Stop => "stop",
            Self::Restart => "restart",
        }
    }

    fn event(self) -> EventKind {
        match self {
            Self::Remove => EventKind::Removed,
            Self::Stop => EventKind::Stopped,
            Self::Restart => EventKind::Restarted,
        }
    }
}

/// What a verb did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The session.
    pub name: SessionName,
    /// Its id.
    pub session: Option<SessionId>,
    /// It was removed before; this call only made sure.
    pub already: bool,
    /// The caller is inside the session, so the supervisor ends it.
    pub left_to_supervisor: bool,
    /// Whether a supervisor runs (a restarted session waits for one).
    pub supervised: bool,
    /// Why its launch record cannot be read, and what to do: until then it is not started.
    pub damage: Option<String>,
}

/// Why a verb did not (fully) happen.
#[derive(Debug, Error)]
pub enum VerbError {
    /// An expected no; nothing was changed.
    #[error(transparent)]
    Refused(#[from] VerbRefusal),
    /// The caller is inside the session and nobody would be left to end it.
    #[error(
        "`{verb}` from inside session `{name}` needs a running supervisor, and there is none; \
         run {starter} or call it from another terminal"
    )]
    InsideUnsupervised {
        /// The verb.
        verb: &'static str,
        /// The session.
        name: SessionName,
        /// What starts a supervisor.
        starter: String,
    },
    /// The registry is damaged; nothing was changed.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A lock was not had; nothing was changed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The intent stands, but something still runs.
    #[error("session `{name}`: the {verb} is recorded, but not everything has ended")]
    NotEnded {
        /// The session.
        name: SessionName,
        /// The verb.
        verb: &'static str,
        /// What is left.
        #[source]
        source: EndError,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// What was committed, and what has to end.
struct Committed {
    session: Option<SessionId>,
    /// Its newest launch, or why that cannot be read: then it is looked for.
    record: Result<Option<LaunchRecord>, LaunchError>,
    already: bool,
}

/// Events of a session that are searched for its launches.
const EVENTS: usize = 200;

impl Operator {
    /// Carries out one of the three verbs on one session.
    ///
    /// # Errors
    /// See [`VerbError`]; after `NotEnded` the intent stands and the supervisor goes on trying.
    pub fn end(&self, verb: EndVerb, name: &SessionName) -> Result<Ended, VerbError> {
        let supervised = self.store.is_supervised();
        let inside = self.is_inside_of(name);
        if inside && !supervised {
            return Err(VerbError::InsideUnsupervised {
                verb: verb.word(),
                name: name.clone(),
                starter: self.store.paths().starter(),
            });
        }
        let committed = self.commit(verb, name)?;
        let mut event = Event::new(self.store.now(), verb.event(), verb.word()).by(&self.by);
        if let Some(session) = committed.session {
            event = event.about(session, name);
        }
        let noted = self.store.journal().append(&event);
        let damage = committed.record.as_ref().err().map(|error| chain(error));
        let ended = match committed.session {
            Some(session) if !inside => self.end_launches(session, name, committed.record),
            _ => Ok(()),
        };
        // Once nothing of it runs that could subscribe again.
        let forgotten = match verb {
            EndVerb::Remove => self.subscriptions.forget(&self.store, name, committed.session),
            EndVerb::Stop | EndVerb::Restart => Ok(()),
        };
        ended.map_err(|source| VerbError::NotEnded {
            name: name.clone(),
            verb: verb.word(),
            source,
        })?;
        forgotten?;
        // Said last: the intent stands, and a journal that cannot be written stops nothing.
        noted?;
        Ok(Ended {
            name: name.clone(),
            session: committed.session,
            already: committed.already,
            left_to_supervisor: inside,
            supervised,
            damage,
        })
    }

    /// Restarts every session, stopped ones only if asked.
    ///
    /// # Errors
    /// At the first session that cannot be restarted.
    pub fn restart_all(&self, include_stopped: bool) -> Result<Vec<Ended>, VerbError> {
        let document = self.store.read_settled().map_err(|error| match error {
            ReadError::Damaged(damage) => VerbError::Damaged(damage),
            ReadError::Io(error) => VerbError::Io(error),
        })?;
        let names: Vec<SessionName> = document
            .registry
            .entries()
            .filter(|(_, entry)| include_stopped || !entry.stopped)
            .map(|(name, _)| name.clone())
            .collect();
        let mut done = Vec::new();
        for name in names {
            match self.end(EndVerb::Restart, &name) {
                Ok(ended) => done.push(ended),
                // Removed meanwhile by somebody else: not this call's business.
                Err(VerbError::Refused(VerbRefusal::NotListed(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn commit(&self, verb: EndVerb, name: &SessionName) -> Result<Committed, VerbError> {
        let change =
            Change::Operator { by: self.by.clone(), summary: format!("{} {name}", verb.word()) };
        let committed = self.store.transact(change, |tx: &mut Transaction<'_>| {
            // Attaching an id decides whose entry it is; that needs to know who is gone.
            let unidentified = tx.registry.entry(name).is_some_and(|entry| entry.id.is_none());
            if unidentified || !tx.registry.is_taken(name.as_str()) {
                tx.load_tombstones().map_err(VerbError::Io)?;
            }
            let committed = match verb {
                EndVerb::Remove => remove(tx, name, &self.by),
                EndVerb::Stop | EndVerb::Restart => intend(tx, verb, name, &self.by),
            };
            committed.map_err(VerbError::Refused)
        });
        committed.map_err(|error| match error {
            TransactError::Refused(error) => error,
            TransactError::Lock(error) => VerbError::Lock(error),
            TransactError::Damaged(damage) => VerbError::Damaged(damage),
            TransactError::Io(error) => VerbError::Io(error),
        })
    }

    /// Ends what an intent was about, whether or not its record can be read.
    pub(super) fn end_launches(
        &self,
        session: SessionId,
        name: &SessionName,
        record: Result<Option<LaunchRecord>, LaunchError>,
    ) -> Result<(), EndError> {
        match record {
            Ok(Some(record)) => self.end_launch_of(record),
            Ok(None) => Ok(()),
            Err(_) => self.end_unrecorded(session, name),
        }
    }

    fn end_launch_of(&self, record: LaunchRecord) -> Result<(), EndError> {
        let grace = self.grace.max(std::time::Duration::from_millis(1));
        let name = record.name.clone();
        let target = Target {
            launch: record.launch,
            terminal: SessionTarget::name(name.as_str()).ok(),
            record: Some(record),
        };
        end_launch(&self.tmux, &target, grace)
    }

    /// Ends the launches of a session whose record cannot be read: those that its launchers, its
    /// terminals and the journal name.
    fn end_unrecorded(&self, session: SessionId, name: &SessionName) -> Result<(), EndError> {
        let mut launches = launches_beside(&self.store.paths().launch(session));
        let filter = Filter { session: Some(session), name: None };
        let events = self.store.journal().read(&filter, EVENTS).unwrap_or_default();
        launches.extend(events.into_iter().filter_map(|event| event.launch));
        let snapshot = self.tmux.snapshot();
        let (store, id) = (self.store.store_id().to_string(), session.to_string());
        for terminal in snapshot.iter().flat_map(|snapshot| &snapshot.sessions) {
            if terminal.store.as_ref() == Some(&store) && terminal.id.as_ref() == Some(&id) {
                launches
                    .extend(terminal.launch.as_ref().and_then(|it| it.parse::<LaunchId>().ok()));
            }
        }
        let grace = self.grace.max(std::time::Duration::from_millis(1));
        for launch in launches {
            let terminal = SessionTarget::name(name.as_str()).ok();
            end_launch(&self.tmux, &Target { launch, terminal, record: None }, grace)?;
        }
        Ok(())
    }

    fn is_inside_of(&self, name: &SessionName) -> bool {
        let Ok(document) = self.store.read() else { return false };
        let record = document
            .registry
            .entry(name)
            .and_then(|entry| entry.id)
            .and_then(|id| self.store.launch(id).ok().flatten());
        record.is_some_and(|record| {
            is_inside(&Target { launch: record.launch, terminal: None, record: Some(record) })
        })
    }
}

fn remove(
    tx: &mut Transaction<'_>,
    name: &SessionName,
    by: &str,
) -> Result<Committed, VerbRefusal> {
    match tx.delist(name, by) {
        Ok(delisted) => {
            let record = delisted.id.map_or(Ok(None), |id| tx.launch(id));
            Ok(Committed { session: delisted.id, record, already: false })
        }
        // Two removers both succeed: the second makes sure that the first one's work is done.
        Err(VerbRefusal::NotListed(name)) => {
            let now = tx.now();
            tx.registry.bury_unlisted(&mut tx.identities, &name, now, by);
            let removed = tx.identities.removed.values().rfind(|it| it.identity.name == name);
            let Some(id) = removed.map(|it| it.identity.id) else {
                return Err(VerbRefusal::NotListed(name));
            };
            let record = tx.launch(id);
            Ok(Committed { session: Some(id), record, already: true })
        }
        Err(refusal) => Err(refusal),
    }
}

fn intend(
    tx: &mut Transaction<'_>,
    verb: EndVerb,
    name: &SessionName,
    by: &str,
) -> Result<Committed, VerbRefusal> {
    let id = match verb {
        EndVerb::Stop => tx.stop(name, by)?,
        _ => tx.restart(name)?,
    };
    let record = tx.launch(id);
    Ok(Committed { session: Some(id), record, already: false })
}
