//! One session's intent: what its registry entry says.

use crate::{Agent, SessionId};

/// What the operator asked for when the session was added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionSpec {
    /// Which agent runs; `None` when a hand-made entry does not say.
    pub agent: Option<Agent>,
    /// Whether the agent may act without asking; only a literal `false` in the file turns it off.
    pub skip_permissions: bool,
    /// Whether the agent can be steered from its vendor's apps; on unless literally `false`.
    pub remote_control: bool,
    /// The name shown there; derived from user, session and host when absent.
    pub remote_control_name: Option<String>,
    /// Absolute directory of the agent; the home directory when absent.
    pub working_directory: Option<String>,
    /// Further arguments for the agent, handed over word by word.
    pub extra_args: Vec<String>,
    /// The kickoff prompt that no launch has carried yet.
    pub initial_prompt: Option<String>,
    /// What to say to a resumed conversation; a built-in steer when absent.
    pub resume_prompt: Option<String>,
    /// Resource limits, enforced where the session has a cgroup of its own.
    pub limits: Limits,
}

impl SessionSpec {
    /// The defaults of `add` for `agent`.
    pub fn new(agent: Agent) -> Self {
        Self {
            agent: Some(agent),
            skip_permissions: true,
            remote_control: true,
            remote_control_name: None,
            working_directory: None,
            extra_args: Vec::new(),
            initial_prompt: None,
            resume_prompt: None,
            limits: Limits::default(),
        }
    }
}

/// Resource limits of one session; absent means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes above which the kernel throttles and reclaims (`memory.high`).
    pub memory_high: Option<u64>,
    /// Bytes above which the session is killed (`memory.max`).
    pub memory_max: Option<u64>,
    /// Most processes and threads (`pids.max`).
    pub tasks_max: Option<u64>,
    /// Share of the processor, 1 to 10000, 100 is everybody's (`cpu.weight`).
    pub cpu_weight: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// A registry entry: the spec plus what intents and mirrors keep beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The session's identity; `None` until somebody attaches one.
    pub id: Option<SessionId>,
    /// Raised by every intent and every parking; 0 when the file does not say.
    pub generation: u64,
    /// What was asked for.
    pub spec: SessionSpec,
    /// The conversation to continue (`boxSessionId`); a mirror of the launch record.
    pub conversation: Option<String>,
    /// Whether a first launch really took place; a mirror.
    pub has_run: bool,
    /// Whether the session shall not run.
    pub stopped: bool,
    /// Who stopped it, in words for people.
    pub stopped_by: Option<String>,
    /// Who added it (`cli`, `web`, a webhook batch …).
    pub created_by: Option<String>,
}

impl Entry {
    /// A new, never started entry.
    pub fn new(id: SessionId, spec: SessionSpec) -> Self {
        Self {
            id: Some(id),
            generation: 1,
            spec,
            conversation: None,
            has_run: false,
            stopped: false,
            stopped_by: None,
            created_by: None,
        }
    }
}
