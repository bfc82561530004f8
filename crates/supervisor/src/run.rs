//! The event loop: one task owns all state; per-session work runs on blocking threads.
//!
//! Everything that can wake the supervisor is a branch of the one `select!`. A pass takes a look
//! (on a blocking thread, so a silent tmux delays nothing but itself), plans, and hands the
//! actions to tasks. Errors are recorded per session; nothing between an event and the next pass
//! ends the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agent_box_session::{LaunchId, SessionId, Timestamp};
use agent_box_session_store::{ClaimError, Event, EventKind};
use agent_box_tmux_driver::SessionTarget;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use thiserror::Error;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout};

use crate::blindness::{self, Blindness};
use crate::ending::{Target, end_launch};
use crate::observe::{Look, Observer, Stale};
use crate::plan::{Action, EndReason, Plan, plan};
use crate::process::Stat;
use crate::start::{Planned, Starter};
use crate::tasks::{chain, park, report_start, settle};
use crate::watch::Watch;

/// The slow timer alone is enough to be correct.
pub const TICK: Duration = Duration::from_secs(30);
/// A start that takes longer than this gives its place in the queue to others.
const START_DEADLINE: Duration = Duration::from_secs(30);
/// So many starts at once; tmux carries out one at a time anyway.
const STARTS: usize = 16;
/// How long tasks may finish after the supervisor was asked to end.
const DRAIN: Duration = Duration::from_secs(3);
/// The pause before an end that failed is tried again.
const END_AGAIN: Duration = Duration::from_secs(5);

/// The supervisor cannot run; everything after its start is recorded, not returned.
#[derive(Debug, Error)]
pub enum RunError {
    /// Another one runs, or the claim cannot be made.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Changes cannot be watched.
    #[error("cannot watch {what}")]
    Watch {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The state directory cannot be written.
    #[error(transparent)]
    Io(#[from] agent_box_session_store::IoError),
}

/// What a finished task was about.
#[derive(Debug)]
enum Done {
    /// A session's task.
    Session(SessionId),
    /// The ids are in order.
    Settled,
    /// A watched process ended.
    Gone(i32, u64),
    /// Nothing to remember.
    Nothing,
}

/// Runs until SIGTERM or SIGINT; sessions go on without it.
///
/// # Errors
/// When it cannot start.
pub async fn run(starter: Starter) -> Result<(), RunError> {
    let claim = claim(&starter).await?;
    starter.store.write_socket_note(starter.tmux.socket())?;
    let signals = |kind| signal(kind).map_err(|source| RunError::Watch { what: "signals", source });
    let mut interrupt = signals(SignalKind::interrupt())?;
    let mut terminate = signals(SignalKind::terminate())?;
    let hangup = signals(SignalKind::hangup())?;
    let watch = Watch::new(starter.store.paths())
        .map_err(|source| RunError::Watch { what: "the registry's directory", source })?;
    let observer = Observer::new(starter.store.clone(), starter.tmux.clone());
    let mut supervisor = Supervisor {
        starter: Arc::new(starter),
        observer: Some(observer),
        watch,
        tasks: JoinSet::new(),
        busy: BTreeSet::new(),
        settling: false,
        attempts: BTreeMap::new(),
        watched: BTreeSet::new(),
        starts: Arc::new(Semaphore::new(STARTS)),
        blindness: Blindness::default(),
        _hangup: hangup,
    };
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Status("looking for the first time")]);
    supervisor.sweep();
    let mut ready = false;
    let mut tick = Instant::now() + TICK;
    loop {
        let started = Instant::now();
        let wake = supervisor.pass().await;
        if !ready {
            ready = true;
            let _ = sd_notify::notify(&[
                sd_notify::NotifyState::Ready,
                sd_notify::NotifyState::Status("sessions are being kept"),
            ]);
        }
        // A storm of events must not become a storm of passes: a pass may take up half the time.
        let earliest = Instant::now() + started.elapsed().max(Duration::from_millis(2));
        let until = Instant::now() + wake;
        let ended = tokio::select! {
            // Cancel-safe: a signal not received now is received at the next call.
            _ = interrupt.recv() => true,
            _ = terminate.recv() => true,
            () = supervisor.woken(until.min(tick)) => false,
        };
        if ended {
            break;
        }
        // Gather what else happens until the next pass may begin.
        while Instant::now() < earliest {
            supervisor.woken(earliest).await;
        }
        if Instant::now() >= tick {
            tick = Instant::now() + TICK;
            supervisor.look_everywhere();
        }
    }
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    supervisor.shut_down().await;
    drop(claim);
    Ok(())
}

/// Takes the supervisor's place; waits a moment, since a predecessor may be about to leave.
async fn claim(starter: &Starter) -> Result<agent_box_session_store::SupervisorClaim, RunError> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match starter.store.claim_supervisor() {
            Err(ClaimError::Taken { .. }) if Instant::now() < deadline => {
                sleep_until(Instant::now() + Duration::from_millis(50)).await;
            }
            claim => return Ok(claim?),
        }
    }
}

struct Supervisor {
    starter: Arc<Starter>,
    /// Away while a look is taken.
    observer: Option<Observer>,
    watch: Watch,
    tasks: JoinSet<Done>,
    busy: BTreeSet<SessionId>,
    settling: bool,
    attempts: BTreeMap<SessionId, (u64, Timestamp)>,
    watched: BTreeSet<(i32, u64)>,
    starts: Arc<Semaphore>,
    blindness: Blindness,
    /// Held so that a hang-up of the terminal does not end the supervisor by default.
    _hangup: Signal,
}

impl Supervisor {
    /// One round; returns how long to wait at most before the next one.
    async fn pass(&mut self) -> Duration {
        let found = self.watch.is_incomplete() && self.watch.renew().is_ok();
        let Some(mut observer) = self.observer.take() else { return TICK };
        if found {
            observer.forget(Stale::Everything);
        }
        let busy = self.busy.clone();
        let attempts = self.attempts.clone();
        let trips = self.starter.tmux.round_trips();
        let looked = spawn_blocking(move || {
            let look = observer.look(busy, attempts);
            (observer, look)
        })
        .await;
        let Ok((observer, look)) = looked else {
            // A look that panicked took its cache with it.
            tracing::error!("a look at the sessions failed; looking again from scratch");
            let starter = &self.starter;
            self.observer = Some(Observer::new(starter.store.clone(), starter.tmux.clone()));
            return Duration::from_secs(1);
        };
        self.observer = Some(observer);
        // Tasks that run beside the look make calls of their own; a quiet pass makes one.
        tracing::debug!(round_trips = self.starter.tmux.round_trips() - trips, "pass");
        self.watch_processes(&look);
        let now = self.starter.now();
        let mut wait = self.blindness.report(&look, &self.starter);
        let plan = plan(&look.intent, &look.observed, now);
        if let Some(wake) = plan.wake {
            wait = wait.min(wake.since(now).max(Duration::from_millis(1)));
        }
        if self.watch.is_incomplete() {
            wait = wait.min(blindness::SILENCE);
        }
        self.execute(plan, &look, now);
        if let Some(document) = look.unseen {
            let starter = Arc::clone(&self.starter);
            self.tasks.spawn(async move {
                let noted = spawn_blocking(move || starter.store.note_hand_edit(&document)).await;
                if let Ok(Err(error)) = noted {
                    tracing::warn!(%error, "an edit of the registry is not in the history");
                }
                Done::Nothing
            });
        }
        wait
    }

    /// Waits until something happens or `until`.
    async fn woken(&mut self, until: Instant) {
        tokio::select! {
            // Cancel-safe: see `Watch::changed`.
            changed = self.watch.changed() => match changed {
                Ok(changes) => {
                    if let Some(observer) = &mut self.observer {
                        observer.forget(changes.records);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot watch for changes; relying on the timer");
                    sleep_until(Instant::now() + Duration::from_secs(1)).await;
                }
            },
            // Cancel-safe: a task that finishes stays in the set until it is joined.
            Some(done) = self.tasks.join_next() => match done {
                Ok(Done::Session(session)) => {
                    self.busy.remove(&session);
                    if let Some(observer) = &mut self.observer {
                        observer.forget(Stale::Records(BTreeSet::from([session])));
                    }
                }
                Ok(Done::Settled) => self.settling = false,
                Ok(Done::Gone(pid, start_time)) => {
                    self.watched.remove(&(pid, start_time));
                }
                Ok(Done::Nothing) => {}
                Err(error) => tracing::error!(%error, "a task failed"),
            },
            // Cancel-safe: a timer.
            () = sleep_until(until) => {}
        }
    }

    /// Removes files of sessions that are long gone; once a life is enough.
    fn sweep(&mut self) {
        let starter = Arc::clone(&self.starter);
        self.tasks.spawn(async move {
            let sweep =
                move || (starter.store.sweep(), starter.subscriptions.sweep(&starter.store));
            let (files, filters) = match spawn_blocking(sweep).await {
                Ok(swept) => swept,
                Err(error) => {
                    tracing::error!(%error, "a task failed");
                    return Done::Nothing;
                }
            };
            match files {
                Ok(swept) => tracing::debug!(swept, "swept files that nobody can reach"),
                Err(error) => tracing::warn!(error = chain(&error), "cannot sweep old files"),
            }
            match filters {
                Ok(swept) => tracing::debug!(swept, "swept subscriptions of removed sessions"),
                Err(error) => {
                    tracing::warn!(error = chain(&error), "subscriptions stay as they are");
                }
            }
            Done::Nothing
        });
    }

    /// The safety tick: nothing remembered is trusted, and replaced directories are found.
    fn look_everywhere(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.forget(Stale::Everything);
        }
        if let Err(error) = self.watch.renew() {
            tracing::warn!(%error, "cannot renew the watches; relying on the timer");
        }
    }

    /// Watches launchers and the tmux server until they end: their end is news.
    fn watch_processes(&mut self, look: &Look) {
        let server = look.server.and_then(Stat::read).map(|stat| (stat.pid, stat.start_time));
        for (pid, start_time) in look.launchers.iter().copied().chain(server) {
            if self.watched.contains(&(pid, start_time)) {
                continue;
            }
            let Some(fd) = Pid::from_raw(pid)
                .and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok())
                .filter(|_| Stat::read(pid).is_some_and(|it| it.start_time == start_time))
            else {
                continue;
            };
            #[expect(
                deprecated,
                reason = "its successor is unsafe; an OwnedFd keeps its descriptor"
            )]
            let Ok(fd) = AsyncFd::with_interest(fd, tokio::io::Interest::READABLE) else {
                continue;
            };
            self.watched.insert((pid, start_time));
            self.tasks.spawn(async move {
                let _ = fd.readable().await;
                Done::Gone(pid, start_time)
            });
        }
    }

    fn execute(&mut self, plan: Plan, look: &Look, now: Timestamp) {
        for action in plan.actions {
            match action {
                Action::Settle => self.settle(),
                Action::End { session, launch, reason } => self.end(session, launch, reason, look),
                Action::Start { session, generation, base } => {
                    self.attempts.insert(session, (generation, now));
                    self.start(Planned { session, generation, base });
                }
                Action::ShowPostMortem { session, launch } => {
                    let generation = generation_of(look, session);
                    self.attempts.insert(session, (generation, now));
                    self.blocking(session, move |starter| {
                        starter.show_post_mortem(session, launch).map_err(|error| chain(&error))
                    });
                }
                Action::Park { session, generation } => {
                    self.blocking(session, move |starter| park(starter, session, generation));
                }
                Action::Adopt { session, tmux_id, pane_pid } => {
                    self.blocking(session, move |starter| {
                        let target =
                            SessionTarget::id(&tmux_id).map_err(|error| error.to_string())?;
                        starter.adopt(session, &target, pane_pid).map_err(|error| chain(&error))
                    });
                }
                Action::Report { session, kind, text } => self.blocking(session, move |starter| {
                    starter.report(session, kind, &text).map(drop).map_err(|error| chain(&error))
                }),
            }
        }
        self.attempts.retain(|session, _| {
            look.intent.known().is_none_or(|intent| intent.registry.lists(*session))
        });
    }

    /// Runs one session's work on a blocking thread; the session is busy until it is done.
    fn blocking(
        &mut self,
        session: SessionId,
        work: impl FnOnce(&Starter) -> Result<(), String> + Send + 'static,
    ) {
        self.busy.insert(session);
        let starter = Arc::clone(&self.starter);
        self.tasks.spawn(async move {
            match spawn_blocking(move || work(&starter)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%session, error, "will be tried again"),
                Err(error) => tracing::error!(%session, %error, "a task failed"),
            }
            Done::Session(session)
        });
    }

    fn start(&mut self, planned: Planned) {
        let session = planned.session;
        self.busy.insert(session);
        let starter = Arc::clone(&self.starter);
        let starts = Arc::clone(&self.starts);
        self.tasks.spawn(async move {
            let permit = starts.acquire_owned().await;
            let mut task = spawn_blocking(move || report_start(&starter, &planned));
            if timeout(START_DEADLINE, &mut task).await.is_err() {
                tracing::warn!(%session, "a start hangs; other sessions go on");
                drop(permit);
                let _ = task.await;
            }
            Done::Session(session)
        });
    }

    fn end(&mut self, session: SessionId, launch: LaunchId, reason: EndReason, look: &Look) {
        let view = look.observed.launches.get(&session);
        let record = view.and_then(|view| view.record.known()).filter(|it| it.launch == launch);
        let terminal = look
            .observed
            .terminals
            .known()
            .into_iter()
            .flatten()
            .find(|terminal| terminal.launch == Some(launch));
        let target = Target {
            launch,
            record: record.cloned(),
            terminal: terminal.and_then(|terminal| SessionTarget::id(&terminal.tmux_id).ok()),
        };
        let name = record
            .map(|record| record.name.clone())
            .or_else(|| Some(look.intent.known()?.registry.by_id(session)?.0.clone()));
        self.busy.insert(session);
        let starter = Arc::clone(&self.starter);
        self.tasks.spawn(async move {
            let ended = spawn_blocking(move || {
                let mut event = Event::new(starter.now(), EventKind::Reap, reason.text())
                    .in_launch(launch)
                    .by("supervisor");
                event.session = Some(session);
                event.name = name;
                if let Err(error) = starter.store.journal().append(&event) {
                    tracing::warn!(%error, "cannot write the journal");
                }
                end_launch(&starter.tmux, &target, Duration::from_millis(starter.grace_ms))
            })
            .await;
            if let Ok(Err(error)) = ended {
                tracing::warn!(%session, %launch, error = chain(&error), "will be tried again");
                sleep_until(Instant::now() + END_AGAIN).await;
            }
            Done::Session(session)
        });
    }

    fn settle(&mut self) {
        if self.settling {
            return;
        }
        self.settling = true;
        let starter = Arc::clone(&self.starter);
        self.tasks.spawn(async move {
            let settled = spawn_blocking(move || settle(&starter)).await;
            if let Ok(Err(error)) = settled {
                tracing::warn!(error, "cannot bring the ids in order; will be tried again");
                sleep_until(Instant::now() + Duration::from_secs(1)).await;
            }
            Done::Settled
        });
    }

    async fn shut_down(mut self) {
        self.starts.close();
        let drain = async {
            while !self.busy.is_empty() || self.settling {
                match self.tasks.join_next().await {
                    Some(Ok(Done::Session(session))) => {
                        self.busy.remove(&session);
                    }
                    Some(Ok(Done::Settled)) => self.settling = false,
                    Some(_) => {}
                    None => break,
                }
            }
        };
        let _ = timeout(DRAIN, drain).await;
        self.tasks.abort_all();
    }
}

fn generation_of(look: &Look, session: SessionId) -> u64 {
    look.intent
        .known()
        .and_then(|intent| intent.registry.by_id(session))
        .map_or(0, |(_, entry)| entry.generation)
}
