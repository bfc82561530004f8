//! Where deliveries come in: sources, signatures, limits, the HTTP server.
//!
//! ```text
//! POST / or /<source>
//!   method ─▶ source ─▶ shape of the signature ─▶ declared length ─▶ room      head only
//!   ─▶ body, piece by piece: pace, cap, MAC, memory or an unnamed file         unverified
//!   ─▶ signature ─▶ JSON ─▶ envelope ─▶ stored ─▶ 200                          verified
//! ```
//!
//! A refused sender that still sends is answered first and then read for a while, for a proxy in
//! front turns a connection closed too early into a 502.
//!
//! | answer | when |
//! |---|---|
//! | 200 `ok` | stored, now or before |
//! | 400 `bad json` | signed, and no JSON |
//! | 401 `invalid signature` | no signature, a wrong or an old one, no usable secret |
//! | 404 `unknown source` | no such source; every path before `setup` |
//! | 405 | anything but POST |
//! | 408, 413 | the body is too slow, too large |
//! | 500 | the inbox failed |
//! | 503 with Retry-After | no room: connections, memory, disk, backlog |
//!
//! 404 tells strangers which sources exist. It is kept because a box that is not set up must be
//! told from one whose secret is wrong.

mod address;
mod answer;
mod budget;
mod envelope;
mod pace;
mod probe;
mod proof;
mod receive;
mod refusals;
mod scheme;
mod seats;
mod secret;
mod server;
mod source_cache;
mod source_file;
mod sources;
mod spool;

use std::convert::Infallible;
use std::fs::DirBuilder;
use std::future::Future;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use agent_box_session::WebhookPaths;

use crate::inbox::{Inbox, InboxError, Incoming, Stored};

pub use receive::Limits;
pub use refusals::RefusalCount;
pub use scheme::Scheme;
pub use secret::{MIN_KEY_BYTES, Secret, SecretProblem};
pub use server::{Listener, serve};
pub use source_file::{SetUp, SourceEditError, drop_old, rotate, set_up};
pub use sources::{DEFAULT_MAX_BYTES, SourceSettings, Sources};

use budget::Budget;
use refusals::Refusals;
use source_cache::SourceCache;
use spool::Spool;

/// Where verified deliveries go; the inbox, outside of tests.
pub trait Store: Send + Sync + 'static {
    /// Stores a delivery; it is on disk when this returns [`Stored::New`].
    fn store(&self, incoming: Incoming) -> impl Future<Output = Result<Stored, InboxError>> + Send;
}

impl Store for Inbox {
    async fn store(&self, incoming: Incoming) -> Result<Stored, InboxError> {
        Inbox::store(self, incoming).await
    }
}

/// What all requests share.
#[derive(Debug)]
pub struct Ingress<S> {
    sources: SourceCache,
    spool: Spool,
    limits: Limits,
    refusals: Refusals,
    /// The file that says them.
    refused: PathBuf,
    store: S,
}

impl<S: Store> Ingress<S> {
    /// Makes the directory for large bodies, and reads no source yet.
    ///
    /// # Errors
    /// When that directory cannot be made.
    pub fn new(paths: WebhookPaths, limits: Limits, store: S) -> io::Result<Self> {
        let directory = paths.spool();
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let spool = Spool {
            directory,
            disk: Budget::new(limits.disk),
            memory: Budget::new(limits.memory),
            memory_per_body: limits.memory_per_body,
        };
        let (refusals, refused) = (Refusals::default(), paths.refused());
        Ok(Self { sources: SourceCache::new(paths), spool, limits, refusals, refused, store })
    }

    /// The sources as of now.
    pub fn sources(&self) -> Arc<Sources> {
        self.sources.get()
    }

    /// What was refused since the program started.
    pub fn refusals(&self) -> Vec<RefusalCount> {
        self.refusals.counts()
    }

    /// Keeps the file that says what was refused, from now on.
    pub async fn keep_refusals(&self) -> Infallible {
        self.refusals.keep(&self.refused).await
    }
}
