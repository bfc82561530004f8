//! The launch record: one per session id, naming its newest launch.
//!
//! Written by the supervisor (`Prepared`), then by that launch's launcher (`Starting`, `Ended`).
//! It is what was seen, never what is wanted.

use crate::{
    Agent, Backoff, Ending, Exit, LaunchId, Limits, SessionId, SessionName, Timestamp, backoff,
};

/// A process that cannot be mistaken for another: pids are reused, start times within a boot not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessRef {
    /// The process id.
    pub pid: i32,
    /// Field 22 of `/proc/PID/stat`: clock ticks after boot.
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id` when it was written.
    pub boot_id: String,
}

/// How far a launch has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LaunchState {
    /// Written; tmux may or may not have been asked; the gate has not been passed.
    Prepared,
    /// The gate was passed; the agent may run.
    Starting {
        /// The launcher.
        launcher: ProcessRef,
        /// When the gate was passed.
        at: Timestamp,
        /// The agent, once its exec succeeded.
        agent: Option<ProcessRef>,
        /// Whether the agent is stopped (Ctrl-Z) and the launcher offers to continue it.
        suspended: bool,
    },
    /// The launcher saw the end (or the supervisor proved it).
    Ended {
        /// When the gate was passed.
        started: Timestamp,
        /// When the end was seen.
        at: Timestamp,
        /// What ended it.
        exit: Exit,
        /// What follows.
        ending: Ending,
        /// The agent said that its login is missing or expired.
        needs_login: bool,
    },
}

/// Why a session is not started although it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Trouble {
    /// The kind, for programs.
    pub kind: TroubleKind,
    /// For people: names the thing and the next step.
    pub text: String,
    /// When it was seen last.
    pub at: Timestamp,
    /// How many attempts in a row ended so; sets the delay before the next one.
    pub attempts: u32,
}

/// The kinds of [`Trouble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TroubleKind {
    /// The directory is missing or cannot be entered.
    BadDirectory,
    /// The agent's program is not installed, or the kind is unknown here.
    NotInstalled,
    /// Another tmux session holds the name.
    NameTaken,
    /// tmux or the system refused the start.
    StartFailed,
}

/// One launch of one session, with all that its launcher needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaunchRecord {
    /// Whose launch it is.
    pub session: SessionId,
    /// The session's name when the launch was prepared.
    pub name: SessionName,
    /// This start.
    pub launch: LaunchId,
    /// The entry's generation that asked for it.
    pub generation: u64,
    /// What runs.
    pub agent: Agent,
    /// The program and its arguments, word by word.
    pub argv: Vec<String>,
    /// The agent's whole environment except what only its terminal knows and the env file.
    pub environment: Vec<(String, String)>,
    /// Where it runs: absolute.
    pub directory: String,
    /// The kickoff prompt that this session has (kept until a transcript proves it arrived).
    pub prompt: Option<String>,
    /// Whether this launch's `argv` carries that prompt.
    pub carries_prompt: bool,
    /// In how many launches the exec succeeded with the prompt on board.
    pub prompt_handed: u32,
    /// A transcript that holds the prompt was seen.
    pub prompt_proven: bool,
    /// The conversation this launch starts or continues, where the agent has such a thing.
    pub conversation: Option<String>,
    /// Whether it continues one.
    pub resumed: bool,
    /// What the person should know about this start, shown in the pane.
    pub notes: Vec<String>,
    /// Texts in the agent's last words that mean: sign in again.
    pub login_hints: Vec<String>,
    /// Resource limits for the session's cgroup.
    pub limits: Limits,
    /// How long the launcher waits between TERM and KILL, in milliseconds.
    pub grace_ms: u64,
    /// The session's own cgroup (absolute path), once the launcher made one.
    pub cgroup: Option<String>,
    /// When it was prepared.
    pub prepared: Timestamp,
    /// How far it came.
    pub state: LaunchState,
    /// Consecutive quick deaths of this session in this generation, including this launch's.
    pub quick_deaths: u32,
    /// Why the session is not started.
    pub trouble: Option<Trouble>,
}

impl LaunchRecord {
    /// The most often a prompt is handed over without proof.
    pub const MOST_HANDINGS: u32 = 3;

    /// A record of the first glance at a session that could not be started yet.
    pub fn blank(
        session: SessionId,
        name: SessionName,
        launch: LaunchId,
        agent: Agent,
        generation: u64,
        now: Timestamp,
    ) -> Self {
        Self {
            session,
            name,
            launch,
            generation,
            agent,
            argv: Vec::new(),
            environment: Vec::new(),
            directory: String::new(),
            prompt: None,
            carries_prompt: false,
            prompt_handed: 0,
            prompt_proven: false,
            conversation: None,
            resumed: false,
            notes: Vec::new(),
            login_hints: Vec::new(),
            limits: Limits::default(),
            grace_ms: 5000,
            cgroup: None,
            prepared: now,
            state: LaunchState::Prepared,
            quick_deaths: 0,
            trouble: None,
        }
    }

    /// Whether the gate of this launch was passed at some time.
    pub fn was_started(&self) -> bool {
        !matches!(self.state, LaunchState::Prepared)
    }

    /// The launcher, while the record says that it runs.
    pub fn launcher(&self) -> Option<&ProcessRef> {
        match &self.state {
            LaunchState::Starting { launcher, .. } => Some(launcher),
            _ => None,
        }
    }

    /// When the next launch of this session may be made, by this record alone.
    ///
    /// A newer generation of the entry overrides it: an operator does not wait.
    pub fn next_start(&self) -> Backoff {
        if let Some(trouble) = &self.trouble {
            let delay =
                std::time::Duration::from_secs(1 << trouble.attempts.saturating_sub(1).min(6));
            return Backoff::Until(trouble.at.plus(delay.min(Backoff::LONGEST)));
        }
        match &self.state {
            LaunchState::Prepared => Backoff::Until(self.prepared.plus(Backoff::APART)),
            LaunchState::Starting { at, .. } => Backoff::Until(at.plus(Backoff::APART)),
            LaunchState::Ended { started, at, ending, .. } => {
                backoff(*ending, self.quick_deaths, *started, *at)
            }
        }
    }

    /// The state after the agent's end, with the quick-death count brought up to date.
    pub fn end(&mut self, started: Timestamp, now: Timestamp, exit: Exit, asked: bool) {
        let ending = crate::sort_ending(&self.agent, &exit, asked);
        if ending == Ending::Respawn {
            let quick = now.since(started) < Backoff::QUICK;
            self.quick_deaths = if quick { self.quick_deaths + 1 } else { 0 };
        }
        self.state = LaunchState::Ended { started, at: now, exit, ending, needs_login: false };
    }
}
