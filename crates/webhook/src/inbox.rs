//! The durable inbox: deliveries, what became of each, batches, and what waits for sessions.
//!
//! One SQLite file (WAL, synchronous FULL), written by one program at a time, and in it by one
//! thread. That thread takes the jobs that wait, runs each in a savepoint of one transaction,
//! commits once, and only then answers them all: many senders share one fsync. A job that fails
//! undoes its own savepoint only; a commit that fails is told to every job of it.
//!
//! ```text
//! store, write ──▶ bounded channel ──▶ writer: BEGIN  job job job  COMMIT (fsync) ──▶ answers
//! read         ──▶ bounded channel ──▶ reader: BEGIN  look  ROLLBACK ──▶ answer
//! ```
//!
//! Nothing here reads a clock or decides about an event: times are arguments, and what is
//! recorded was decided by the caller. What is refused are transitions that a batch or a delivery
//! cannot make.

mod arrival;
mod batch;
mod counters;
mod delivery;
mod error;
mod find;
mod lane;
mod lease;
mod load;
mod look;
mod message;
mod open;
mod retention;
mod schema;
mod step;
mod summary;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

pub use arrival::{Format, Incoming, Stored};
pub use batch::{BatchState, FrozenBatch, NewBatch, PastBatch};
pub use counters::{Counter, Counters};
pub use delivery::{Delivery, Relation, Unmatched};
pub use error::InboxError;
pub use find::{Criteria, Reference};
pub use lane::Membership;
pub use load::Load;
pub use look::{Look, Tx};
pub use message::{Enqueued, Message, MessageState, QueueLimits, SessionRef, Told, WaitingSession};
pub use open::ReadOnly;
pub use retention::{Removed, Retention};
pub use step::Step;

use thread::{Reader, Writer};

/// How much the inbox takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxLimits {
    /// Deliveries that are not settled; beyond it, new ones are refused.
    pub unsettled: u64,
    /// Bytes of their bodies.
    pub unsettled_bytes: u64,
    /// Jobs that wait for the writer; beyond it, new deliveries are refused.
    pub jobs: usize,
    /// Size of the file; beyond it, new deliveries are refused.
    pub file_bytes: u64,
    /// So much of the disk is left for writing down what becomes of deliveries; with 0 nobody
    /// asks how much there is.
    pub disk_reserve_bytes: u64,
}

impl Default for InboxLimits {
    fn default() -> Self {
        Self {
            unsettled: 100_000,
            unsettled_bytes: 1 << 30,
            jobs: 256,
            file_bytes: 8 << 30,
            disk_reserve_bytes: 16 << 20,
        }
    }
}

/// The handle of the one program that writes; clones share the file and its threads, which end
/// with the last clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    // Fields end in this order: the writer last, since its thread holds the lock.
    reader: Arc<Reader>,
    writer: Arc<Writer>,
    id: u64,
}

impl Inbox {
    /// Opens the inbox for writing, or makes it; `inbox.lock` beside it is held until the last
    /// clone ends.
    ///
    /// # Errors
    /// When another program holds it, when it is of a newer version, and when it is damaged: it
    /// is never made anew in place of one that cannot be read.
    pub fn open(path: &Path, limits: InboxLimits) -> Result<Self, InboxError> {
        let opened = open::for_writing(path)?;
        let id = opened.look.id();
        let writer = Writer::start(opened, limits)?;
        let look = open::for_reading(path)?.ok_or(InboxError::Closed)?;
        let reader = Reader::start(look, limits)?;
        Ok(Self { reader: Arc::new(reader), writer: Arc::new(writer), id })
    }

    /// Random, made with the file.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Stores a delivery; it is on disk when this returns [`Stored::New`].
    ///
    /// # Errors
    /// When nothing is stored for another reason than [`Stored::Full`].
    pub async fn store(&self, incoming: Incoming) -> Result<Stored, InboxError> {
        let limits = self.writer.limits();
        let job = move |tx: &mut Tx<'_>| tx.store(&incoming, &limits);
        let stored = match self.writer.try_run(job).await {
            Err(InboxError::Full(why)) => return Ok(Stored::Full(why)),
            stored => stored?,
        };
        agent_box_testpoint::hit("webhook.stored");
        Ok(stored)
    }

    /// Runs a job in a transaction; what it did is on disk when this returns `Ok`. Jobs are short
    /// and never wait for anything.
    ///
    /// # Errors
    /// The job's own, and then nothing of it happened; or the commit's.
    pub async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        self.writer.run(job).await
    }

    /// Looks at one committed state of the inbox.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Look) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        self.reader.run(look).await
    }

    /// Changes after each commit that wrote.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.writer.changed()
    }

    /// How many transactions were committed since it was opened: fewer than the jobs that they
    /// made durable, when many come at once.
    pub fn commits(&self) -> u64 {
        *self.writer.changed().borrow()
    }
}

/// The log and the index that belong to the file.
fn companions(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}
