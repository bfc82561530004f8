//! The threads that own the connections: one writes, in groups; one reads.

use std::fs::File;

use rusqlite::Connection;
use tokio::sync::watch;

use super::{InboxError, InboxLimits, Look, Tx};

#[derive(Debug)]
pub(super) struct Writer {
    limits: InboxLimits,
    changed: watch::Receiver<u64>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        lock: File,
        id: u64,
        limits: InboxLimits,
    ) -> Result<Self, InboxError> {
        let _ = (connection, lock, id);
        Ok(Self { limits, changed: watch::channel(0).1 })
    }

    pub(super) fn limits(&self) -> InboxLimits {
        self.limits
    }

    pub(super) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.clone()
    }

    #[expect(clippy::unused_async, reason = "about to be filled in")]
    pub(super) async fn try_run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        let _ = job;
        Err(InboxError::Closed)
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        self.try_run(job).await
    }
}

#[derive(Debug)]
pub(super) struct Reader;

impl Reader {
    pub(super) fn start(
        connection: Connection,
        id: u64,
        limits: InboxLimits,
    ) -> Result<Self, InboxError> {
        let _ = (connection, id, limits);
        Ok(Self)
    }

    #[expect(clippy::unused_async, reason = "about to be filled in")]
    pub(super) async fn run<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Look<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> Result<T, InboxError> {
        let _ = look;
        Err(InboxError::Closed)
    }
}
