//! The decision: what to do so that what runs becomes what is wanted. Pure.
//!
//! Reads in three steps: what must end, what is in the way, what may start. "Unknown" never
//! leads to an action: an unreadable registry plans nothing at all, an unanswered tmux plans no
//! start and calls nothing an orphan.

use std::collections::{BTreeMap, BTreeSet};

use agent_box_session::{
    Backoff, Ending, Entry, LaunchId, LaunchRecord, LaunchState, Registry, SessionId, SessionName,
    Timestamp, TroubleKind,
};

/// Something that was looked at: either known, or not for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Known<T> {
    /// What was seen.
    Known(T),
    /// Why nothing can be said.
    Unknown(String),
}

impl<T> Known<T> {
    /// What was seen, if anything was.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(seen) => Some(seen),
            Self::Unknown(_) => None,
        }
    }
}

/// One tmux session, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terminal {
    /// tmux's own id (`$3`), never reused within a server.
    pub tmux_id: String,
    /// Its name at the moment.
    pub name: String,
    /// The session id it carries, if it carries our store's tags.
    pub session: Option<SessionId>,
    /// The launch it carries, likewise.
    pub launch: Option<LaunchId>,
    /// The pane's process.
    pub pane_pid: i32,
    /// Whether it carries tags of another store.
    pub foreign: bool,
    /// The conversation in its environment, looked up only where it decides something.
    pub conversation: Option<String>,
}

/// What is seen of a session's launch besides its terminal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaunchView {
    /// The record, or why it cannot be read.
    pub record: Known<LaunchRecord>,
    /// Whether nobody holds the lifetime lock. Only looked up where no terminal is seen.
    pub lock_free: bool,
    /// Whether the launcher on record lives; where a terminal is seen, the process in it.
    pub launcher_alive: bool,
    /// Whether processes carry this launch's id (the launcher apart).
    pub leftovers: bool,
}

impl LaunchView {
    /// Whether nothing of the launch can be running any more.
    fn is_gone(&self) -> bool {
        self.lock_free && !self.launcher_alive && !self.leftovers
    }
}

/// Everything that was looked at in one pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Observed {
    /// The tmux sessions; no server is an empty list, no answer is unknown.
    pub terminals: Known<Vec<Terminal>>,
    /// Launches by session id.
    pub launches: BTreeMap<SessionId, LaunchView>,
    /// When each session was last given to tmux by this supervisor, and for which generation.
    pub attempts: BTreeMap<SessionId, (u64, Timestamp)>,
    /// Sessions with a task under way; nothing new is planned for them.
    pub busy: BTreeSet<SessionId>,
}

/// What the operator wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Intent {
    /// The registry.
    pub registry: Registry,
    /// The ids among all known ones that have a tombstone.
    pub removed: BTreeSet<SessionId>,
    /// Whether an id is missing, doubled or changed hands: ids come first.
    pub unsettled: bool,
}

/// Why a launch has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// Its session is not listed.
    NotListed,
    /// Its session is stopped.
    Stopped,
    /// A newer intent replaced it.
    OlderGeneration,
    /// Its terminal is gone; nobody can reach it.
    NoTerminal,
    /// Its launcher is gone; nobody watches it.
    NoLauncher,
    /// It ended, but its terminal lingers.
    Lingers,
}

impl EndReason {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotListed => "its session is not listed",
            Self::Stopped => "its session is stopped",
            Self::OlderGeneration => "a newer intent replaced it",
            Self::NoTerminal => "its terminal is gone",
            Self::NoLauncher => "its launcher is gone",
            Self::Lingers => "it ended but its terminal lingers",
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Bring the ids of the registry in order.
    Settle,
    /// End a launch and everything of it.
    End {
        /// Whose.
        session: SessionId,
        /// Which.
        launch: LaunchId,
        /// Why.
        reason: EndReason,
    },
    /// Start a session.
    Start {
        /// Which.
        session: SessionId,
        /// For which generation.
        generation: u64,
        /// The launch on record whose end was proven, with its state: the record may only be
        /// replaced while it is still this one.
        base: Option<(LaunchId, LaunchState)>,
    },
    /// Show the post-mortem of an ended launch in a new terminal.
    ShowPostMortem {
        /// Whose.
        session: SessionId,
        /// Of which launch.
        launch: LaunchId,
    },
    /// Park a session whose agent ended cleanly.
    Park {
        /// Which.
        session: SessionId,
        /// The generation it ended in.
        generation: u64,
    },
    /// Tag a live terminal that is the session's although it has no tags.
    Adopt {
        /// Which session.
        session: SessionId,
        /// Which terminal.
        tmux_id: String,
        /// The process in it.
        pane_pid: i32,
    },
    /// Write down why a session is not started.
    Report {
        /// Which session.
        session: SessionId,
        /// Which kind of trouble.
        kind: TroubleKind,
        /// In words.
        text: String,
    },
}

impl Action {
    /// The session that the action is about.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Settle => None,
            Self::End { session, .. }
            | Self::Start { session, .. }
            | Self::ShowPostMortem { session, .. }
            | Self::Park { session, .. }
            | Self::Adopt { session, .. }
            | Self::Report { session, .. } => Some(*session),
        }
    }
}

/// What to do now, and when to look again at the latest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Plan {
    /// At most one action per session, plus at most one settling.
    pub actions: Vec<Action>,
    /// The earliest time at which this plan could change by itself.
    pub wake: Option<Timestamp>,
}

impl Plan {
    fn wake_at(&mut self, at: Timestamp) {
        self.wake = Some(self.wake.map_or(at, |earlier| earlier.min(at)));
    }
}

/// How soon to look again at a terminal that is about to close.
const CLOSING: std::time::Duration = std::time::Duration::from_millis(25);
/// How long a terminal may outlive its launch's end.
const LINGER: std::time::Duration = std::time::Duration::from_secs(1);

/// Decides.
pub fn plan(intent: &Known<Intent>, observed: &Observed, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Known::Known(intent) = intent else { return plan };
    if intent.unsettled {
        plan.actions.push(Action::Settle);
    }
    plan_ends(intent, observed, now, &mut plan);
    let ending: BTreeSet<SessionId> = plan.actions.iter().filter_map(Action::session).collect();
    for (name, entry) in intent.registry.entries() {
        let Some(id) = entry.id else { continue };
        let settled = !intent.removed.contains(&id) && holds_alone(&intent.registry, id);
        if settled && !ending.contains(&id) && !observed.busy.contains(&id) && !entry.stopped {
            plan_start(name, id, intent, observed, now, &mut plan);
        }
    }
    plan
}

/// Whether only one entry has this id; a copied entry is settled first.
fn holds_alone(registry: &Registry, id: SessionId) -> bool {
    registry.entries().filter(|(_, entry)| entry.id == Some(id)).count() == 1
}

fn plan_ends(intent: &Intent, observed: &Observed, now: Timestamp, plan: &mut Plan) {
    let mut ends: BTreeMap<SessionId, (LaunchId, EndReason)> = BTreeMap::new();
    let mut end = |session, launch, reason| {
        ends.entry(session).or_insert((launch, reason));
    };
    for terminal in observed.terminals.known().into_iter().flatten() {
        let (Some(session), Some(launch)) = (terminal.session, terminal.launch) else { continue };
        let view = observed.launches.get(&session);
        if let Some(reason) = unwanted(intent, session, launch, view) {
            end(session, launch, reason);
        } else if let Some(view) = view
            && let Known::Known(record) = &view.record
            && record.launch == launch
        {
            match &record.state {
                // Its launcher is about to exit; tmux sometimes misses that (platform facts).
                LaunchState::Ended { at, ending, .. } if *ending != Ending::PostMortem => {
                    if now >= at.plus(LINGER) {
                        end(session, launch, EndReason::Lingers);
                    } else {
                        plan.wake_at(now.plus(CLOSING));
                    }
                }
                // Killed, and tmux missed it: without this the session would wait for ever.
                _ if !view.launcher_alive => end(session, launch, EndReason::NoLauncher),
                _ => {}
            }
        }
    }
    for (session, view) in &observed.launches {
        let Known::Known(record) = &view.record else { continue };
        if view.is_gone() {
            continue;
        }
        let has_terminal = |terminals: &Vec<Terminal>| {
            terminals.iter().any(|terminal| terminal.launch == Some(record.launch))
        };
        if let Some(reason) = unwanted(intent, *session, record.launch, Some(view)) {
            end(*session, record.launch, reason);
        } else if !view.launcher_alive && view.lock_free && view.leftovers {
            end(*session, record.launch, EndReason::NoLauncher);
        } else if view.launcher_alive
            && observed.terminals.known().is_some_and(|terminals| !has_terminal(terminals))
        {
            end(*session, record.launch, EndReason::NoTerminal);
        }
    }
    for (session, (launch, reason)) in ends {
        if !observed.busy.contains(&session) {
            plan.actions.push(Action::End { session, launch, reason });
        }
    }
}

/// Why this launch is not wanted, if it is not.
fn unwanted(
    intent: &Intent,
    session: SessionId,
    launch: LaunchId,
    view: Option<&LaunchView>,
) -> Option<EndReason> {
    if intent.removed.contains(&session) {
        return Some(EndReason::NotListed);
    }
    if !intent.registry.lists(session) {
        // An entry that lost its id in a hand edit may be this very session's: ids come first.
        let lost = intent.registry.entries().any(|(_, entry)| entry.id.is_none());
        return (!lost).then_some(EndReason::NotListed);
    }
    // An entry that cannot be used is a mistake, not an intent: what runs is left alone.
    let (_, entry) = intent.registry.by_id(session)?;
    if entry.stopped {
        return Some(EndReason::Stopped);
    }
    match &view?.record {
        Known::Known(record) if record.launch != launch => Some(EndReason::OlderGeneration),
        Known::Known(record) if record.generation < entry.generation => {
            Some(EndReason::OlderGeneration)
        }
        _ => None,
    }
}

fn plan_start(
    name: &SessionName,
    session: SessionId,
    intent: &Intent,
    observed: &Observed,
    now: Timestamp,
    plan: &mut Plan,
) {
    let Some(entry) = intent.registry.entry(name) else { return };
    let Known::Known(terminals) = &observed.terminals else { return };
    let view = observed.launches.get(&session);
    if terminals.iter().any(|terminal| terminal.session == Some(session)) {
        return;
    }
    let record = match view.map(|view| &view.record) {
        Some(Known::Unknown(_)) => return,
        Some(Known::Known(record)) => Some(record),
        None => None,
    };
    if let Some(holder) = terminals.iter().find(|terminal| terminal.name == name.as_str()) {
        if view.is_none_or(LaunchView::is_gone) {
            plan_name_taken(session, entry, holder, intent, record, now, plan);
        }
        return;
    }
    let newer = record.is_none_or(|record| record.generation < entry.generation);
    // Whatever the record says, one session is not given to tmux twice within a second.
    if let Some((generation, at)) = observed.attempts.get(&session)
        && *generation == entry.generation
        && !is_due(at.plus(Backoff::APART), now)
    {
        plan.wake_at(at.plus(Backoff::APART));
        return;
    }
    let Some((record, view)) = record.zip(view) else {
        plan.actions.push(Action::Start { session, generation: entry.generation, base: None });
        return;
    };
    let base = Some((record.launch, record.state.clone()));
    let start = Action::Start { session, generation: entry.generation, base };
    match &record.state {
        LaunchState::Ended { ending: Ending::Parked, .. } if !newer => {
            plan.actions.push(Action::Park { session, generation: entry.generation });
        }
        LaunchState::Ended { ending: Ending::PostMortem, .. } if !newer => {
            plan.actions.push(Action::ShowPostMortem { session, launch: record.launch });
        }
        _ if !view.is_gone() => {}
        _ if newer => plan.actions.push(start),
        _ => match record.next_start() {
            Backoff::Until(at) if is_due(at, now) => plan.actions.push(start),
            Backoff::Until(at) => plan.wake_at(at),
            Backoff::CrashLooping => {}
        },
    }
}

/// Whether a waiting time is over. One that lies further ahead than any delay can was written
/// before the clock was set back.
fn is_due(at: Timestamp, now: Timestamp) -> bool {
    at <= now || at > now.plus(Backoff::LONGEST + Backoff::APART)
}

/// Another terminal holds the session's name: adopt it, wait for it to close, or say so.
fn plan_name_taken(
    session: SessionId,
    entry: &Entry,
    holder: &Terminal,
    intent: &Intent,
    record: Option<&LaunchRecord>,
    now: Timestamp,
    plan: &mut Plan,
) {
    if let Some(other) = holder.session {
        // Another session of ours that is being ended or renamed: that wakes us; else look again.
        plan.wake_at(now.plus(LINGER));
        // It stays, though, where a person renamed the terminal of one that shall run.
        let owner = intent.registry.by_id(other).filter(|(_, entry)| !entry.stopped);
        let Some((owner, _)) = owner.filter(|(owner, _)| owner.as_str() != holder.name) else {
            return;
        };
        let text = format!(
            "name taken: tmux session `{0}` is that of session `{owner}`, renamed; rename it back \
             (`tmux rename-session -t ={0} {owner}`), or remove one of them",
            holder.name
        );
        report_name_taken(session, text, record, plan);
        return;
    }
    if !holder.foreign && entry.conversation.is_some() && holder.conversation == entry.conversation
    {
        plan.actions.push(Action::Adopt {
            session,
            tmux_id: holder.tmux_id.clone(),
            pane_pid: holder.pane_pid,
        });
        return;
    }
    let text = format!(
        "name taken: tmux session `{}` was not started by agent-box; \
         rename or close it (`tmux kill-session`), or remove this session",
        holder.name
    );
    report_name_taken(session, text, record, plan);
}

fn report_name_taken(
    session: SessionId,
    text: String,
    record: Option<&LaunchRecord>,
    plan: &mut Plan,
) {
    let known = record
        .and_then(|record| record.trouble.as_ref())
        .is_some_and(|trouble| trouble.kind == TroubleKind::NameTaken);
    if !known {
        plan.actions.push(Action::Report { session, kind: TroubleKind::NameTaken, text });
    }
}

#[cfg(test)]
mod tests;
