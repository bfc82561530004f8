//! The launch record's file format, version 1.
//!
//! Later versions may add fields: unknown ones are passed over, missing ones have defaults where
//! version 1 can do without them.

use agent_box_session::{
    Agent, Ending, Exit, LaunchRecord, LaunchState, Limits, ProcessRef, SessionName, Timestamp,
    Trouble, TroubleKind,
};
use serde::{Deserialize, Serialize};

/// The version written; a reader refuses greater ones.
pub(crate) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(crate) struct RecordJson {
    version: u32,
    session: String,
    name: String,
    launch: String,
    generation: u64,
    agent: String,
    state: StateJson,
    argv: Vec<String>,
    environment: Vec<(String, String)>,
    directory: String,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    carries_prompt: bool,
    #[serde(default)]
    prompt_handed: u32,
    #[serde(default)]
    prompt_proven: bool,
    #[serde(default)]
    conversation: Option<String>,
    #[serde(default)]
    resumed: bool,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    login_hints: Vec<String>,
    #[serde(default)]
    limits: LimitsJson,
    grace_ms: u64,
    #[serde(default)]
    cgroup: Option<String>,
    prepared: u64,
    #[serde(default)]
    quick_deaths: u32,
    #[serde(default)]
    trouble: Option<TroubleJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum StateJson {
    Prepared,
    Starting { launcher: ProcessJson, at: u64, agent: Option<ProcessJson>, suspended: bool },
    Ended { started: u64, at: u64, exit: ExitJson, ending: EndingJson, needs_login: bool },
}

#[derive(Serialize, Deserialize)]
struct ProcessJson {
    pid: i32,
    start_time: u64,
    boot_id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExitJson {
    Code(i32),
    Signal(i32),
    OutOfMemory,
    NotStarted(String),
    Unseen,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndingJson {
    Parked,
    Interrupted,
    PostMortem,
    Respawn,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct LimitsJson {
    memory_high: Option<u64>,
    memory_max: Option<u64>,
    tasks_max: Option<u64>,
    cpu_weight: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct TroubleJson {
    kind: TroubleKindJson,
    text: String,
    at: u64,
    attempts: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TroubleKindJson {
    BadDirectory,
    NotInstalled,
    NameTaken,
    StartFailed,
}

impl RecordJson {
    pub(crate) fn of(record: &LaunchRecord) -> Self {
        let limits = record.limits;
        Self {
            version: VERSION,
            session: record.session.to_string(),
            name: record.name.to_string(),
            launch: record.launch.to_string(),
            generation: record.generation,
            agent: record.agent.as_str().to_owned(),
            state: StateJson::of(&record.state),
            argv: record.argv.clone(),
            environment: record.environment.clone(),
            directory: record.directory.clone(),
            prompt: record.prompt.clone(),
            carries_prompt: record.carries_prompt,
            prompt_handed: record.prompt_handed,
            prompt_proven: record.prompt_proven,
            conversation: record.conversation.clone(),
            resumed: record.resumed,
            notes: record.notes.clone(),
            login_hints: record.login_hints.clone(),
            limits: LimitsJson {
                memory_high: limits.memory_high,
                memory_max: limits.memory_max,
                tasks_max: limits.tasks_max,
                cpu_weight: limits.cpu_weight,
            },
            grace_ms: record.grace_ms,
            cgroup: record.cgroup.clone(),
            prepared: record.prepared.as_millis(),
            quick_deaths: record.quick_deaths,
            trouble: record.trouble.as_ref().map(TroubleJson::of),
        }
    }

    pub(crate) fn record(self) -> Result<LaunchRecord, String> {
        let limits = self.limits;
        Ok(LaunchRecord {
            session: self.session.parse().map_err(|error| format!("{error}"))?,
            name: SessionName::parse(&self.name).map_err(|error| error.to_string())?,
            launch: self.launch.parse().map_err(|error| format!("{error}"))?,
            generation: self.generation,
            agent: Agent::parse(&self.agent).map_err(|error| error.to_string())?,
            argv: self.argv,
            environment: self.environment,
            directory: self.directory,
            prompt: self.prompt,
            carries_prompt: self.carries_prompt,
            prompt_handed: self.prompt_handed,
            prompt_proven: self.prompt_proven,
            conversation: self.conversation,
            resumed: self.resumed,
            notes: self.notes,
            login_hints: self.login_hints,
            limits: Limits {
                memory_high: limits.memory_high,
                memory_max: limits.memory_max,
                tasks_max: limits.tasks_max,
                cpu_weight: limits.cpu_weight,
            },
            grace_ms: self.grace_ms,
            cgroup: self.cgroup,
            prepared: Timestamp::from_millis(self.prepared),
            state: self.state.state(),
            quick_deaths: self.quick_deaths,
            trouble: self.trouble.map(TroubleJson::trouble),
        })
    }
}

impl StateJson {
    fn of(state: &LaunchState) -> Self {
        match state {
            LaunchState::Prepared => Self::Prepared,
            LaunchState::Starting { launcher, at, agent, suspended } => Self::Starting {
                launcher: ProcessJson::of(launcher),
                at: at.as_millis(),
                agent: agent.as_ref().map(ProcessJson::of),
                suspended: *suspended,
            },
            LaunchState::Ended { started, at, exit, ending, needs_login } => Self::Ended {
                started: started.as_millis(),
                at: at.as_millis(),
                exit: match exit {
                    Exit::Code(code) => ExitJson::Code(*code),
                    Exit::Signal(signal) => ExitJson::Signal(*signal),
                    Exit::OutOfMemory => ExitJson::OutOfMemory,
                    Exit::NotStarted(text) => ExitJson::NotStarted(text.clone()),
                    Exit::Unseen => ExitJson::Unseen,
                },
                ending: match ending {
                    Ending::Parked => EndingJson::Parked,
                    Ending::Interrupted => EndingJson::Interrupted,
                    Ending::PostMortem => EndingJson::PostMortem,
                    Ending::Respawn => EndingJson::Respawn,
                },
                needs_login: *needs_login,
            },
        }
    }

    fn state(self) -> LaunchState {
        match self {
            Self::Prepared => LaunchState::Prepared,
            Self::Starting { launcher, at, agent, suspended } => LaunchState::Starting {
                launcher: launcher.process(),
                at: Timestamp::from_millis(at),
                agent: agent.map(ProcessJson::process),
                suspended,
            },
            Self::Ended { started, at, exit, ending, needs_login } => LaunchState::Ended {
                started: Timestamp::from_millis(started),
                at: Timestamp::from_millis(at),
                exit: match exit {
                    ExitJson::Code(code) => Exit::Code(code),
                    ExitJson::Signal(signal) => Exit::Signal(signal),
                    ExitJson::OutOfMemory => Exit::OutOfMemory,
                    ExitJson::NotStarted(text) => Exit::NotStarted(text),
                    ExitJson::Unseen => Exit::Unseen,
                },
                ending: match ending {
                    EndingJson::Parked => Ending::Parked,
                    EndingJson::Interrupted => Ending::Interrupted,
                    EndingJson::PostMortem => Ending::PostMortem,
                    EndingJson::Respawn => Ending::Respawn,
                },
                needs_login,
            },
        }
    }
}

impl ProcessJson {
    fn of(process: &ProcessRef) -> Self {
        Self { pid: process.pid, start_time: process.start_time, boot_id: process.boot_id.clone() }
    }

    fn process(self) -> ProcessRef {
        ProcessRef { pid: self.pid, start_time: self.start_time, boot_id: self.boot_id }
    }
}

impl TroubleJson {
    fn of(trouble: &Trouble) -> Self {
        Self {
            kind: match trouble.kind {
                TroubleKind::BadDirectory => TroubleKindJson::BadDirectory,
                TroubleKind::NotInstalled => TroubleKindJson::NotInstalled,
                TroubleKind::NameTaken => TroubleKindJson::NameTaken,
                TroubleKind::StartFailed => TroubleKindJson::StartFailed,
            },
            text: trouble.text.clone(),
            at: trouble.at.as_millis(),
            attempts: trouble.attempts,
        }
    }

    fn trouble(self) -> Trouble {
        Trouble {
            kind: match self.kind {
                TroubleKindJson::BadDirectory => TroubleKind::BadDirectory,
                TroubleKindJson::NotInstalled => TroubleKind::NotInstalled,
                TroubleKindJson::NameTaken => TroubleKind::NameTaken,
                TroubleKindJson::StartFailed => TroubleKind::StartFailed,
            },
            text: self.text,
            at: Timestamp::from_millis(self.at),
            attempts: self.attempts,
        }
    }
}
