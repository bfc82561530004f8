//! One start: prepare without a lock, write the record under it, ask tmux without it.
//!
//! ```text
//!  1 harness.prepare                       slow, no lock
//!  2 [registry lock]  still wanted in this generation?  record still the proven one?
//!                     write the record, state `prepared`
//!  3 tmux new-session + tags               no lock, with a deadline
//!  … the launcher's gate decides whether anything starts (crate pane)
//! ```

use std::ffi::OsString;
use std::path::PathBuf;

use agent_box_harness::{Harness, PrepareError, Prepared, Request};
use agent_box_session::{
    Agent, Entry, LaunchId, LaunchRecord, LaunchState, ProcessRef, SessionId, SessionName,
    Timestamp, Trouble, TroubleKind, env,
};
use agent_box_session_store::{
    Change, Event, EventKind, IoError, LaunchError, ReadError, Store, TransactError,
};
use agent_box_testpoint as testpoint;
use agent_box_tmux_driver::{
    InvalidTarget, Name, NewSession, SessionTarget, Tags, Tmux, TmuxError,
};
use thiserror::Error;

use crate::process::{Stat, boot_id};
use crate::subscriptions::Subscriptions;

mod beside;

use beside::{Beside, claim_conversation};

/// What a start needs; shared by all tasks.
#[derive(Debug)]
pub struct Starter {
    /// The durable files.
    pub store: Store,
    /// The tmux server.
    pub tmux: Tmux,
    /// What is known of the agents.
    pub harness: Harness,
    /// What sessions are subscribed to.
    pub subscriptions: Subscriptions,
    /// The agent-box program: what tmux runs in a pane.
    pub program: PathBuf,
    /// Variables for the launcher itself (its agent gets only what the record lists).
    pub launcher_environment: Vec<(OsString, OsString)>,
    /// How long an agent may take to end politely, in milliseconds.
    pub grace_ms: u64,
}

/// A start that was planned.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The session.
    pub session: SessionId,
    /// The generation that it is for.
    pub generation: u64,
    /// The record whose launch is proven gone.
    pub base: Option<(LaunchId, LaunchState)>,
}

/// What became of a start.
#[derive(Debug)]
pub enum Started {
    /// tmux runs the launcher; the gate decides.
    Asked(LaunchId),
    /// Something newer happened; the next pass plans again.
    Overtaken,
    /// It cannot be started as things stand; the record says why.
    Troubled(Trouble),
}

/// A start failed in a way that the next pass cannot see.
#[derive(Debug, Error)]
pub enum StartError {
    /// The registry cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record cannot be read.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The record could not be written.
    #[error(transparent)]
    Record(#[from] TransactError<IoError>),
    /// tmux gave no answer; whether a session comes of it will be seen.
    #[error("session `{name}`: tmux was asked for a start")]
    Tmux {
        /// The session's name.
        name: SessionName,
        /// What it said.
        #[source]
        source: TmuxError,
    },
}

impl Starter {
    /// Carries out a planned start.
    ///
    /// # Errors
    /// See [`StartError`]; the next pass sees what came of it.
    pub fn start(&self, planned: &Planned) -> Result<Started, StartError> {
        testpoint::hit("supervisor.after-planning");
        let registry = self.store.read()?.registry;
        let Some((name, entry)) = registry.by_id(planned.session) else {
            return Ok(Started::Overtaken);
        };
        let last = self.store.launch(planned.session)?;
        let beside = Beside::new(&self.store);
        // A box that has just switched from the reference system: its side file knows better than
        // the registry's mirror which conversation the session is in.
        let switched = (last.is_none() && entry.has_run)
            .then(|| beside.reference_conversation(name))
            .flatten();
        let entry =
            &Entry { conversation: switched.or(entry.conversation.clone()), ..entry.clone() };
        let launch = self.store.mint_launch();
        let others = beside.other_conversations(&registry, planned.session);
        let variables = beside.variables();
        let prepared = self.harness.prepare(&Request {
            name,
            launch,
            entry,
            record: last.as_ref(),
            rotation: &|conversation| beside.rotation(conversation),
            others: &others,
            variables: &variables,
        });
        let record = match prepared {
            Ok(mut prepared) => {
                prepared.notes.extend(beside.into_unread());
                self.record(planned, name, entry, launch, last.as_ref(), prepared)
            }
            Err(error) => return self.trouble(planned, name, entry, last.as_ref(), &error),
        };
        if !self.commit(planned, &record)? {
            return Ok(Started::Overtaken);
        }
        let event = Event::new(self.store.now(), EventKind::Spawn, "asking tmux for a session")
            .about(planned.session, name)
            .in_launch(launch);
        self.note(&event);
        testpoint::hit("supervisor.before-new-session");
        match self.ask_tmux(&record) {
            // The name is taken: the next look says by whom.
            Ok(()) | Err(TmuxError::Duplicate { .. }) => {
                testpoint::hit("supervisor.after-new-session");
                Ok(Started::Asked(launch))
            }
            Err(source @ (TmuxError::TimedOut { .. } | TmuxError::NoServer { .. })) => {
                Err(StartError::Tmux { name: name.clone(), source })
            }
            Err(error) => {
                let text = format!("tmux refused the start: {}", crate::tasks::chain(&error));
                let trouble = self.trouble_of(TroubleKind::StartFailed, text, Some(&record));
                self.write_trouble(planned.session, &record, trouble.clone())?;
                Ok(Started::Troubled(trouble))
            }
        }
    }

    /// Shows the post-mortem of an ended launch in a new terminal.
    ///
    /// # Errors
    /// When the record cannot be read or tmux does not answer.
    pub fn show_post_mortem(&self, session: SessionId, launch: LaunchId) -> Result<(), StartError> {
        let Some(record) = self.store.launch(session)? else { return Ok(()) };
        if record.launch != launch {
            return Ok(());
        }
        match self.ask_tmux(&record) {
            Ok(()) | Err(TmuxError::Duplicate { .. }) => Ok(()),
            Err(source) => Err(StartError::Tmux { name: record.name, source }),
        }
    }

    /// Takes over a live terminal that is the session's although it carries no tags.
    ///
    /// # Errors
    /// When the record cannot be written or tmux does not answer.
    pub fn adopt(
        &self,
        session: SessionId,
        terminal: &SessionTarget,
        pane_pid: i32,
    ) -> Result<(), StartError> {
        let registry = self.store.read()?.registry;
        let Some((name, entry)) = registry.by_id(session) else { return Ok(()) };
        let Some(stat) = Stat::read(pane_pid) else { return Ok(()) };
        let last = self.store.launch(session)?;
        let planned = Planned {
            session,
            generation: entry.generation,
            base: last.as_ref().map(|record| (record.launch, record.state.clone())),
        };
        let now = self.store.now();
        let launch = self.store.mint_launch();
        let agent = entry.spec.agent.clone().unwrap_or(Agent::Shell);
        let record = LaunchRecord {
            conversation: entry.conversation.clone(),
            resumed: true,
            state: LaunchState::Starting {
                launcher: ProcessRef {
                    pid: stat.pid,
                    start_time: stat.start_time,
                    boot_id: boot_id(),
                },
                at: now,
                agent: None,
                suspended: false,
            },
            ..LaunchRecord::blank(session, name.clone(), launch, agent, entry.generation, now)
        };
        if !self.commit(&planned, &record)? {
            return Ok(());
        }
        let tags = self.tags(&record);
        self.tmux
            .set_tags(terminal, &tags)
            .map_err(|source| StartError::Tmux { name: name.clone(), source })?;
        let event = Event::new(
            now,
            EventKind::Adopt,
            "took over a live session that another program had started",
        );
        self.note(&event.about(session, name).in_launch(launch));
        Ok(())
    }

    /// Writes down why a session is not started.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn report(
        &self,
        session: SessionId,
        kind: TroubleKind,
        text: &str,
    ) -> Result<Started, StartError> {
        let registry = self.store.read()?.registry;
        let Some((name, entry)) = registry.by_id(session) else { return Ok(Started::Overtaken) };
        let last = self.store.launch(session)?;
        let planned = Planned {
            session,
            generation: entry.generation,
            base: last.as_ref().map(|record| (record.launch, record.state.clone())),
        };
        self.note_trouble(&planned, name, entry, last.as_ref(), kind, text.to_owned())
    }

    fn record(
        &self,
        planned: &Planned,
        name: &SessionName,
        entry: &Entry,
        launch: LaunchId,
        last: Option<&LaunchRecord>,
        prepared: Prepared,
    ) -> LaunchRecord {
        let agent = entry.spec.agent.clone().expect("BUG: prepare refuses an entry without agent");
        let same_generation = last.filter(|last| last.generation == planned.generation);
        LaunchRecord {
            argv: prepared.argv,
            environment: prepared.environment,
            directory: prepared.directory,
            prompt: prepared.prompt,
            carries_prompt: prepared.carries_prompt,
            prompt_handed: prepared.prompt_handed,
            prompt_proven: prepared.prompt_proven,
            conversation: prepared.conversation,
            resumed: prepared.resumed,
            notes: prepared.notes,
            login_hints: prepared.login_hints,
            limits: entry.spec.limits,
            grace_ms: self.grace_ms,
            // A newer intent starts counting anew.
            quick_deaths: same_generation.map_or(0, |last| last.quick_deaths),
            ..LaunchRecord::blank(
                planned.session,
                name.clone(),
                launch,
                agent,
                planned.generation,
                self.store.now(),
            )
        }
    }

    /// Writes the record if the session is still wanted so and the record is still the proven one.
    fn commit(&self, planned: &Planned, record: &LaunchRecord) -> Result<bool, StartError> {
        testpoint::hit("supervisor.before-record");
        let written = self.store.transact(Change::Mirror, |tx| {
            let wanted = tx
                .registry
                .by_id(planned.session)
                .is_some_and(|(_, entry)| !entry.stopped && entry.generation == planned.generation);
            // INVARIANT: the proof that the old launch is gone was made on this record and state;
            // a third launch between would be a second agent
            // (`a_record_written_without_comparing_is_found_wanting`).
            let on_record = match tx.launch(planned.session) {
                Ok(on_record) => on_record.map(|record| (record.launch, record.state)),
                Err(_) => return Ok(false),
            };
            if !wanted || tx.identities.is_removed(planned.session) || on_record != planned.base {
                return Ok(false);
            }
            if !claim_conversation(&tx.registry, &mut tx.identities, record) {
                return Ok(false);
            }
            tx.write_launch(record)?;
            Ok(true)
        })?;
        testpoint::hit("supervisor.after-record");
        // Said only now: a launcher may have reported its end between the look and the lock.
        if written && let Some((launch, LaunchState::Starting { .. })) = planned.base {
            let text = "its launcher vanished, so nobody saw the end";
            let event = Event::new(self.store.now(), EventKind::Exit, text);
            self.note(&event.about(planned.session, &record.name).in_launch(launch));
        }
        Ok(written)
    }

    fn ask_tmux(&self, record: &LaunchRecord) -> Result<(), TmuxError> {
        let name = Name::new(record.name.as_str()).map_err(|error| unfit(&error))?;
        let tags = self.tags(record);
        let command = [
            self.program.clone().into_os_string(),
            "pane".into(),
            self.store.paths().launch(record.session).into_os_string(),
            record.launch.to_string().into(),
        ];
        let mut environment = self.launcher_environment.clone();
        environment.push((env::LAUNCH_ID.into(), record.launch.to_string().into()));
        self.tmux
            .create(&NewSession {
                name: &name,
                tags: &tags,
                directory: record.directory.as_ref(),
                command: &command,
                environment: &environment,
                size: (120, 36),
            })
            .map(drop)
    }

    fn tags(&self, record: &LaunchRecord) -> Tags {
        Tags {
            store: self.store.store_id().to_string(),
            id: record.session.to_string(),
            launch: record.launch.to_string(),
        }
    }

    fn trouble(
        &self,
        planned: &Planned,
        name: &SessionName,
        entry: &Entry,
        last: Option<&LaunchRecord>,
        error: &PrepareError,
    ) -> Result<Started, StartError> {
        let kind = match error {
            PrepareError::BadDirectory { .. } => TroubleKind::BadDirectory,
            PrepareError::NotInstalled { .. }
            | PrepareError::UnknownAgent { .. }
            | PrepareError::NoAgent => TroubleKind::NotInstalled,
            _ => TroubleKind::StartFailed,
        };
        let text = crate::tasks::chain(error);
        self.note_trouble(planned, name, entry, last, kind, text)
    }

    fn note_trouble(
        &self,
        planned: &Planned,
        name: &SessionName,
        entry: &Entry,
        last: Option<&LaunchRecord>,
        kind: TroubleKind,
        text: String,
    ) -> Result<Started, StartError> {
        // A launch id of its own: a request of the last launch that is still under way must not
        // find a record that its gate would accept.
        let blank = LaunchRecord::blank(
            planned.session,
            name.clone(),
            self.store.mint_launch(),
            entry.spec.agent.clone().unwrap_or(Agent::Shell),
            planned.generation,
            self.store.now(),
        );
        let same_generation = last.filter(|last| last.generation == planned.generation);
        let record = LaunchRecord {
            // What is known of the prompt and the conversation must not get lost.
            prompt: last.and_then(|last| last.prompt.clone()),
            prompt_handed: last.map_or(0, |last| last.prompt_handed),
            prompt_proven: last.is_some_and(|last| last.prompt_proven),
            conversation: last.and_then(|last| last.conversation.clone()),
            quick_deaths: same_generation.map_or(0, |last| last.quick_deaths),
            ..blank
        };
        let trouble = self.trouble_of(kind, text, last);
        let record = LaunchRecord { trouble: Some(trouble.clone()), ..record };
        if !self.commit(planned, &record)? {
            return Ok(Started::Overtaken);
        }
        if last.and_then(|last| last.trouble.as_ref()).map(|it| &it.text) != Some(&trouble.text) {
            let event = Event::new(self.store.now(), EventKind::Trouble, trouble.text.clone())
                .about(planned.session, name);
            self.note(&event);
        }
        Ok(Started::Troubled(trouble))
    }

    fn trouble_of(&self, kind: TroubleKind, text: String, last: Option<&LaunchRecord>) -> Trouble {
        let before = last.and_then(|last| last.trouble.as_ref()).filter(|it| it.kind == kind);
        Trouble {
            kind,
            text,
            at: self.store.now(),
            attempts: before.map_or(0, |trouble| trouble.attempts) + 1,
        }
    }

    fn write_trouble(
        &self,
        session: SessionId,
        record: &LaunchRecord,
        trouble: Trouble,
    ) -> Result<(), StartError> {
        Ok(self.store.transact(Change::Mirror, |tx| {
            let current = tx.launch(session).ok().flatten();
            // Only while the launch is still this one and nothing passed its gate.
            if let Some(current) =
                current.filter(|it| it.launch == record.launch && it.state == LaunchState::Prepared)
            {
                tx.write_launch(&LaunchRecord { trouble: Some(trouble), ..current })?;
            }
            Ok(())
        })?)
    }

    /// A journal that cannot be written stops nothing.
    fn note(&self, event: &Event) {
        if let Err(error) = self.store.journal().append(event) {
            tracing::warn!(error = crate::tasks::chain(&error), "cannot write the journal");
        }
    }

    /// The wall clock, for callers that have only a starter.
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }
}

fn unfit(error: &InvalidTarget) -> TmuxError {
    TmuxError::Other { command: "new-session", message: error.to_string() }
}

#[cfg(test)]
mod tests;
