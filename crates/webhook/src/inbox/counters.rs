//! Counts for `status`: what ever happened, and how much there is now.

use std::collections::BTreeMap;

use agent_box_event::WaitReason;
use rusqlite::params;

use super::look::{known, number, signed};
use super::summary::reason_of;
use super::{InboxError, Look, Tx};

/// Something that is counted since the inbox was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Deliveries stored.
    Received,
    /// Duplicates of them.
    Duplicate,
    /// Deliveries that nobody wanted.
    Declined,
    /// Messages that sessions acknowledged.
    Delivered,
    /// Messages that a full queue left out.
    LeftOut,
    /// Sessions started.
    Spawned,
    /// Batches that found the box full.
    Deferred,
    /// Batches given up.
    Parked,
    /// Deliveries that an operator asked for again.
    Replayed,
}

impl Counter {
    const ALL: [Self; 9] = [
        Self::Received,
        Self::Duplicate,
        Self::Declined,
        Self::Delivered,
        Self::LeftOut,
        Self::Spawned,
        Self::Deferred,
        Self::Parked,
        Self::Replayed,
    ];

    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Duplicate => "duplicate",
            Self::Declined => "declined",
            Self::Delivered => "delivered",
            Self::LeftOut => "leftOut",
            Self::Spawned => "spawned",
            Self::Deferred => "deferred",
            Self::Parked => "parked",
            Self::Replayed => "replayed",
        }
    }
}

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Since the inbox was made.
    pub ever: BTreeMap<Counter, u64>,
    /// Deliveries that are not settled.
    pub unsettled: u64,
    /// Bytes of their bodies.
    pub unsettled_bytes: u64,
    /// Those that nobody has looked at yet.
    pub unmatched: u64,
    /// Those in lanes, by why they wait.
    pub waiting: BTreeMap<&'static str, u64>,
    /// Batches on their way to the wrapper.
    pub frozen: u64,
    /// Messages that no session has acknowledged.
    pub untold: u64,
}

impl Counters {
    /// How many deliveries wait in lanes for this reason.
    pub fn waiting_for(&self, reason: WaitReason) -> u64 {
        self.waiting.get(reason.as_str()).copied().unwrap_or_default()
    }
}

impl Look {
    /// All counts.
    pub fn counters(&self) -> Result<Counters, InboxError> {
        let stored = self.all("SELECT name, count FROM counters", [], |row| {
            let name: String = row.get(0)?;
            let counter = Counter::ALL.into_iter().find(|it| it.as_str() == name);
            Ok((known(&name, counter)?, number(row, 1)?))
        })?;
        let mut ever: BTreeMap<Counter, u64> = Counter::ALL.map(|counter| (counter, 0)).into();
        ever.extend(stored);
        let sums = self.one("SELECT unsettled, unsettled_bytes FROM inbox", [], |row| {
            Ok((number(row, 0)?, number(row, 1)?))
        })?;
        let (unsettled, unsettled_bytes) = sums.unwrap_or_default();
        let waiting = self.all(
            "SELECT reason, COUNT(*) FROM members WHERE state = 'waiting' GROUP BY reason",
            [],
            |row| {
                let reason: String = row.get(0)?;
                Ok((known(&reason, reason_of(Some(&reason)))?.as_str(), number(row, 1)?))
            },
        )?;
        let count = |table: &str, which: &str| {
            self.number(&format!("SELECT COUNT(*) FROM {table} WHERE {which}"), [])
        };
        Ok(Counters {
            ever,
            unsettled,
            unsettled_bytes,
            unmatched: count("deliveries", "found IS NULL")?,
            waiting: waiting.into_iter().collect(),
            frozen: count("batches", "state = 'frozen'")?,
            untold: count("messages", "state = 'waiting'")?,
        })
    }
}

impl Tx<'_> {
    pub(super) fn count(&mut self, counter: Counter, by: u64) -> Result<(), InboxError> {
        self.change(
            "INSERT INTO counters (name, count) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
            params![counter.as_str(), signed(by)],
        )?;
        Ok(())
    }
}
