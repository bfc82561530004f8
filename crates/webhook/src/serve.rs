//! The daemon: the inbox, the ingress in front of it, the engine and the peers behind it, in one
//! event loop.
//!
//! Where deliveries come in is, the most specific first: sockets that systemd opened, a unix
//! socket that was named, a port on loopback. In every case there is a socket among the webhook
//! files too, for verbs of this machine.

mod door;
mod notice;
mod surroundings;

use std::future::Future;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use thiserror::Error;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

use crate::cli::print::chain;
use crate::disk::{self, IoError};
use crate::engine::{self, Engine, Wires};
use crate::inbox::{Inbox, InboxError, InboxLimits};
use crate::ingress::{self, Ingress, Limits, Listener};
use crate::peers;

use notice::Notice;

pub use door::{Door, DoorError};
pub use surroundings::settings;
pub(crate) use surroundings::wrapper;

/// Signs of life that the engine has not taken in yet; more of them wait, or are lost where
/// others follow.
const SIGNS: usize = 1024;
/// What nothing tells of is looked at so often.
const TICK: Duration = Duration::from_secs(30);

/// What a door means that cannot be opened, for somebody else has it most often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shut {
    /// The receiver does not start: it is a service, and whoever set it up is to see that.
    Ends,
    /// The rest is served, and the door is taken as soon as it is free.
    Waits,
}

/// What a receiver is made of; one that has ended can be started from the same again.
#[derive(Debug)]
pub struct Settings {
    /// The engine's part.
    pub parts: engine::Parts,
    /// Where deliveries come in.
    pub door: Door,
    /// The bounds of the ingress.
    pub ingress: Limits,
    /// The bounds of the inbox.
    pub inbox: InboxLimits,
}

/// Why a receiver cannot start.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The webhook files' directory cannot be made.
    #[error(transparent)]
    Files(#[from] IoError),
    /// The inbox cannot be opened; another receiver has it, most often.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// Deliveries cannot come in.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The ingress cannot be made.
    #[error("cannot prepare the ingress")]
    Ingress(#[source] io::Error),
    /// One of its parts ended by itself.
    #[error("a part of the receiver ended; the log says why")]
    Part,
    /// The event loop cannot be made.
    #[error("cannot start the event loop")]
    Loop(#[source] io::Error),
}

/// Runs a receiver until `shutdown` is true; `ready` is called when deliveries are taken.
///
/// It has an event loop of its own, so it can run on a thread beside other things. A door that
/// somebody else has does not keep it from that: deliveries of this machine come in, messages go
/// out, and the door is taken as soon as it is free.
pub fn run(
    settings: &Settings,
    shutdown: watch::Receiver<bool>,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    block_on(serve(settings, Shut::Waits, shutdown, ready))
}

/// Runs a receiver until the program is told to end by SIGTERM or SIGINT, and tells the service
/// manager how it is. A door that somebody else has is an error.
pub fn run_until_told(settings: &Settings) -> Result<(), ServeError> {
    let ready = || notify(&[NotifyState::Ready, NotifyState::Status("deliveries are taken")]);
    block_on(async {
        let (over, shutdown) = watch::channel(false);
        let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Loop)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Loop)?;
        let told = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            notify(&[NotifyState::Stopping]);
            over.send_replace(true);
            // What is going on gets its time; the senders' side of the channel stays.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            done = serve(settings, Shut::Ends, shutdown, ready) => done,
            () = told => Ok(()),
        }
    })
}

fn notify(states: &[NotifyState<'_>]) {
    // Nobody waits for it, most often.
    let _ = sd_notify::notify(states);
}

fn block_on(work: impl Future<Output = Result<(), ServeError>>) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(ServeError::Loop)?;
    let done = runtime.block_on(work);
    // A thread that waits for a file's lock must not keep the program from ending.
    runtime.shutdown_background();
    done
}

async fn serve(
    settings: &Settings,
    shut: Shut,
    shutdown: watch::Receiver<bool>,
    ready: impl FnOnce(),
) -> Result<(), ServeError> {
    let parts = &settings.parts;
    let paths = &parts.paths;
    disk::make_private_directory(paths.state())?;
    // Whoever holds the inbox is the receiver: only then are sockets of a dead one removed.
    let inbox = Inbox::open(&paths.inbox(), settings.inbox)?;
    let (open, own) = (open(&settings.door, shut)?, private_socket(&paths.ingress())?);
    let (own, peers) = (vec![Listener::Unix(own)], private_socket(&paths.peers())?);
    let ingress = Ingress::new(paths.clone(), settings.ingress, inbox.clone());
    let ingress = Arc::new(ingress.map_err(ServeError::Ingress)?);

    let (signs_in, signs) = mpsc::channel(SIGNS);
    let (roster, roster_out) = watch::channel(Arc::default());
    let (enqueued, enqueued_out) = watch::channel(0);
    let wires = Wires { roster, enqueued, signs };
    let engine = Engine::new(inbox.clone(), parts.clone(), wires);
    let hub = peers::Hub { inbox, roster: roster_out, enqueued: enqueued_out, signs: signs_in };

    let (open, mut shut) = open;
    let mut door = Door::describe(if open.is_empty() { &own } else { &open });
    let mut notice = Notice::new(paths, parts.wrapper.clone());
    notice.say(&door, shut.as_deref())?;
    let mut tasks = JoinSet::new();
    // What a crash left half done is under way before the first new delivery is taken.
    tasks.spawn(engine.run(shutdown.clone()));
    tasks.spawn(peers::serve(peers, hub.clone(), shutdown.clone()));
    tasks.spawn(peers::serve_legacy(paths.instances(), hub, shutdown.clone()));
    tasks.spawn(keep_refusals(Arc::clone(&ingress), shutdown.clone()));
    // Each has seats of its own: strangers at the door keep nobody of this machine out.
    let take_in = |listeners| {
        let mut ends = shutdown.clone();
        ingress::serve(listeners, Arc::clone(&ingress), async move { over(&mut ends).await })
    };
    tasks.spawn(take_in(own));
    tasks.spawn(take_in(open));
    ready();
    let mut free = pin!(settings.door.when_free());
    loop {
        // Every branch is cancel-safe: a part that ended stays in the set, a door is opened in
        // the moment in which this returns it, and for the notice see there.
        tokio::select! {
            ended = tasks.join_next() => match ended {
                Some(ended) => check_end(ended, &shutdown)?,
                None => return Ok(()),
            },
            open = &mut free, if shut.is_some() => {
                shut = None;
                door = Door::describe(&open);
                tracing::info!("webhooks come in from outside now: {door}");
                tasks.spawn(take_in(open));
            }
            () = notice.outdated() => {}
        }
        if let Err(error) = notice.say(&door, shut.as_deref()) {
            tracing::warn!("what verbs are told of the receiver is old: {}", chain(&error));
        }
    }
}

/// Opens the door, or says why it is shut, if it is to be waited for.
fn open(door: &Door, shut: Shut) -> Result<(Vec<Listener>, Option<String>), DoorError> {
    match door.open() {
        Ok(open) => Ok((open, None)),
        Err(error) if shut == Shut::Waits => {
            let (error, seconds) = (chain(&error), TICK.as_secs());
            tracing::warn!(
                "webhooks come in from this machine only: {error}; it is tried again every \
                 {seconds} s"
            );
            Ok((Vec::new(), Some(error)))
        }
        Err(error) => Err(error),
    }
}

async fn keep_refusals(ingress: Arc<Ingress<Inbox>>, mut shutdown: watch::Receiver<bool>) {
    tokio::select! {
        _ = ingress.keep_refusals() => {}
        () = over(&mut shutdown) => {}
    }
}

/// A part that ends by itself has said why; whoever started the whole starts it again.
fn check_end(
    ended: Result<(), JoinError>,
    shutdown: &watch::Receiver<bool>,
) -> Result<(), ServeError> {
    ended.expect("BUG: no part of the receiver panics or is ended by another");
    let is_over = *shutdown.borrow() || shutdown.has_changed().is_err();
    if is_over { Ok(()) } else { Err(ServeError::Part) }
}

/// Waits until a part is to end.
pub(crate) async fn over(shutdown: &mut watch::Receiver<bool>) {
    // Whoever could say so is gone: that is the end as well.
    let _ = shutdown.wait_for(|is_over| *is_over).await;
}

/// A socket among the webhook files, for this user alone.
fn private_socket(path: &Path) -> Result<UnixListener, DoorError> {
    let listener = door::bind_unix(path)?;
    let set = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    set.map_err(|source| DoorError::Bind { place: path.display().to_string(), source })?;
    Ok(listener)
}

/// Where the programs of this version are: beside the one that runs.
fn beside(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name(name)
}
