//! The words for how a session is, the same everywhere, each with its reason.

use std::fmt;

use crate::{Backoff, Ending, Entry, Exit, LaunchRecord, LaunchState, Timestamp};

/// How a session is, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Wanted; a start is due or under way.
    Starting,
    /// The agent runs.
    Live,
    /// The agent was stopped by Ctrl-Z; the pane offers to continue it.
    Suspended,
    /// Ended; the next start waits.
    BackingOff {
        /// Quick deaths (or failed attempts) in a row.
        attempts: u32,
        /// When it will be tried.
        until: Timestamp,
    },
    /// Too many quick deaths; held until `restart`.
    CrashLooping {
        /// How many.
        deaths: u32,
    },
    /// The agent says that its login is missing or expired; held until `restart`.
    NeedsLogin,
    /// It failed; its pane shows what happened; held until `restart`.
    PostMortem {
        /// The exit code.
        code: i32,
    },
    /// Not wanted running.
    Stopped {
        /// By whom.
        by: String,
    },
    /// Removed, but something of it still runs.
    Removing,
    /// It cannot be started as things stand; tried again now and then.
    Error(String),
    /// tmux does not answer, so nobody knows.
    Unknown(String),
    /// A tmux session that nobody listed.
    Unmanaged,
}

impl SessionState {
    /// The state's word, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Live => "live",
            Self::Suspended => "suspended",
            Self::BackingOff { .. } => "backing-off",
            Self::CrashLooping { .. } => "crash-looping",
            Self::NeedsLogin => "needs-login",
            Self::PostMortem { .. } => "post-mortem",
            Self::Stopped { .. } => "stopped",
            Self::Removing => "removing",
            Self::Error(_) => "error",
            Self::Unknown(_) => "unknown",
            Self::Unmanaged => "unmanaged",
        }
    }
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackingOff { attempts, until } => {
                write!(f, "backing-off({attempts}, until {until})")
            }
            Self::CrashLooping { deaths } => {
                write!(f, "crash-looping({deaths} quick deaths; `restart` tries again)")
            }
            Self::NeedsLogin => f.write_str("needs-login(sign in, then `restart`)"),
            Self::PostMortem { code } => write!(f, "post-mortem({code})"),
            Self::Stopped { by } => write!(f, "stopped(by {by})"),
            Self::Error(text) => write!(f, "error({text})"),
            Self::Unknown(text) => write!(f, "unknown({text})"),
            other => f.write_str(other.word()),
        }
    }
}

/// What is seen of a session's launch right now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveView {
    /// Its tmux session is there and its process lives.
    Live,
    /// Nothing of it is there.
    Absent,
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// Derives the state of a listed session.
pub fn derive_state(
    entry: &Entry,
    record: Option<&LaunchRecord>,
    live: &LiveView,
    now: Timestamp,
) -> SessionState {
    if entry.stopped {
        let by = entry.stopped_by.clone().unwrap_or_else(|| "operator".to_owned());
        return SessionState::Stopped { by };
    }
    if entry.spec.agent.is_none() {
        return SessionState::Error("no agent is given; set `agent` in the entry".to_owned());
    }
    // A launch of an older generation is being ended: a newer intent is on its way.
    let Some(record) = record.filter(|record| record.generation >= entry.generation) else {
        return match live {
            LiveView::Live if record.is_none() => SessionState::Live,
            LiveView::Unknown(why) => SessionState::Unknown(why.clone()),
            _ => SessionState::Starting,
        };
    };
    if let Some(trouble) = &record.trouble {
        return SessionState::Error(trouble.text.clone());
    }
    match (&record.state, live) {
        (LaunchState::Starting { suspended: true, .. }, LiveView::Live) => SessionState::Suspended,
        (LaunchState::Starting { .. }, LiveView::Live) => SessionState::Live,
        (LaunchState::Ended { ending: Ending::PostMortem, exit, needs_login, .. }, _) => match exit
        {
            _ if *needs_login => SessionState::NeedsLogin,
            Exit::Code(code) => SessionState::PostMortem { code: *code },
            _ => SessionState::PostMortem { code: 1 },
        },
        (LaunchState::Ended { ending: Ending::Parked, .. }, _) => {
            SessionState::Stopped { by: "a clean exit".to_owned() }
        }
        (LaunchState::Ended { ending: Ending::Respawn, .. }, _) => match record.next_start() {
            Backoff::CrashLooping => SessionState::CrashLooping { deaths: record.quick_deaths },
            Backoff::Until(until) if until > now => {
                SessionState::BackingOff { attempts: record.quick_deaths.max(1), until }
            }
            Backoff::Until(_) => SessionState::Starting,
        },
        (_, LiveView::Unknown(why)) => SessionState::Unknown(why.clone()),
        _ => SessionState::Starting,
    }
}

#[cfg(test)]
mod tests;
