//! `ls`: every session with its state, from one registry read, the records and one tmux call.

use std::collections::BTreeMap;

use agent_box_session::{
    Agent, LaunchId, LaunchRecord, LaunchState, LiveView, Registry, SessionId, SessionName,
    SessionState, Timestamp, derive_state,
};
use agent_box_session_store::ReadError;
use agent_box_tmux_driver::{Session, TmuxError};
use thiserror::Error;

use super::Operator;
use crate::process::is_alive;

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name (of a tmux session that nobody listed: tmux's).
    pub name: String,
    /// The session's id.
    pub id: Option<SessionId>,
    /// What runs.
    pub agent: Option<Agent>,
    /// How it is.
    pub state: SessionState,
    /// Its directory, where the entry gives one.
    pub directory: Option<String>,
    /// How many terminals are attached.
    pub attached: u32,
    /// Its newest launch.
    pub launch: Option<LaunchId>,
}

/// What a list holds.
#[derive(Debug)]
pub struct List {
    /// Listed sessions in file order, then what is being removed, then what nobody listed.
    pub rows: Vec<Row>,
    /// Why the registry cannot be read; the rows then show only what runs.
    pub damage: Option<ReadError>,
    /// Why tmux gives no answer.
    pub tmux: Option<String>,
    /// Whether a supervisor runs.
    pub supervised: bool,
}

/// Why there is no list at all.
#[derive(Debug, Error)]
pub enum ListError {
    /// Nothing could be read.
    #[error(transparent)]
    Store(#[from] agent_box_session_store::IoError),
}

impl Operator {
    /// Lists the sessions.
    ///
    /// # Errors
    /// When the launch records cannot be listed. A damaged registry is no error here: the list
    /// says so and shows what runs.
    pub fn list(&self) -> Result<List, ListError> {
        let now = self.store.now();
        // tmux takes most of the time; the files are read meanwhile.
        let (snapshot, (registry, damage), records) = std::thread::scope(|scope| {
            let snapshot = scope.spawn(|| self.tmux.snapshot());
            let (registry, damage) = match self.store.read_settled() {
                Ok(document) => (document.registry, None),
                Err(damage) => (Registry::default(), Some(damage)),
            };
            let ids = registry.entries().filter_map(|(_, entry)| entry.id);
            let records: BTreeMap<_, _> = ids.map(|id| (id, self.store.launch(id))).collect();
            let snapshot = snapshot.join().expect("BUG: a snapshot does not panic");
            (snapshot, (registry, damage), records)
        });
        let (sessions, tmux) = match snapshot {
            Ok(snapshot) => (snapshot.sessions, None),
            Err(TmuxError::NoServer { .. }) => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let store_id = self.store.store_id().to_string();
        let ours: BTreeMap<SessionId, &Session> = sessions
            .iter()
            .filter(|session| session.store.as_deref() == Some(&store_id))
            .filter_map(|session| Some((session.id.as_deref()?.parse().ok()?, session)))
            .collect();
        let mut rows = Vec::new();
        for (name, entry) in registry.entries() {
            let terminal = entry.id.and_then(|id| ours.get(&id)).copied();
            let record = match entry.id.and_then(|id| records.get(&id)) {
                Some(Ok(record)) => record.as_ref(),
                Some(Err(error)) => {
                    let state = SessionState::Error(error.to_string());
                    rows.push(Row { state, ..row(name.as_str(), entry.id, terminal, None) });
                    continue;
                }
                None => None,
            };
            let live = live_view(record, terminal, tmux.as_deref());
            rows.push(Row {
                agent: entry.spec.agent.clone(),
                state: derive_state(entry, record, &live, now),
                directory: entry.spec.working_directory.clone(),
                ..row(name.as_str(), entry.id, terminal, record)
            });
        }
        for unusable in registry.unusable() {
            let terminal = unusable.id.and_then(|id| ours.get(&id)).copied();
            let state = SessionState::Error(unusable.reason.clone());
            rows.push(Row { state, ..row(&unusable.key, unusable.id, terminal, None) });
        }
        for (id, session) in &ours {
            if registry.lists(*id) {
                continue;
            }
            // With a damaged registry nobody knows what is wanted, and nothing is being removed.
            let state = match &damage {
                Some(_) => SessionState::Live,
                None => SessionState::Removing,
            };
            rows.push(Row { state, ..row(&session.name, Some(*id), Some(session), None) });
        }
        let unmanaged = sessions.iter().filter(|session| {
            session.store.as_deref() != Some(&store_id)
                && !rows.iter().any(|row| row.name == session.name)
        });
        let unmanaged: Vec<Row> = unmanaged
            .map(|session| Row {
                state: SessionState::Unmanaged,
                ..row(&session.name, None, Some(session), None)
            })
            .collect();
        rows.extend(unmanaged);
        Ok(List { rows, damage, tmux, supervised: self.store.is_supervised() })
    }

    /// The state of one listed session.
    pub(super) fn state_of(
        &self,
        name: &SessionName,
        registry: &Registry,
        now: Timestamp,
    ) -> Option<(SessionState, Option<LaunchRecord>)> {
        let entry = registry.entry(name)?;
        let record = entry.id.and_then(|id| self.store.launch(id).ok().flatten());
        let (terminal, trouble) = match self.tmux.snapshot() {
            Ok(snapshot) => {
                let id = entry.id.map(|id| id.to_string());
                let found = snapshot.sessions.into_iter().find(|session| session.id == id);
                (found.filter(|_| id.is_some()), None)
            }
            Err(TmuxError::NoServer { .. }) => (None, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let live = live_view(record.as_ref(), terminal.as_ref(), trouble.as_deref());
        Some((derive_state(entry, record.as_ref(), &live, now), record))
    }
}

fn row(
    name: &str,
    id: Option<SessionId>,
    terminal: Option<&Session>,
    record: Option<&LaunchRecord>,
) -> Row {
    Row {
        name: name.to_owned(),
        id,
        agent: record.map(|record| record.agent.clone()),
        state: SessionState::Starting,
        directory: None,
        attached: terminal.map_or(0, |terminal| terminal.attached),
        launch: record.map(|record| record.launch),
    }
}

fn live_view(
    record: Option<&LaunchRecord>,
    terminal: Option<&Session>,
    tmux_trouble: Option<&str>,
) -> LiveView {
    if terminal.is_some() {
        return LiveView::Live;
    }
    let Some(trouble) = tmux_trouble else { return LiveView::Absent };
    // tmux keeps silent, but the launcher can be asked about by its number.
    match record.map(|record| &record.state) {
        Some(LaunchState::Starting { launcher, .. }) if is_alive(launcher) => LiveView::Live,
        _ => LiveView::Unknown(trouble.to_owned()),
    }
}
