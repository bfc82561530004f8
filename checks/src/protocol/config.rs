//! Which actors take part, how much may go wrong, and which rule is broken on purpose.

use agent_box_session::Exit;

use super::properties::Claim;

/// One configuration of the model.
#[derive(Clone, Debug)]
pub struct Config {
    /// For messages.
    pub name: &'static str,
    /// Launches at most; a start beyond is not taken.
    pub launches: usize,
    /// Concurrent `rm` (0 to 2).
    pub deleters: usize,
    /// `add`s of the same name with another prompt.
    pub adds: u8,
    /// `restart`s.
    pub restarts: u8,
    /// `stop`s.
    pub stops: u8,
    /// What the person with the editor may save.
    pub edits: &'static [Edit],
    /// Launchers killed with -9.
    pub kills: u8,
    /// Deaths of the tmux server.
    pub servers: u8,
    /// Descendants that outlive their agent.
    pub descendants: u8,
    /// Terminals that tmux forgets to close.
    pub lingering: u8,
    /// How an agent may end by itself.
    pub exits: &'static [Exit],
    /// Quick deaths before the first launch; `None` makes every run a long one.
    pub deaths: Option<u32>,
    /// Whether the supervisor may crash.
    pub supervisor_crashes: bool,
    /// The rule that is broken, if one is.
    pub broken: Option<Broken>,
    /// The one promise to look at; all of them if none is named.
    pub only: Option<Claim>,
}

/// A way to save the file from an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edit {
    /// The copy as it was opened, although the file changed since.
    Stale,
    /// Without id and generation.
    DropId,
    /// With `stopped` taken out.
    Enable,
    /// Without the entry.
    Remove,
}

/// A protocol with one rule left out; the search must find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The supervisor checks before it asks tmux, the launcher does not.
    CheckBeforeTmux,
    /// Nobody takes the registry lock.
    NoLock,
    /// A name is the identity.
    IdentityByName,
    /// What is unwanted is left to whoever unwanted it.
    NoReaping,
    /// Intents do not raise the generation.
    NoGeneration,
    /// Neither the lifetime lock nor the recorded processes prove that a launch is gone.
    NoProof,
    /// The record is written without comparing it with the one that was planned on.
    NoComparing,
}

impl Config {
    /// One supervisor that may crash, and three launches.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            launches: 3,
            deleters: 0,
            adds: 0,
            restarts: 0,
            stops: 0,
            edits: &[],
            kills: 0,
            servers: 0,
            descendants: 0,
            lingering: 0,
            exits: &[],
            deaths: None,
            supervisor_crashes: true,
            broken: None,
            only: None,
        }
    }

    /// The same with a rule left out, to be seen in this broken promise.
    #[must_use]
    pub fn without(self, rule: Broken, seen_in: Claim) -> Self {
        Self { broken: Some(rule), only: Some(seen_in), ..self }
    }

    /// Whether this rule is left out.
    pub fn lacks(&self, rule: Broken) -> bool {
        self.broken == Some(rule)
    }
}

const ALL_EXITS: &[Exit] = &[Exit::Code(0), Exit::Code(1), Exit::Signal(9)];
const CLEAN_EXIT: &[Exit] = &[Exit::Code(0)];

/// Deleters against an adder of the same name, and a launcher that is killed.
pub const TWO_DELETERS: Config =
    Config { deleters: 2, adds: 1, kills: 1, ..Config::new("two deleters, an adder") };
/// A deleter and an adder while the tmux server dies and a descendant hides.
pub const DELETER_AND_TMUX: Config = Config {
    deleters: 1,
    adds: 1,
    servers: 1,
    descendants: 1,
    ..Config::new("deleter, adder, tmux death, descendant")
};
/// Agents that end, a restarter, a killed launcher.
pub const ENDS: Config =
    Config { exits: ALL_EXITS, restarts: 1, kills: 1, ..Config::new("ends, restarter") };
/// A stopper against a restarter, with clean ends in between.
pub const STOP: Config =
    Config { exits: CLEAN_EXIT, restarts: 1, stops: 1, ..Config::new("stopper, restarter") };
/// Everything that can die dies.
pub const DEATHS: Config = Config {
    kills: 2,
    servers: 1,
    descendants: 1,
    lingering: 1,
    ..Config::new("deaths of launchers and tmux")
};
/// Hand edits against `rm` and `restart`.
pub const EDITS: Config = Config {
    deleters: 1,
    restarts: 1,
    edits: &[Edit::Stale, Edit::DropId, Edit::Remove],
    ..Config::new("editor, deleter, restarter")
};
/// Hand edits against `rm` and `add`.
pub const EDITS_AND_ADD: Config = Config {
    deleters: 1,
    adds: 1,
    edits: &[Edit::Stale, Edit::DropId, Edit::Remove],
    ..Config::new("editor, deleter, adder")
};
/// Two restarts and an editor whose copy is stale.
pub const GENERATIONS: Config = Config {
    restarts: 2,
    edits: &[Edit::Stale],
    supervisor_crashes: false,
    ..Config::new("two restarters, editor")
};
/// Parking, and what a person makes of it.
pub const PARK: Config = Config {
    exits: CLEAN_EXIT,
    restarts: 1,
    edits: &[Edit::Stale, Edit::DropId, Edit::Enable],
    ..Config::new("clean ends, editor, restarter")
};
/// Quick deaths up to the crash loop.
pub const CRASH_LOOP: Config = Config {
    exits: &[Exit::Signal(9)],
    restarts: 1,
    deaths: Some(3),
    ..Config::new("quick deaths, restarter")
};
