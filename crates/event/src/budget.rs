//! How many sessions a day may be started: in all, by one source, by one sender.
//!
//! A day is the last 24 hours. What is over budget waits; it is never refused for good.

use crate::Source;

/// The day of a budget, in milliseconds.
const DAY_MS: u64 = 24 * 3_600_000;

/// The limits; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// All starts.
    pub per_day: Option<usize>,
    /// Starts by one source.
    pub per_source: Option<usize>,
    /// Starts in which one sender had a part.
    pub per_sender: Option<usize>,
}

/// A batch that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// When.
    pub at_ms: u64,
    /// By which source.
    pub source: Source,
    /// Who had a part in it.
    pub senders: Vec<String>,
}

/// One of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Of all starts.
    Day,
    /// Of the source.
    Source,
    /// Of the sender.
    Sender,
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Which.
    pub budget: Budget,
    /// Its size.
    pub limit: usize,
    /// When the next start will be free; `None` if the limit is zero.
    pub frees_ms: Option<u64>,
}

impl Budgets {
    /// Whether one more start by this source and sender is within all limits.
    pub fn check(
        &self,
        starts: &[Start],
        source: &Source,
        sender: Option<&str>,
        now_ms: u64,
    ) -> Result<(), Exhausted> {
        let by_sender = |start: &Start| {
            sender.is_some_and(|who| start.senders.iter().any(|it| it.eq_ignore_ascii_case(who)))
        };
        within(Budget::Day, self.per_day, starts, now_ms, |_| true)?;
        within(Budget::Source, self.per_source, starts, now_ms, |start| start.source == *source)?;
        // Who is unknown shares no budget with anybody; the source's still holds.
        let per_sender = sender.and(self.per_sender);
        within(Budget::Sender, per_sender, starts, now_ms, by_sender)
    }
}

fn within(
    budget: Budget,
    limit: Option<usize>,
    starts: &[Start],
    now_ms: u64,
    counts: impl Fn(&Start) -> bool,
) -> Result<(), Exhausted> {
    let Some(limit) = limit else { return Ok(()) };
    let counted = starts.iter().filter(|start| counts(start));
    let mut ends: Vec<u64> = counted.map(|start| start.at_ms.saturating_add(DAY_MS)).collect();
    ends.retain(|end| now_ms < *end);
    if ends.len() < limit {
        return Ok(());
    }
    ends.sort_unstable();
    Err(Exhausted { budget, limit, frees_ms: ends.get(ends.len() - limit).copied() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::parse(text).unwrap()
    }

    fn start(at_ms: u64, by: &str, senders: &[&str]) -> Start {
        let senders = senders.iter().map(|it| (*it).to_owned()).collect();
        Start { at_ms, source: source(by), senders }
    }

    #[test]
    fn each_limit_counts_its_own_starts_of_the_last_day() {
        let starts = [
            start(10, "github", &["joe"]),
            start(20, "github", &["ann", "Joe"]),
            start(30, "stripe", &[]),
        ];
        let check = |budgets: Budgets, by: &str, sender, now, expected| {
            let left = budgets.check(&starts, &source(by), sender, now);
            let found = left.err().map(|it| (it.budget, it.frees_ms.unwrap()));
            assert_eq!(found, expected, "{budgets:?} {by} {sender:?} {now}");
        };
        let none = Budgets::default();
        check(none, "github", Some("joe"), 40, None);
        let sender = Budgets { per_sender: Some(2), ..none };
        let over = Some((Budget::Sender, 10 + DAY_MS));
        check(sender, "github", Some("JOE"), 40, over);
        check(sender, "github", Some("joe"), 10 + DAY_MS - 1, over);
        check(sender, "github", Some("joe"), 10 + DAY_MS, None);
        check(sender, "github", Some("joe"), 10 + DAY_MS + 1, None);
        check(sender, "github", Some("ann"), 40, None);
        check(sender, "github", None, 40, None);
        let by_source = Budgets { per_source: Some(1), ..none };
        check(by_source, "github", None, 40, Some((Budget::Source, 20 + DAY_MS)));
        check(by_source, "stripe", None, 40, Some((Budget::Source, 30 + DAY_MS)));
        check(by_source, "linear", None, 40, None);
        let day = Budgets { per_day: Some(3), ..none };
        check(day, "linear", None, 40, Some((Budget::Day, 10 + DAY_MS)));
        check(Budgets { per_day: Some(4), ..none }, "linear", None, 40, None);
        let nothing = Budgets { per_day: Some(0), ..none };
        let exhausted = nothing.check(&[], &source("x"), None, 0).unwrap_err();
        assert_eq!(exhausted.frees_ms, None);
    }
}
