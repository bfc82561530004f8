//! What the daemon notes in filter files: that a row has delivered. A busy topic must not make a
//! file be written for every event, so a file is stamped at most every few seconds.

use std::collections::BTreeMap;

use agent_box_event::TopicPattern;
use agent_box_session::WebhookPaths;

use super::{EditError, Owner, edit};

/// Deliveries of rows that their files do not know yet; owned by one task.
#[derive(Debug, Default)]
pub struct Stamps {
    pending: BTreeMap<Owner, Vec<Noted>>,
    written: BTreeMap<Owner, u64>,
}

/// What one file is to be told.
#[derive(Clone, Debug)]
pub struct DueStamps {
    owner: Owner,
    rows: Vec<Noted>,
}

/// When a row delivered: noting the first and the last has the effect of noting all between.
#[derive(Clone, Debug, PartialEq)]
struct Noted {
    pattern: TopicPattern,
    first_ms: u64,
    last_ms: u64,
}

impl Stamps {
    /// The shortest time between two stamps of a file.
    pub const EVERY_MS: u64 = 5000;

    /// Notes that the row of a pattern has delivered.
    pub fn note(&mut self, owner: &Owner, pattern: &TopicPattern, at_ms: u64) {
        let rows = self.pending.entry(owner.clone()).or_default();
        match rows.iter_mut().find(|row| row.pattern.is_same(pattern)) {
            Some(row) => row.last_ms = at_ms,
            None => {
                rows.push(Noted { pattern: pattern.clone(), first_ms: at_ms, last_ms: at_ms });
            }
        }
    }

    /// When the next file may be stamped; `None` if nothing waits.
    pub fn next_ms(&self) -> Option<u64> {
        self.pending.keys().map(|owner| self.allowed_ms(owner)).min()
    }

    /// What is to be written now, by [`DueStamps::write`], which blocks.
    pub fn take_due(&mut self, now_ms: u64) -> Vec<DueStamps> {
        let owners: Vec<Owner> = self.pending.keys().cloned().collect();
        let due = owners.into_iter().filter(|owner| {
            // A clock that went back must not keep stamps waiting.
            self.allowed_ms(owner) <= now_ms || self.written.get(owner) > Some(&now_ms)
        });
        let due: Vec<Owner> = due.collect();
        self.written.retain(|_, at| at.saturating_add(Self::EVERY_MS) > now_ms);
        let take = |owner: Owner| {
            let rows = self.pending.remove(&owner)?;
            self.written.insert(owner.clone(), now_ms);
            Some(DueStamps { owner, rows })
        };
        due.into_iter().filter_map(take).collect()
    }

    fn allowed_ms(&self, owner: &Owner) -> u64 {
        self.written.get(owner).map_or(0, |at| at.saturating_add(Self::EVERY_MS))
    }
}

impl DueStamps {
    /// Stamps the file, and removes rows whose time is over. One that is gone is not made again.
    ///
    /// # Errors
    /// When the file cannot be changed; the stamps are then lost, which costs no delivery.
    pub fn write(&self, paths: &WebhookPaths, now_ms: u64) -> Result<(), EditError> {
        let stamped = edit(paths, &self.owner, now_ms, |document| {
            for Noted { pattern, first_ms, last_ms } in &self.rows {
                document.note_delivery(pattern, *first_ms);
                if last_ms != first_ms {
                    document.note_delivery(pattern, *last_ms);
                }
            }
            document.prune(now_ms)
        })?;
        for row in stamped.outcome {
            tracing::info!(owner = ?self.owner, topic = %row.pattern, "a subscription has ended");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agent_box_event::{Audience, FilterDocument, Subscription, Wish};

    use super::*;
    use crate::filters::{FilterFile, read};

    const T: u64 = 1_796_124_677_000;
    const EVERY: u64 = Stamps::EVERY_MS;

    fn pattern(text: &str) -> TopicPattern {
        TopicPattern::parse(text).unwrap()
    }

    #[test]
    fn a_file_is_stamped_at_once_and_then_every_few_seconds() {
        let mut stamps = Stamps::default();
        let (one, two) = (Owner::Keyless, Owner::Session("two".to_owned()));
        assert_eq!((stamps.next_ms(), stamps.take_due(T).len()), (None, 0));
        stamps.note(&one, &pattern("o/r"), T);
        assert!(stamps.next_ms().unwrap() <= T);
        assert_eq!(stamps.take_due(T).len(), 1);
        stamps.note(&one, &pattern("o/r"), T + 1);
        stamps.note(&one, &pattern("O/R"), T + 2);
        stamps.note(&one, &pattern("o/s"), T + 2);
        stamps.note(&two, &pattern("o/r"), T + 3);
        assert_eq!(stamps.take_due(T + 3).len(), 1, "another file need not wait");
        assert_eq!(stamps.next_ms(), Some(T + EVERY));
        assert_eq!(stamps.take_due(T + EVERY - 1).len(), 0);
        let due = stamps.take_due(T + EVERY);
        let expected = [(T + 1, T + 2), (T + 2, T + 2)];
        let times: Vec<(u64, u64)> =
            due[0].rows.iter().map(|row| (row.first_ms, row.last_ms)).collect();
        assert_eq!((due.len(), times.as_slice()), (1, expected.as_slice()));
        stamps.note(&one, &pattern("o/r"), T);
        assert_eq!(stamps.take_due(T - 3_600_000).len(), 1, "the clock went back");
    }

    #[test]
    fn noting_the_first_and_the_last_is_noting_all() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let owner = Owner::Session("alice-main".to_owned());
        let row = |paths: &WebhookPaths| -> Subscription {
            read(paths, &owner).filter().unwrap().rows[0].clone()
        };
        let make = |document: &mut FilterDocument| {
            document.subscribe(&pattern("o/r"), &Wish::default(), Audience::Session, T);
        };
        edit(&paths, &owner, T, make).unwrap();
        let mut expected = row(&paths);
        let mut stamps = Stamps::default();
        for at in [T + 100, T + 200, T + 900] {
            stamps.note(&owner, &pattern("o/r"), at);
            expected.note_delivery(at);
        }
        stamps.take_due(T + 900)[0].write(&paths, T + 900).unwrap();
        assert_eq!(row(&paths), expected);
        assert_eq!(expected.subscribed_ms, Some(T + 900), "the second was warm");
    }

    #[test]
    fn a_file_or_row_that_is_gone_stays_gone_and_an_expired_one_goes() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let owner = Owner::Session("alice-main".to_owned());
        let due = |topic: &str, at| {
            let mut stamps = Stamps::default();
            stamps.note(&owner, &pattern(topic), at);
            stamps.take_due(at).remove(0)
        };
        due("o/r", T).write(&paths, T).unwrap();
        assert_eq!(read(&paths, &owner), FilterFile::Absent);
        let make = |document: &mut FilterDocument| {
            document.subscribe(&pattern("o/r"), &Wish::default(), Audience::Session, T);
        };
        edit(&paths, &owner, T, make).unwrap();
        let later = T + Subscription::DEFAULT_TTL_MS;
        due("o/gone", later).write(&paths, later).unwrap();
        assert_eq!(read(&paths, &owner).filter().unwrap().rows.len(), 1);
        due("o/gone", later + 1).write(&paths, later + 1).unwrap();
        assert_eq!(read(&paths, &owner).filter().unwrap().rows.len(), 0);
    }
}
