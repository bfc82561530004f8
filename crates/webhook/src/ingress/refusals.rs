//! What was refused, counted; a log that a stranger cannot fill, and a file for `status`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_box_event::{parse_rfc3339, print_rfc3339};
use agent_box_session::WebhookPaths;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::disk;

use super::answer::Refusal;

/// One line a minute of each kind is enough to know that it happens.
const QUIET_MS: u64 = 60_000;
/// The file is written no more often.
const WRITE_PAUSE: Duration = Duration::from_secs(5);

/// Refusals since the program started, by source and word.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    counts: Mutex<BTreeMap<(String, &'static str), Count>>,
    added: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    ever: u64,
    last_ms: u64,
    unsaid: u64,
    said_ms: Option<u64>,
}

/// How often requests for one source were refused for one reason, since the receiver started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    /// The source, or `-` for requests that were for none.
    pub source: String,
    /// The reason in a word: `signature`, `unknown-source`, `too-large`, …
    pub reason: String,
    /// How often.
    pub count: u64,
    /// When it last was.
    pub last_ms: u64,
}

impl RefusalCount {
    /// What the receiver that runs, or ran last, has refused; empty when nobody knows.
    pub fn read(paths: &WebhookPaths) -> Vec<Self> {
        let document = disk::read(&paths.refused()).ok();
        let document = document.and_then(|it| serde_json::from_slice::<Value>(&it).ok());
        let rows = document.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        rows.iter().filter_map(Self::of).collect()
    }

    fn of(row: &Value) -> Option<Self> {
        Some(Self {
            source: row["source"].as_str()?.to_owned(),
            reason: row["reason"].as_str()?.to_owned(),
            count: row["count"].as_u64()?,
            last_ms: parse_rfc3339(row["last"].as_str()?)?,
        })
    }

    /// The row as it is written.
    pub fn to_json(&self) -> Value {
        let last = print_rfc3339(self.last_ms);
        json!({
            "source": self.source, "reason": self.reason, "count": self.count, "last": last
        })
    }
}

impl Refusals {
    /// Counts one, and logs it unless the same was logged within the last minute. `source` is
    /// the name of a configured one, never a stranger's text.
    pub(crate) fn add(&self, source: Option<&str>, refusal: &Refusal, now_ms: u64) {
        let source = source.unwrap_or("-");
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((source.to_owned(), refusal.word())).or_default();
        count.ever += 1;
        count.last_ms = now_ms;
        self.added.notify_one();
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
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.iter().map(|((source, reason), count)| RefusalCount {
            source: source.clone(),
            reason: (*reason).to_owned(),
            count: count.ever,
            last_ms: count.last_ms,
        });
        counts.collect()
    }

    /// Keeps the file as it should be, from now on. It is for people: one that cannot be written
    /// stops nobody.
    pub(crate) async fn keep(&self, path: &Path) -> Infallible {
        let mut next = Instant::now();
        loop {
            let rows = self.counts().iter().map(RefusalCount::to_json).collect();
            let text = format!("{:#}\n", Value::Array(rows));
            let path = path.to_owned();
            let writing = move || disk::replace(&path, 0o600, text.as_bytes());
            if let Ok(Err(error)) = tokio::task::spawn_blocking(writing).await {
                tracing::debug!("webhook refusals: {error}");
            }
            self.added.notified().await;
            tokio::time::sleep_until(next).await;
            next = Instant::now() + WRITE_PAUSE;
        }
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
        refusals.add(Some("github"), &Refusal::TooLarge, 7);
        let counts = refusals.counts();
        let said: Vec<(&str, &str, u64, u64)> = counts
            .iter()
            .map(|it| (it.source.as_str(), it.reason.as_str(), it.count, it.last_ms))
            .collect();
        assert_eq!(said, [("-", "unknown-source", 100, 99), ("github", "too-large", 1, 7)]);
        let inner = refusals.counts.lock().unwrap();
        assert_eq!(inner[&("-".to_owned(), "unknown-source")].unsaid, 99, "said once");
    }

    #[tokio::test]
    async fn the_file_says_what_was_counted() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        assert_eq!(RefusalCount::read(&paths), []);
        let refusals = Refusals::default();
        refusals.add(Some("github"), &Refusal::TooLarge, 1_700_000_000_000);
        let file = paths.refused();
        let written = async {
            while RefusalCount::read(&paths).is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            _ = refusals.keep(&file) => {}
            () = written => {}
        }
        assert_eq!(RefusalCount::read(&paths), refusals.counts());
    }
}
