//! What becomes of stored deliveries: matching, dispatch, the spawn wrapper.
//!
//! ```text
//! inbox ── unmatched ─▶ decide (pure) ─▶ one write: messages for sessions, a place in a lane
//!                                                          │                     │
//!                                                        peers           dispatch (pure)
//!                                                                                │
//!  1 freeze   the batch and its text are on disk                  webhook.frozen
//!  2 attempt  that it begins is on disk, before it does            webhook.attempted
//!  3 run      the wrapper claims the batch and writes the registry; webhook.spawned
//!  4 settle   what the wrapper answered is on disk                webhook.settled
//! ```
//!
//! A crash before 1 leaves events in their lane, and one after it a frozen batch, which the next
//! start runs again: the wrapper answers for a batch that it has claimed and does nothing. So the
//! order of 1 to 4 is all that "exactly once" rests on here; the rest is the wrapper's claim.
//!
//! One task owns all of this. What wakes it are commits of the inbox, changes of the sessions'
//! files, signs of life from peers, ends of children, and timers that are known; when none of
//! these comes it looks twice a minute.

pub(crate) mod child;
mod decision;
mod dispatching;
mod housekeeping;
mod matching;
mod message;
mod roster;
mod rules;
mod settings;
mod standing;
mod telling;
mod watch;
mod wrapper;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_box_event::{Cut, Topic, WaitReason, sanitize};
use agent_box_session::WebhookPaths;
use tokio::sync::{mpsc, watch as latest};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::cli::print::chain;
use crate::inbox::{Inbox, InboxError, Retention};
use crate::now_ms;
use crate::serve::over;

pub(crate) use message::{draw, marked, text_of_left_out};
pub(crate) use roster::{Addressee, Roster};
pub(crate) use standing::{Sign, Standing};
pub use wrapper::Wrapper;

use dispatching::Ran;
use rules::Rules;
use telling::Attempt;
use watch::SessionWatch;

/// It looks at least so often, whether or not anything happened.
const TICK_MS: u64 = 30_000;
/// How long runs of the wrapper may go on when the daemon is to end.
const DRAIN: Duration = Duration::from_secs(10);
/// The longest rest between two passes while there is work.
const LONGEST_REST: Duration = Duration::from_millis(100);
/// The first pause after the inbox failed.
const TROUBLE_MS: u64 = 1_000;

/// What the engine is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The user's home, below which the sessions' files are.
    pub home: PathBuf,
    /// The user's name.
    pub user: String,
    /// The webhook files.
    pub paths: WebhookPaths,
    /// The login that the box acts as, if it was told one.
    pub me: Option<String>,
    /// The file with the declared watch policy, if the system configuration named one.
    pub policy: Option<PathBuf>,
    /// How the wrapper is reached.
    pub wrapper: Wrapper,
    /// The time between two batches of one topic, unless `sources.json` says otherwise.
    pub window: Duration,
    /// What is kept, and for how long.
    pub retention: Retention,
}

/// What the engine tells the peers' side, and hears from it.
#[derive(Debug)]
pub(crate) struct Wires {
    /// Who is there.
    pub(crate) roster: latest::Sender<Arc<Roster>>,
    /// Goes up when messages were put into queues.
    pub(crate) enqueued: latest::Sender<u64>,
    /// Signs of life.
    pub(crate) signs: mpsc::Receiver<Sign>,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Engine {
    inbox: Inbox,
    parts: Parts,
    wires: Wires,
    rules: Rules,
    standing: Standing,
    roster: Roster,
    watch: Option<SessionWatch>,
    /// Counts changes of the sessions' files that were noticed.
    changes: u64,
    /// When the roster is to be asked for again, and how long after that.
    roster_at_ms: u64,
    roster_pause_ms: u64,
    /// The wrapper said that the box is full, and nothing has changed since.
    is_full: bool,
    runs: JoinSet<Ran>,
    running: BTreeMap<u64, Topic>,
    /// Batches that the state of the session list held, and how many changes had been seen then.
    held: BTreeMap<u64, u64>,
    /// What was recorded as the reason why each delivery waits.
    reasons: HashMap<u64, WaitReason>,
    /// Deliveries that wait for a claim, and whether that is to be asked again.
    claimed: BTreeSet<u64>,
    are_claims_stale: bool,
    tellings: JoinSet<telling::Told>,
    attempts: HashMap<crate::inbox::SessionRef, Attempt>,
    stampings: JoinSet<()>,
    /// When the lease of each session was last renewed.
    renewed: HashMap<String, u64>,
    retain_at_ms: u64,
    /// Why nobody knows which sessions there are; said once.
    blind: Option<String>,
    is_unusable_said: bool,
    /// After the inbox failed: not before this, and what was said of it.
    pause_until_ms: u64,
    trouble: Option<String>,
}

impl Engine {
    pub(crate) fn new(inbox: Inbox, parts: Parts, wires: Wires) -> Self {
        let watch = SessionWatch::new(&parts.home).map_err(|error| {
            tracing::warn!(%error, "cannot watch the sessions' files; looking twice a minute");
        });
        Self {
            roster: Roster { user: parts.user.clone(), ..Roster::default() },
            rules: Rules::new(&parts),
            standing: Standing::default(),
            inbox,
            parts,
            wires,
            watch: watch.ok(),
            changes: 0,
            roster_at_ms: 0,
            roster_pause_ms: TICK_MS,
            is_full: false,
            runs: JoinSet::new(),
            running: BTreeMap::new(),
            held: BTreeMap::new(),
            reasons: HashMap::new(),
            claimed: BTreeSet::new(),
            are_claims_stale: true,
            tellings: JoinSet::new(),
            attempts: HashMap::new(),
            stampings: JoinSet::new(),
            renewed: HashMap::new(),
            retain_at_ms: 0,
            blind: None,
            is_unusable_said: false,
            pause_until_ms: 0,
            trouble: None,
        }
    }

    /// Runs until `shutdown` is true, or until the inbox is closed.
    pub(crate) async fn run(mut self, mut shutdown: latest::Receiver<bool>) {
        let mut changed = self.inbox.changed();
        // What a crash left frozen comes first.
        self.pass_once(true).await;
        loop {
            let begun = Instant::now();
            let wake_ms = self.pass_once(false).await;
            // A storm of deliveries must not become a storm of passes: they may take half the time.
            let earliest = Instant::now() + begun.elapsed().min(LONGEST_REST);
            let pause = Duration::from_millis(wake_ms.saturating_sub(now_ms()).max(1));
            let wake = Instant::now() + pause;
            // Every branch is cancel-safe: what is not received now is there the next time.
            tokio::select! {
                changes = changed.changed() => if changes.is_err() { return },
                () = sessions_changed(self.watch.as_ref()) => {}
                Some(ran) = self.runs.join_next() => self.ran(ran).await,
                Some(told) = self.tellings.join_next() => self.told(told).await,
                Some(sign) = self.wires.signs.recv() => self.heard(sign).await,
                () = sleep_until(wake) => {}
                () = over(&mut shutdown) => break,
            }
            sleep_until(earliest).await;
        }
        self.drain().await;
    }

    /// One round of all that can be done now; answers with when to look again.
    async fn pass_once(&mut self, is_start: bool) -> u64 {
        let now = now_ms();
        if now < self.pause_until_ms {
            return self.pause_until_ms;
        }
        match self.pass(now, is_start).await {
            Ok(wake_ms) => {
                self.trouble = None;
                wake_ms.min(now + TICK_MS)
            }
            Err(error) => {
                let text = sanitize(&chain(&error), Cut::NONE);
                if self.trouble.as_ref() != Some(&text) {
                    tracing::error!("the inbox fails; trying again: {text}");
                }
                self.trouble = Some(text);
                self.pause_until_ms = now + TROUBLE_MS;
                self.pause_until_ms
            }
        }
    }

    async fn pass(&mut self, now: u64, is_start: bool) -> Result<u64, InboxError> {
        if is_start {
            return self.rerun_frozen(now).await.map(|()| now);
        }
        self.look_around(now).await?;
        self.keep_house(now).await?;
        self.match_all().await?;
        let wake_ms = self.dispatch(now_ms()).await?;
        self.tell_the_silent(now).await?;
        let told_ms = self.attempts.values().filter_map(|attempt| attempt.again_ms).min();
        self.rules.write_stamps(now, &mut self.stampings);
        while self.stampings.try_join_next().is_some() {}
        let timers = [Some(self.roster_at_ms), told_ms, wake_ms, self.rules.stamps_ms()];
        Ok(timers.into_iter().flatten().min().unwrap_or(u64::MAX).max(now + 1))
    }

    /// Lets the runs of the wrapper end and records how they did.
    async fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN;
        while let Ok(Some(ran)) = timeout_at(deadline, self.runs.join_next()).await {
            self.ran(ran).await;
        }
        self.rules.write_stamps(u64::MAX, &mut self.stampings);
        while let Ok(Some(_)) = timeout_at(deadline, self.stampings.join_next()).await {}
        // What is left is killed with its group; its batches are frozen and run again.
        self.runs.shutdown().await;
        self.tellings.shutdown().await;
    }
}

async fn sessions_changed(watch: Option<&SessionWatch>) {
    match watch {
        Some(watch) => watch.readable().await,
        None => std::future::pending().await,
    }
}
