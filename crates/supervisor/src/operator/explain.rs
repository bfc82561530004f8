//! `why`: how a session is, what happened to it, and what to do next.

use agent_box_session::{
    Backoff, Ending, Entry, Exit, LaunchRecord, LaunchState, SessionName, SessionState,
};
use agent_box_session_store::{Event, Filter, IoError, ReadError};
use thiserror::Error;

use super::Operator;
use crate::tasks::chain;

/// All that is known of one session.
#[derive(Debug)]
pub struct Explanation {
    /// Its name.
    pub name: SessionName,
    /// Its entry; `None` if it is not listed (any more).
    pub entry: Option<Entry>,
    /// How it is.
    pub state: Option<SessionState>,
    /// Its newest launch.
    pub record: Option<LaunchRecord>,
    /// The last lines that its agent printed before its last bad end.
    pub last_words: Option<String>,
    /// What happened, oldest first.
    pub events: Vec<Event>,
    /// Whether a supervisor runs.
    pub supervised: bool,
    /// What starts one.
    pub starter: String,
}

/// Why nothing can be explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// The registry cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Nobody ever heard of it.
    #[error(
        "no session `{0}` is listed, and the journal does not know it; `agent-box ls` shows the names"
    )]
    Unknown(SessionName),
}

impl Operator {
    /// Explains a session, listed or gone.
    ///
    /// # Errors
    /// When the files cannot be read or nobody ever heard of it.
    pub fn explain(&self, name: &SessionName, events: usize) -> Result<Explanation, ExplainError> {
        let registry = self.store.read_settled()?.registry;
        let entry = registry.entry(name).cloned();
        let (mut state, record) = match self.state_of(name, &registry, self.store.now()) {
            Some((state, record)) => (Some(state), record),
            None => (None, None),
        };
        let id = entry.as_ref().and_then(|entry| entry.id);
        if let Some(Err(damage)) = id.map(|id| self.store.launch(id)) {
            state = Some(SessionState::Error(chain(&damage)));
        }
        // By id, so that an earlier holder of the name is not mixed in and a renamed session keeps
        // its past; what is not listed is only known by name.
        let filter = match entry.as_ref().and_then(|entry| entry.id) {
            Some(id) => Filter { session: Some(id), name: None },
            None => Filter { session: None, name: Some(name.clone()) },
        };
        let events = self.store.journal().read(&filter, events)?;
        if entry.is_none() && events.is_empty() {
            return Err(ExplainError::Unknown(name.clone()));
        }
        let last_words =
            entry.as_ref().and_then(|entry| entry.id).and_then(|id| self.store.last_words(id));
        let supervised = self.store.is_supervised();
        let (name, starter) = (name.clone(), self.store.paths().starter());
        Ok(Explanation { name, entry, state, record, last_words, events, supervised, starter })
    }
}

impl Explanation {
    /// The explanation in sentences for people, one a line.
    pub fn sentences(&self) -> Vec<String> {
        let name = &self.name;
        let mut lines = Vec::new();
        match (&self.entry, &self.state) {
            (None, _) => lines.push(format!("session `{name}` is not listed (any more)")),
            (_, Some(state)) => lines.push(format!("session `{name}` is {state}")),
            (Some(_), None) => lines.push(format!("session `{name}` is listed")),
        }
        if let Some(record) = &self.record {
            lines.extend(launch_sentences(record));
        }
        if !self.supervised && self.entry.is_some() {
            lines.push(format!("no supervisor runs, so nothing is started; run {}", self.starter));
        }
        if let Some(step) = self.next_step() {
            lines.push(step);
        }
        lines
    }

    fn next_step(&self) -> Option<String> {
        let name = &self.name;
        Some(match self.state.as_ref()? {
            SessionState::PostMortem { .. } => format!(
                "see it with `agent-box attach {name}`; start it anew with `agent-box restart {name}`"
            ),
            SessionState::CrashLooping { .. } => {
                format!("look at its last words below; `agent-box restart {name}` tries again")
            }
            SessionState::NeedsLogin => format!(
                "sign in (`agent-box attach {name}`, Enter opens a shell), then `agent-box restart {name}`"
            ),
            SessionState::Stopped { .. } => format!("`agent-box restart {name}` starts it"),
            SessionState::Suspended => {
                format!("`agent-box attach {name}` and press Enter to continue it")
            }
            _ => return None,
        })
    }
}

fn launch_sentences(record: &LaunchRecord) -> Vec<String> {
    let mut lines = vec![format!(
        "launch {} was prepared at {} (generation {}{})",
        record.launch,
        record.prepared,
        record.generation,
        if record.resumed { ", resuming its conversation" } else { "" }
    )];
    match &record.state {
        LaunchState::Prepared if record.trouble.is_some() => {
            lines.push("nothing was started; it is tried again now and then".to_owned());
        }
        LaunchState::Prepared => lines.push("its terminal was asked for".to_owned()),
        LaunchState::Starting { launcher, at, agent, suspended } => {
            lines.push(match agent {
                Some(agent) => format!("its agent runs as process {} since {at}", agent.pid),
                None => format!("its launcher (process {}) passed the gate at {at}", launcher.pid),
            });
            if *suspended {
                lines.push("the agent was stopped (Ctrl-Z)".to_owned());
            }
        }
        LaunchState::Ended { started, at, exit, ending, needs_login } => {
            let after = at.since(*started);
            lines.push(format!(
                "its agent {} at {at}, {:.1} s after its start",
                exit_words(exit),
                after.as_secs_f64()
            ));
            lines.push(match ending {
                Ending::Parked => "a clean exit parks a session".to_owned(),
                Ending::Interrupted => "its end was asked for from outside".to_owned(),
                Ending::PostMortem if *needs_login => {
                    "it says that its login is missing or expired".to_owned()
                }
                Ending::PostMortem => "a failing exit is shown, not repeated".to_owned(),
                Ending::Respawn if record.quick_deaths >= Backoff::LIMIT => {
                    format!("that were {} quick deaths in a row", record.quick_deaths)
                }
                Ending::Respawn => format!(
                    "it is started again after a delay ({} quick deaths in a row)",
                    record.quick_deaths
                ),
            });
        }
    }
    lines.extend(prompt_sentence(record));
    lines.extend(record.notes.iter().cloned());
    lines
}

/// What becomes of a kickoff prompt of which nobody knows that it was followed.
fn prompt_sentence(record: &LaunchRecord) -> Option<String> {
    let is_open = record.prompt.is_some() && !record.prompt_proven;
    if is_open && record.agent.keeps_transcripts() {
        return Some(format!(
            "its kickoff prompt was handed over {} time(s); the next start looks for it in the \
             transcript and hands it over again only if it is not there",
            record.prompt_handed
        ));
    }
    if !is_open || record.prompt_handed == 0 {
        return None;
    }
    let text = match record.state {
        LaunchState::Ended { ending: Ending::Parked, .. } => {
            "its task counts as done, so a restart begins without it; `agent-box add` gives it to \
             a new session"
        }
        _ => {
            "its agent cannot resume: after an end that was not its own it is told its task again, \
             and that it ran before"
        }
    };
    Some(text.to_owned())
}

/// How an agent ended, in words.
pub(crate) fn exit_words(exit: &Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::OutOfMemory => "was killed because the session ran out of memory".to_owned(),
        Exit::NotStarted(why) => format!("could not be started ({why})"),
        Exit::Unseen => "vanished".to_owned(),
    }
}
