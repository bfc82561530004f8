//! The threads that own the connections: one writes, in groups; one reads.
//!
//! ```text
//! 1 wait for a job                          5 COMMIT: one fsync for all
//! 2 BEGIN IMMEDIATE                         6 say that something changed
//! 3 SAVEPOINT, job, RELEASE or ROLLBACK TO  7 answer every job of the group
//! 4 the next job, if one waits already: 3
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::look::{Look, Tx};
use super::{InboxError, InboxLimits, open};
use crate::disk::IoError;

/// So many jobs share one commit at most; the first of them waits for the last.
const GROUP: usize = 128;
/// So long a job waits for its place in front of a thread that is behind.
const PATIENCE: Duration = Duration::from_secs(30);

/// Told to a job when it is known whether the transaction that it was part of is on disk.
type Answer = Box<dyn FnOnce(Option<&Fault>) + Send>;
/// Runs inside the transaction, or hears that there is none.
type Task = Box<dyn FnOnce(Option<&Look>) -> (Ran, Answer) + Send>;
/// Runs on the reading connection, and answers by itself.
type Glance = Box<dyn FnOnce(&Look) + Send>;

/// Whether what a job did is to be kept.
enum Ran {
    Kept,
    Failed(Fault),
}

/// Why a whole group was not committed.
enum Fault {
    Full(String),
    Other(String),
}

impl Fault {
    fn of(error: &InboxError) -> Self {
        match error {
            InboxError::Full(why) => Self::Full(why.clone()),
            InboxError::Database(error) => Self::Other(error.to_string()),
            other => Self::Other(other.to_string()),
        }
    }

    fn to_error(&self) -> InboxError {
        match self {
            Self::Full(why) => InboxError::Full(why.clone()),
            Self::Other(why) => InboxError::NotCommitted(why.clone()),
        }
    }
}

/// The end of a channel to a thread that ends when the channel does.
struct Thread<J> {
    // Both are there until the drop.
    jobs: Option<mpsc::Sender<J>>,
    handle: Option<JoinHandle<()>>,
}

impl<J> fmt::Debug for Thread<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}

impl<J: Send + 'static> Thread<J> {
    fn start(
        name: &str,
        jobs: usize,
        work: impl FnOnce(mpsc::Receiver<J>) + Send + 'static,
    ) -> Result<Self, InboxError> {
        let (sender, receiver) = mpsc::channel(jobs.max(1));
        let started = thread::Builder::new().name(name.to_owned()).spawn(|| work(receiver));
        let started = started.map_err(IoError::on("start the thread", Path::new(name)))?;
        Ok(Self { jobs: Some(sender), handle: Some(started) })
    }

    /// Hands a job over, or says that too many wait.
    fn try_send(&self, job: J) -> Result<(), InboxError> {
        let jobs = self.jobs.as_ref().ok_or(InboxError::Closed)?;
        jobs.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => too_busy(),
            mpsc::error::TrySendError::Closed(_) => InboxError::Closed,
        })
    }

    /// Hands a job over, waiting a while for its turn.
    async fn send(&self, job: J) -> Result<(), InboxError> {
        let jobs = self.jobs.as_ref().ok_or(InboxError::Closed)?;
        match tokio::time::timeout(PATIENCE, jobs.send(job)).await {
            Ok(sent) => sent.map_err(|_| InboxError::Closed),
            Err(_) => Err(too_busy()),
        }
    }
}

fn too_busy() -> InboxError {
    InboxError::Full("too much waits to be written".to_owned())
}

impl<J> Drop for Thread<J> {
    fn drop(&mut self) {
        drop(self.jobs.take());
        let Some(handle) = self.handle.take() else { return };
        // A job may own the last handle; its thread cannot wait for itself.
        if handle.thread().id() != thread::current().id() {
            let _ = handle.join();
        }
    }
}

/// Writes: the one owner of the writing connection and of the lock.
#[derive(Debug)]
pub(super) struct Writer {
    thread: Thread<Task>,
    limits: InboxLimits,
    changed: watch::Receiver<u64>,
}

impl Writer {
    pub(super) fn start(opened: open::Opened, limits: InboxLimits) -> Result<Self, InboxError> {
        let (commits, changed) = watch::channel(0);
        let work = move |jobs| write(jobs, opened, &commits);
        Ok(Self { thread: Thread::start("inbox-writer", limits.jobs, work)?, limits, changed })
    }

    pub(super) fn limits(&self) -> InboxLimits {
        self.limits
    }

    pub(super) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.clone()
    }

    /// Runs a job unless too many wait.
    pub(super) async fn try_run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        let (job, answer) = with_answer(job);
        self.thread.try_send(job)?;
        answer.await.map_err(|_| InboxError::Closed)?
    }

    /// Runs a job when its turn comes.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        let (job, answer) = with_answer(job);
        self.thread.send(job).await?;
        answer.await.map_err(|_| InboxError::Closed)?
    }
}

/// Makes a job of a closure: its result is kept back until the commit is known.
fn with_answer<T: Send + 'static>(
    job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
) -> (Task, oneshot::Receiver<Result<T, InboxError>>) {
    let (sender, receiver) = oneshot::channel();
    let job = move |look: Option<&Look>| -> (Ran, Answer) {
        let run = |look: &Look| {
            guarded(look, || {
                let mut tx = Tx::new(look);
                let done = job(&mut tx)?;
                tx.finish()?;
                Ok(done)
            })
        };
        let result = look.map(run);
        let ran = match &result {
            Some(Err(error)) => Ran::Failed(Fault::of(error)),
            _ => Ran::Kept,
        };
        let answer = move |fault: Option<&Fault>| {
            let result = match (fault, result) {
                (Some(fault), None | Some(Ok(_))) => Err(fault.to_error()),
                (_, Some(result)) => result,
                (None, None) => Err(InboxError::Closed),
            };
            // Whoever asked may have given up meanwhile.
            let _ = sender.send(result);
        };
        (ran, Box::new(answer))
    };
    (Box::new(job), receiver)
}

/// Runs what may fail or panic; damage that SQLite finds is told with the file's name.
fn guarded<T>(look: &Look, work: impl FnOnce() -> Result<T, InboxError>) -> Result<T, InboxError> {
    let caught = catch_unwind(AssertUnwindSafe(work));
    let result = caught.unwrap_or_else(|_| Err(InboxError::Panicked));
    result.map_err(|error| match error {
        InboxError::Database(error) => open::explain(path_of(look), error),
        other => other,
    })
}

fn path_of(look: &Look) -> &Path {
    Path::new(look.db().path().unwrap_or_default())
}

fn write(mut jobs: mpsc::Receiver<Task>, opened: open::Opened, commits: &watch::Sender<u64>) {
    let open::Opened { look, lock } = opened;
    while let Some(first) = jobs.blocking_recv() {
        let changes = look.db().total_changes();
        let (answers, committed) = run_group(&look, first, &mut jobs);
        if committed.is_ok() && look.db().total_changes() != changes {
            commits.send_modify(|count| *count += 1);
        }
        // INVARIANT: nobody hears that something was done before it is on disk
        // (what_was_acknowledged_survives_kill_9).
        for answer in answers {
            answer(committed.as_ref().err());
        }
    }
    // The lock outlives the connection.
    drop(look);
    drop(lock);
}

/// Runs the first job and those that wait already in one transaction.
fn run_group(
    look: &Look,
    first: Task,
    jobs: &mut mpsc::Receiver<Task>,
) -> (Vec<Answer>, Result<(), Fault>) {
    let fault = |error| Fault::of(&open::explain(path_of(look), error));
    if let Err(error) = look.db().execute_batch("BEGIN IMMEDIATE") {
        return (vec![first(None).1], Err(fault(error)));
    }
    let mut answers = Vec::new();
    let mut next = Some(first);
    while let Some(job) = next {
        let (answer, ran) = run_task(look, job);
        answers.push(answer);
        if let Err(why) = ran {
            roll_back(look.db());
            return (answers, Err(why));
        }
        next = if answers.len() < GROUP { jobs.try_recv().ok() } else { None };
    }
    let committed = look.db().execute_batch("COMMIT").map_err(fault);
    if committed.is_err() {
        roll_back(look.db());
    }
    (answers, committed)
}

/// Runs a job in its savepoint. The error says that the whole transaction cannot go on.
fn run_task(look: &Look, job: Task) -> (Answer, Result<(), Fault>) {
    let fault = |error| Fault::of(&open::explain(path_of(look), error));
    if let Err(error) = look.db().execute_batch("SAVEPOINT job") {
        return (job(None).1, Err(fault(error)));
    }
    let (ran, answer) = job(Some(look));
    let ended = match ran {
        Ran::Kept => look.db().execute_batch("RELEASE job").map_err(fault),
        // SQLite undoes everything by itself when the disk is full.
        Ran::Failed(why) if look.db().is_autocommit() => Err(why),
        Ran::Failed(_) => look.db().execute_batch("ROLLBACK TO job; RELEASE job").map_err(fault),
    };
    (answer, ended)
}

fn roll_back(db: &Connection) {
    if !db.is_autocommit() {
        let _ = db.execute_batch("ROLLBACK");
    }
}

/// Looks at the inbox.
#[derive(Debug)]
pub(super) struct Reader(Thread<Glance>);

impl Reader {
    pub(super) fn start(look: Look, limits: InboxLimits) -> Result<Self, InboxError> {
        let work = move |mut glances: mpsc::Receiver<Glance>| {
            while let Some(glance) = glances.blocking_recv() {
                glance(&look);
            }
        };
        Ok(Self(Thread::start("inbox-reader", limits.jobs, work)?))
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Look) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        let (sender, receiver) = oneshot::channel();
        let glance = move |state: &Look| {
            let _ = sender.send(look_at(state, look));
        };
        self.0.send(Box::new(glance)).await?;
        receiver.await.map_err(|_| InboxError::Closed)?
    }
}

/// Looks at one state: what is committed meanwhile is not seen.
pub(super) fn look_at<T>(
    state: &Look,
    look: impl FnOnce(&Look) -> Result<T, InboxError>,
) -> Result<T, InboxError> {
    guarded(state, || {
        let _undone = state.db().unchecked_transaction()?;
        look(state)
    })
}
