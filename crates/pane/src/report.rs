//! What the launcher writes while the agent runs and when it ended: record and journal.

use std::time::Duration;

use agent_box_session::{
    Ending, Exit, LaunchRecord, LaunchState, ProcessRef, SessionName, Timestamp,
};
use agent_box_session_store::{Event, EventKind, IoError, LaunchError, Store};
use thiserror::Error;

use crate::place::Place;

/// Why the record could not be brought up to date.
#[derive(Debug, Error)]
pub(crate) enum ReportError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] LaunchError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] IoError),
    /// It is gone or names another launch: what is written there is not ours any more.
    #[error("the launch record does not name this launch any more")]
    Replaced,
}

/// Writes about one launch. Only its holder of the lifetime lock may.
pub(crate) struct Report<'a> {
    pub(crate) store: &'a Store,
    pub(crate) place: &'a Place,
    pub(crate) name: SessionName,
}

impl Report<'_> {
    /// The agent runs: its exec succeeded, with the prompt on board if it carried one.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(crate) fn started(&self, process: &ProcessRef) -> Result<(), ReportError> {
        self.update(|record| {
            if record.carries_prompt && record.agent.keeps_transcripts() {
                record.prompt_handed += 1;
            }
            if let LaunchState::Starting { agent, .. } = &mut record.state {
                *agent = Some(process.clone());
            }
        })?;
        self.append(&self.event(EventKind::Started, "the agent runs").detail("pid", process.pid));
        Ok(())
    }

    /// Counts the prompt as handed over to an agent that is about to start, or takes that back.
    ///
    /// For agents without transcripts only: nothing could prove later that the prompt arrived, so
    /// they are rather not told again than told twice.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(crate) fn handed(&self, now_handed: bool) -> Result<(), ReportError> {
        self.update(|record| {
            let handed = record.prompt_handed;
            record.prompt_handed = if now_handed { handed + 1 } else { handed.saturating_sub(1) };
        })
        .map(drop)
    }

    /// The agent stopped (Ctrl-Z) or goes on. A view for people: not worth failing for.
    pub(crate) fn suspended(&self, now_suspended: bool) {
        let _ = self.update(|record| {
            if let LaunchState::Starting { suspended, .. } = &mut record.state {
                *suspended = now_suspended;
            }
        });
    }

    /// The agent ended. Returns the record as it stands then.
    ///
    /// # Errors
    /// When the record cannot be written; the caller tries again.
    pub(crate) fn ended(&self, end: &Ended) -> Result<LaunchRecord, ReportError> {
        let record = self.update(|record| {
            record.end(end.started, end.at, end.exit.clone(), end.asked);
            if let LaunchState::Ended { ending: Ending::PostMortem, needs_login, .. } =
                &mut record.state
            {
                *needs_login = end.needs_login;
            }
        })?;
        let after = end.at.since(end.started);
        let event = self.event(EventKind::Exit, describe_end(&end.exit, after));
        let (key, value) = match &end.exit {
            Exit::Code(code) => ("code", code.to_string()),
            Exit::Signal(signal) => ("signal", signal.to_string()),
            Exit::OutOfMemory => ("signal", "out-of-memory".to_owned()),
            Exit::NotStarted(_) => ("code", "not-started".to_owned()),
            Exit::Unseen => ("code", "unseen".to_owned()),
        };
        let event = event.detail(key, value).detail("milliseconds", after.as_millis());
        self.append(&event.detail("asked", end.asked));
        Ok(record)
    }

    /// An event about this launch.
    fn event(&self, kind: EventKind, text: impl Into<String>) -> Event {
        let event = Event::new(self.store.now(), kind, text);
        event.about(self.place.session, &self.name).in_launch(self.place.launch).by("launcher")
    }

    /// Notes in the journal what happened.
    pub(crate) fn note(&self, kind: EventKind, text: impl Into<String>) {
        self.append(&self.event(kind, text));
    }

    /// A journal that cannot be written stops nothing.
    fn append(&self, event: &Event) {
        let _ = self.store.journal().append(event);
    }

    /// Reads, changes and writes the record. It is not kept in between: it holds the prompt, and
    /// a launcher lives for days.
    fn update(&self, change: impl FnOnce(&mut LaunchRecord)) -> Result<LaunchRecord, ReportError> {
        let record = self.store.launch(self.place.session)?;
        let mut record = record.ok_or(ReportError::Replaced)?;
        if record.launch != self.place.launch {
            return Err(ReportError::Replaced);
        }
        change(&mut record);
        self.store.write_launch(&record)?;
        Ok(record)
    }
}

/// An end as it goes on record.
pub(crate) struct Ended {
    pub(crate) started: Timestamp,
    pub(crate) at: Timestamp,
    pub(crate) exit: Exit,
    pub(crate) asked: bool,
    pub(crate) needs_login: bool,
}

/// An end in words: `exit code 1 after 3.2 s`.
pub(crate) fn describe_end(exit: &Exit, after: Duration) -> String {
    let after = describe_duration(after);
    match exit {
        Exit::Code(code) => format!("exit code {code} after {after}"),
        Exit::Signal(signal) => match signal_name(*signal) {
            Some(name) => format!("killed by {name} ({signal}) after {after}"),
            None => format!("killed by signal {signal} after {after}"),
        },
        Exit::OutOfMemory => format!(
            "out of memory after {after}: its own limit was hit, or the machine's memory ran short"
        ),
        Exit::NotStarted(why) => format!("not started: {why}"),
        Exit::Unseen => format!("nobody saw its end, {after} after its start"),
    }
}

fn describe_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_read_as_sentences() {
        let check = |exit: Exit, millis, expect: &str| {
            assert_eq!(describe_end(&exit, Duration::from_millis(millis)), expect);
        };
        check(Exit::Code(1), 3234, "exit code 1 after 3.2 s");
        check(Exit::Signal(9), 61_000, "killed by SIGKILL (9) after 1 min 1 s");
        check(Exit::Signal(64), 3_660_000, "killed by signal 64 after 1 h 1 min");
        check(Exit::NotStarted("no such file".to_owned()), 0, "not started: no such file");
    }
}
