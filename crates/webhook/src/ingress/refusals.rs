//! What was refused, counted; and a log that a stranger cannot fill.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::answer::Refusal;

/// One line a minute of each kind is enough to know that it happens.
const QUIET_MS: u64 = 60_000;

/// Refusals since the program started, by source and word.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<(String, &'static str), Count>>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    ever: u64,
    unsaid: u64,
    said_ms: Option<u64>,
}

/// How often requests for one source were refused for one reason, since the program started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    /// The source, or `-` for requests that were for none.
    pub source: String,
    /// The reason in a word: `signature`, `unknown-source`, `too-large`, …
    pub reason: &'static str,
    /// How often.
    pub count: u64,
}

impl Refusals {
    /// Counts one, and logs it unless the same was logged within the last minute. `source` is
    /// the name of a configured one, never a stranger's text.
    pub(crate) fn add(&self, source: Option<&str>, refusal: &Refusal, now_ms: u64) {
        let source = source.unwrap_or("-");
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((source.to_owned(), refusal.word())).or_default();
        count.ever += 1;
        if count.said_ms.is_some_and(|said| now_ms.saturating_sub(said) < QUIET_MS) {
            count.unsaid += 1;
            return;
        }
        let unsaid = std::mem::take(&mut count.unsaid);
        count.said_ms = Some(now_ms);
        drop(counts);
        let detail = match refusal {
            Refusal::Unproven(unproven) => format!("{}: {unproven}", refusal.word()),
            Refusal::Busy(why) => format!("{}: {why}", refusal.word()),
            _ => refusal.word().to_owned(),
        };
        tracing::info!(source, unsaid, "webhook request refused: {detail}");
    }

    pub(crate) fn counts(&self) -> Vec<RefusalCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.iter().map(|((source, reason), count)| RefusalCount {
            source: source.clone(),
            reason,
            count: count.ever,
        });
        counts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_few_are_said() {
        let refusals = Refusals::default();
        for now_ms in 0..100 {
            refusals.add(None, &Refusal::UnknownSource, now_ms);
        }
        refusals.add(Some("github"), &Refusal::TooLarge, 0);
        let counts: Vec<(String, &str, u64)> =
            refusals.counts().into_iter().map(|it| (it.source, it.reason, it.count)).collect();
        let expected =
            [("-".to_owned(), "unknown-source", 100), ("github".to_owned(), "too-large", 1)];
        assert_eq!(counts, expected);
        let inner = refusals.0.lock().unwrap();
        assert_eq!(inner[&("-".to_owned(), "unknown-source")].unsaid, 99, "said once");
    }
}
