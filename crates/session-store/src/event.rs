//! One line of the journal.

use agent_box_session::{LaunchId, SessionId, SessionName, Timestamp};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A session was added.
    Added,
    /// A session was removed.
    Removed,
    /// A session was stopped by somebody.
    Stopped,
    /// A new launch was asked for.
    Restarted,
    /// An id was attached, minted or taken away.
    Settled,
    /// tmux was asked for a session.
    Spawn,
    /// The gate was passed and the agent started.
    Started,
    /// The agent ended.
    Exit,
    /// Something unwanted was ended.
    Reap,
    /// A launch or command was refused.
    Refusal,
    /// A session was stopped because its agent ended cleanly.
    Park,
    /// A live session was taken over.
    Adopt,
    /// A wanted session cannot be started.
    Trouble,
    /// A damaged registry was repaired.
    Repair,
    /// A change was undone.
    Undo,
    /// The registry was changed by another program or by hand.
    HandEdit,
    /// The supervisor itself started, stopped or failed.
    Supervisor,
}

impl EventKind {
    const ALL: [(Self, &'static str); 17] = [
        (Self::Added, "added"),
        (Self::Removed, "removed"),
        (Self::Stopped, "stopped"),
        (Self::Restarted, "restarted"),
        (Self::Settled, "settled"),
        (Self::Spawn, "spawn"),
        (Self::Started, "started"),
        (Self::Exit, "exit"),
        (Self::Reap, "reap"),
        (Self::Refusal, "refusal"),
        (Self::Park, "park"),
        (Self::Adopt, "adopt"),
        (Self::Trouble, "trouble"),
        (Self::Repair, "repair"),
        (Self::Undo, "undo"),
        (Self::HandEdit, "hand-edit"),
        (Self::Supervisor, "supervisor"),
    ];

    /// The kind as the journal spells it.
    pub fn as_str(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.expect("BUG: the table lists every kind").1
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, spelled)| *spelled == text).map(|(kind, _)| *kind)
    }
}

/// Something that happened, for `log` and `why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: EventKind,
    /// To which session, if to one.
    pub session: Option<SessionId>,
    /// The session's name then.
    pub name: Option<SessionName>,
    /// In which launch.
    pub launch: Option<LaunchId>,
    /// Who did it, in words for people.
    pub by: Option<String>,
    /// For people: one sentence fragment.
    pub text: String,
    /// For programs: exit codes, durations, pids.
    pub details: Vec<(String, String)>,
}

impl Event {
    /// An event about no particular session.
    pub fn new(at: Timestamp, kind: EventKind, text: impl Into<String>) -> Self {
        Self {
            at,
            kind,
            session: None,
            name: None,
            launch: None,
            by: None,
            text: text.into(),
            details: Vec::new(),
        }
    }

    /// Says which session it is about.
    #[must_use]
    pub fn about(mut self, session: SessionId, name: &SessionName) -> Self {
        self.session = Some(session);
        self.name = Some(name.clone());
        self
    }

    /// Says which launch it is about.
    #[must_use]
    pub fn in_launch(mut self, launch: LaunchId) -> Self {
        self.launch = Some(launch);
        self
    }

    /// Says who did it.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.by = Some(who.into());
        self
    }

    /// Adds one detail for programs.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl ToString) -> Self {
        self.details.push((key.to_owned(), value.to_string()));
        self
    }
}
