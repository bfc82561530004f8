//! Everything that exists in the modelled world: files, processes, tmux, and actors half-way
//! through their work.
//!
//! Files hold the production types; only processes, tmux and the actors' positions are the
//! model's own. `Ghost` is what an onlooker remembers and no actor can see.

use std::collections::{BTreeMap, BTreeSet};

use agent_box_session::{
    Agent, Entry, Exit, Identities, LaunchId, LaunchRecord, LaunchState, Registry, SessionId,
    SessionName, SessionSpec, Timestamp,
};
use uuid::Uuid;

/// The world at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// `sessions.json`.
    pub registry: Registry,
    /// The files of seen and removed identities.
    pub identities: Identities,
    /// The launch records.
    pub records: BTreeMap<SessionId, LaunchRecord>,
    /// Who holds the registry lock over several steps.
    pub lock: Option<Holder>,
    /// Every launch so far; launch id N is number N-1.
    pub launches: Vec<Launch>,
    /// The launch whose terminal holds the session's name in tmux.
    pub terminal: Option<usize>,
    /// How many session ids were minted.
    pub minted: u8,
    /// The supervisor.
    pub supervisor: Supervisor,
    /// Two concurrent `rm`.
    pub deleters: [Deleter; 2],
    /// Sessions added so far.
    pub adds: u8,
    /// `restart`, and how often it was begun.
    pub restarter: (u8, Verb),
    /// `stop`, and how often it was begun.
    pub stopper: (u8, Verb),
    /// A person with the registry in an editor.
    pub editor: Editor,
    /// Faults injected so far.
    pub spent: Spent,
    /// The onlooker's notes.
    pub ghost: Ghost,
}

/// A holder of the registry lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// The launcher of this launch.
    Launcher(usize),
    /// A deleter.
    Deleter,
}

/// One launch: the request to tmux and the processes that came of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Whose.
    pub session: SessionId,
    /// The conversation that it starts or continues.
    pub conversation: Option<String>,
    /// What tmux was asked and has not done yet.
    pub request: Option<Request>,
    /// The program in the pane.
    pub launcher: Launcher,
    /// Its agent.
    pub agent: Process,
    /// Whether a descendant of the agent runs that carries the launch's mark.
    pub descendant: bool,
    /// Whether the launch was told to end (HUP, TERM, hang-up).
    pub asked: bool,
    /// Whether the launcher holds the lifetime lock.
    pub lifetime: bool,
    /// The registry as read at the gate, for the variant without a lock.
    pub stale: Option<Registry>,
}

/// What tmux can be asked to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// A launcher that starts the agent.
    Start,
    /// A launcher that shows the post-mortem.
    Show,
}

/// How far a launcher is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Launcher {
    /// tmux has not run it.
    None,
    /// About to take the registry lock.
    AtGate(Request),
    /// Holds the registry and the lifetime lock.
    Passed,
    /// Wrote `starting`; still holds both.
    Written,
    /// Let the registry lock go.
    Clear,
    /// Has a child that waits to become the agent.
    Forked,
    /// The agent was executed; the record does not say so yet.
    Executed,
    /// Waits for the agent.
    Running,
    /// Saw the agent's end.
    Reporting(Exit),
    /// Wrote the end; still holds the lifetime lock.
    Reported,
    /// Shows the post-mortem.
    PostMortem,
    /// Ended.
    Gone,
}

/// An agent process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Process {
    /// Not there (yet or any more).
    None,
    /// Forked, not executed.
    Forked,
    /// Runs.
    Running,
    /// Runs, but its launcher is dead and the death signal is under way.
    Orphan,
}

/// How far the supervisor is in a pass or a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Supervisor {
    /// Between passes.
    Idle,
    /// Looked at the records.
    SawRecords(BTreeMap<SessionId, LaunchRecord>),
    /// Looked at tmux as well.
    SawTerminals(BTreeMap<SessionId, LaunchRecord>, Option<usize>),
    /// Settles ids.
    Settling,
    /// Parks a session that ended in this generation.
    Parking(SessionId, u64),
    /// Ends a launch.
    Ending(Ending),
    /// Prepared a launch; the record is to be written over this base.
    Writing(Box<LaunchRecord>, Box<Option<(LaunchId, LaunchState)>>),
    /// About to ask tmux.
    Requesting(usize, Request),
}

/// How far somebody is with ending a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// Which.
    pub launch: usize,
    /// How far.
    pub phase: EndPhase,
}

/// The steps of ending a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndPhase {
    /// Everything but the launcher, until scans are empty.
    Tree,
    /// The launcher.
    Launcher,
    /// Everything again, then the terminal.
    Again,
}

/// How far an `rm` is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deleter {
    /// Not begun.
    Idle,
    /// Wrote the registry, holds the lock.
    Delisted(SessionId),
    /// Wrote the tombstone, holds the lock.
    Buried(SessionId),
    /// Ends the launch it noted: number and phase (0, 1, 2).
    Ending(SessionId, usize, u8),
    /// Over, one way or the other.
    Over,
}

/// How far a `stop` or `restart` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Not begun, or over.
    Idle,
    /// Committed; will tell this launch to end.
    Committed(Option<usize>),
}

/// How far the editor is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Editor {
    /// Not opened.
    Closed,
    /// Has this copy.
    Open(Registry),
    /// Saved.
    Saved,
}

/// Injected faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spent {
    /// Launchers killed with -9.
    pub kills: u8,
    /// Deaths of the tmux server.
    pub servers: u8,
    /// Descendants forked.
    pub descendants: u8,
    /// Terminals that lingered after their launcher's end.
    pub lingering: u8,
}

/// What an onlooker remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Prompts that a transcript holds.
    pub transcripts: BTreeSet<String>,
    /// How often each prompt was handed over.
    pub handed: BTreeMap<String, u32>,
    /// The prompt that each session was added with.
    pub prompts: BTreeMap<SessionId, String>,
    /// Conversations and prompts of removed sessions.
    pub buried: BTreeSet<String>,
    /// Ids for which `rm` returned success.
    pub removed: BTreeSet<SessionId>,
    /// Whether the name was removed, and nobody added or saved it by hand since.
    pub absent: bool,
    /// The newest intent that must not be lost.
    pub wish: Option<Wish>,
    /// The first wrong step.
    pub fault: Option<Fault>,
}

/// An acknowledged intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// A launch with at least this number is wanted.
    Launch(SessionId, usize),
    /// It shall be stopped.
    Stopped(SessionId),
}

/// A step that no state shows afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// An agent started with a removed session's conversation or prompt.
    Inherited,
    /// A prompt was handed over although a transcript holds it.
    Repeated,
    /// A prompt was handed over more than three times.
    TooOften,
}

impl State {
    /// One session, added a moment ago.
    pub fn initial() -> Self {
        let mut state = Self {
            registry: Registry::default(),
            identities: Identities::default(),
            records: BTreeMap::new(),
            lock: None,
            launches: Vec::new(),
            terminal: None,
            minted: 0,
            supervisor: Supervisor::Idle,
            deleters: [Deleter::Idle, Deleter::Idle],
            adds: 0,
            restarter: (0, Verb::Idle),
            stopper: (0, Verb::Idle),
            editor: Editor::Closed,
            spent: Spent::default(),
            ghost: Ghost::default(),
        };
        let id = mint(&mut state.minted);
        state.add_session(id);
        state
    }

    /// `add`, as one transaction; the prompt tells the sessions apart.
    pub fn add_session(&mut self, id: SessionId) {
        let prompt = format!("prompt {}", self.adds);
        let spec =
            SessionSpec { initial_prompt: Some(prompt.clone()), ..SessionSpec::new(Agent::Claude) };
        self.ghost.prompts.insert(id, prompt);
        self.ghost.absent = false;
        let added = self.registry.add(&mut self.identities, name(), spec, id, "cli", START);
        added.expect("BUG: the step is offered only while the name is free");
        let removed: Vec<SessionId> = self.identities.removed.keys().copied().collect();
        for id in removed {
            self.mourn(id);
        }
    }

    /// Notes what belonged to a session whose tombstone was just written.
    pub fn mourn(&mut self, id: SessionId) {
        let record = self.records.get(&id);
        let texts = [
            record.and_then(|record| record.conversation.clone()),
            record.and_then(|record| record.prompt.clone()),
            self.ghost.prompts.get(&id).cloned(),
        ];
        let tombstone = self.identities.removed.get(&id);
        let known = tombstone.into_iter().flat_map(|it| it.identity.conversations.clone());
        self.ghost.buried.extend(texts.into_iter().flatten().chain(known));
    }

    /// The only entry there is.
    pub fn entry(&self) -> Option<&Entry> {
        self.registry.entry(&name())
    }

    /// The number of the launch on record for `id`.
    pub fn recorded(&self, id: SessionId) -> Option<usize> {
        self.records.get(&id).map(|record| number(record.launch))
    }

    /// The record of this launch, while it is still the one on record.
    pub fn record_of(&mut self, launch: usize) -> Option<&mut LaunchRecord> {
        let id = self.launches[launch].session;
        self.records.get_mut(&id).filter(|record| number(record.launch) == launch)
    }

    /// The prompt that this launch carries.
    pub fn carried_prompt(&self, launch: usize) -> Option<&String> {
        let record = self.records.get(&self.launches[launch].session)?;
        let carries = record.carries_prompt && number(record.launch) == launch;
        record.prompt.as_ref().filter(|_| carries)
    }

    /// The generation of the launch on record, 0 without one.
    pub fn launched(records: &BTreeMap<SessionId, LaunchRecord>, id: SessionId) -> u64 {
        records.get(&id).map_or(0, |record| record.generation)
    }

    /// Brings states together that nothing can tell apart.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.deleters.sort();
        for number in 0..self.launches.len() {
            let launch = &self.launches[number];
            let over = launch.is_over() && self.recorded(launch.session) != Some(number);
            if over && self.terminal != Some(number) {
                self.launches[number] =
                    Launch { launcher: Launcher::Gone, ..Launch::new(launch.session) };
            }
        }
        self
    }
}

impl Launch {
    /// A launch that nobody asked tmux for yet.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            conversation: None,
            request: None,
            launcher: Launcher::None,
            agent: Process::None,
            descendant: false,
            asked: false,
            lifetime: false,
            stale: None,
        }
    }

    /// Whether the launcher process lives.
    pub fn launcher_lives(&self) -> bool {
        !matches!(self.launcher, Launcher::None | Launcher::Gone)
    }

    /// Whether a scan finds processes with the launch's mark, the launcher apart.
    pub fn has_marked(&self) -> bool {
        self.agent != Process::None || self.descendant
    }

    /// Whether an agent executes.
    pub fn agent_runs(&self) -> bool {
        matches!(self.agent, Process::Running | Process::Orphan)
    }

    /// Whether anything of it runs, or a launcher that may still start something.
    pub fn is_alive(&self) -> bool {
        self.has_marked()
            || (self.launcher_lives() && !matches!(self.launcher, Launcher::AtGate(_)))
    }

    /// Whether nothing of it is there or to come.
    fn is_over(&self) -> bool {
        self.launcher == Launcher::Gone && self.request.is_none() && !self.has_marked()
    }
}

/// The time of everything that happens.
pub const START: Timestamp = Timestamp::from_millis(1);
/// The time at which a run counts as long.
pub const LATER: Timestamp = Timestamp::from_millis(60_000);
/// The time of every plan: no delay is left. A supervisor that waits is one that takes no step.
pub const LATE: Timestamp = Timestamp::from_millis(1_000_000);

/// The one name.
pub fn name() -> SessionName {
    SessionName::parse("main").expect("BUG: legal")
}

/// The next session id.
pub fn mint(minted: &mut u8) -> SessionId {
    *minted += 1;
    SessionId::from_uuid(Uuid::from_u128(u128::from(*minted)))
}

/// The launch id of a number.
pub fn launch_id(number: usize) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(number as u128 + 1))
}

/// The number of a launch id.
pub fn number(launch: LaunchId) -> usize {
    usize::try_from(launch.as_uuid().as_u128()).expect("BUG: small") - 1
}
