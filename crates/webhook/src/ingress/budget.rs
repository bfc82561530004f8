//! Bytes that all requests together may hold.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bound on bytes, shared by all requests.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    free: Arc<Semaphore>,
    whole: usize,
}

/// Bytes taken from a budget; they go back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Share(Option<OwnedSemaphorePermit>);

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        let whole = usize::try_from(bytes).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(whole)), whole }
    }

    /// Whether so much is free at this moment.
    pub(crate) fn has(&self, bytes: u64) -> bool {
        usize::try_from(bytes).is_ok_and(|bytes| bytes <= self.free.available_permits())
    }

    /// Adds to a share, if so much is free.
    pub(crate) fn grow(&self, share: &mut Share, bytes: usize) -> bool {
        let Ok(count) = u32::try_from(bytes) else { return false };
        let Ok(more) = Arc::clone(&self.free).try_acquire_many_owned(count) else { return false };
        share.add(more);
        true
    }

    /// Waits until so much is free, in the order of asking; `None` when that takes too long or
    /// can never be.
    pub(crate) async fn wait(&self, bytes: u64, patience: Duration) -> Option<Share> {
        let count = u32::try_from(bytes).ok()?;
        if usize::try_from(bytes).ok()? > self.whole {
            return None;
        }
        let share = Arc::clone(&self.free).acquire_many_owned(count);
        let share = tokio::time::timeout(patience, share).await.ok()?.ok()?;
        Some(Share(Some(share)))
    }
}

impl Share {
    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.0 {
            Some(share) => share.merge(more),
            None => self.0 = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shares_never_exceed_the_whole_and_come_back() {
        let budget = Budget::new(100);
        let mut one = Share::default();
        assert!(budget.grow(&mut one, 60) && budget.grow(&mut one, 30));
        assert!(!budget.grow(&mut Share::default(), 11));
        assert!(budget.has(10) && !budget.has(11));
        assert!(budget.wait(11, Duration::from_secs(5)).await.is_none(), "patience ends");
        drop(one);
        assert!(budget.has(100));
        assert!(budget.wait(100, Duration::from_secs(5)).await.is_some());
        assert!(budget.wait(101, Duration::from_secs(5)).await.is_none(), "never");
    }
}
