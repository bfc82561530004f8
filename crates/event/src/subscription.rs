//! A session's interest or the box's standing watch: one row of a filter, and its lifetime.

use crate::noise::is_only_noise;
use crate::{Login, Object, Predicate, TopicPattern};

/// One row of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// What it is about.
    pub pattern: TopicPattern,
    /// Why, in the words of whoever subscribed.
    pub note: Option<String>,
    /// How long it lasts; 0 is for ever, `None` the filter's own.
    pub ttl_ms: Option<u64>,
    /// Whether each delivery starts its time again.
    pub renew_on_event: bool,
    /// Whose events are not wanted.
    pub muted: Vec<Muted>,
    /// What alone is wanted.
    pub include: Option<Predicate>,
    /// What is not wanted.
    pub exclude: Option<Predicate>,
    /// Only events about one of these are wanted, unless it is empty: what a hook session was
    /// started for. They leave muting as it is, other than an `include`.
    pub objects: Vec<Object>,
    /// Whether it was asked for noise too; the noise layer is for sessions only.
    pub takes_noise: bool,
    /// When its time began; a row written by hand has none and does not expire.
    pub subscribed_ms: Option<u64>,
    /// When it last delivered something.
    pub last_activity_ms: Option<u64>,
}

/// Somebody whose events a row does not want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Muted {
    /// `@self`: whoever this box acts as; nobody while that is unknown.
    Myself,
    /// A login, compared without regard to case.
    Sender(String),
}

/// What the file of one session, or of the box, says.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Off mutes every row.
    pub enabled: bool,
    /// How long rows last that say nothing themselves; `None` is an hour.
    pub ttl_ms: Option<u64>,
    /// The rows, in the order of the file.
    pub rows: Vec<Subscription>,
}

impl Muted {
    /// Reads an item of `ignoreSenders`.
    pub fn parse(text: &str) -> Self {
        if text == "@self" { Self::Myself } else { Self::Sender(text.to_owned()) }
    }

    /// The item as it stands in a file.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Myself => "@self",
            Self::Sender(login) => login,
        }
    }

    /// Whether this is who acted; `me` is what the box acts as.
    pub fn is(&self, sender: &str, me: Option<&Login>) -> bool {
        match self {
            Self::Myself => me.is_some_and(|me| me.is(sender)),
            Self::Sender(login) => login.eq_ignore_ascii_case(sender),
        }
    }
}

impl Subscription {
    /// How long a row lasts when neither it nor its filter says so.
    pub const DEFAULT_TTL_MS: u64 = 3_600_000;
    /// A delivery this soon after the one before keeps the row alive.
    pub const WARM_MS: u64 = 600_000;

    /// A row without rules, whose time begins now.
    pub fn new(pattern: TopicPattern, now_ms: u64) -> Self {
        Self {
            pattern,
            note: None,
            ttl_ms: None,
            renew_on_event: false,
            muted: Vec::new(),
            include: None,
            exclude: None,
            objects: Vec::new(),
            takes_noise: false,
            subscribed_ms: Some(now_ms),
            last_activity_ms: None,
        }
    }

    /// Whether its owner declared by rules what is wanted.
    ///
    /// Then the rules alone decide about CI results; otherwise CI is exempt from muting.
    pub fn is_declarative(&self) -> bool {
        self.include.is_some() || self.exclude.as_ref().is_some_and(|it| !is_only_noise(it))
    }

    /// How long it lasts, its own time or its filter's; 0 is for ever.
    pub fn lifetime_ms(&self, filter_ttl_ms: Option<u64>) -> u64 {
        self.ttl_ms.or(filter_ttl_ms).unwrap_or(Self::DEFAULT_TTL_MS)
    }

    /// When it ends; `None` if it does not.
    pub fn expires_ms(&self, filter_ttl_ms: Option<u64>) -> Option<u64> {
        let ttl = self.lifetime_ms(filter_ttl_ms);
        if ttl == 0 { None } else { Some(self.subscribed_ms?.saturating_add(ttl)) }
    }

    /// Whether its time is over: the last moment still counts.
    pub fn is_expired(&self, filter_ttl_ms: Option<u64>, now_ms: u64) -> bool {
        self.expires_ms(filter_ttl_ms).is_some_and(|end| now_ms > end)
    }

    /// The trusted line beside an event that this row wanted: what it is subscribed to, since when
    /// and why, so far as that is known.
    pub fn describe(&self, now_ms: u64) -> String {
        let age = self.subscribed_ms.map(|since| match now_ms.saturating_sub(since) / 3_600_000 {
            0 => " <1h ago".to_owned(),
            hours @ 1..48 => format!(" {hours}h ago"),
            hours => format!(" {}d ago", hours / 24),
        });
        let note = self.note.as_ref().map(|note| format!(": {note}"));
        let (age, note) = (age.unwrap_or_default(), note.unwrap_or_default());
        format!("subscribed to {}{age}{note}", self.pattern)
    }

    /// Notes a delivery: the time begins again if the row asks for it or the topic is warm.
    pub fn note_delivery(&mut self, now_ms: u64) {
        let since = self.last_activity_ms.map(|last| now_ms.saturating_sub(last));
        if self.renew_on_event || since.is_some_and(|since| since < Self::WARM_MS) {
            self.subscribed_ms = Some(now_ms);
        }
        self.last_activity_ms = Some(now_ms);
    }
}

impl Filter {
    /// Removes what has expired and returns it, for the one line that tells about it.
    pub fn prune(&mut self, now_ms: u64) -> Vec<Subscription> {
        let ttl = self.ttl_ms;
        self.rows.extract_if(.., |row| row.is_expired(ttl, now_ms)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Json, Test};

    const T: u64 = 1_000_000_000;

    pub(crate) fn row(pattern: &str) -> Subscription {
        Subscription::new(TopicPattern::parse(pattern).unwrap(), T)
    }

    #[test]
    fn a_row_ends_after_its_time_its_filters_or_an_hour() {
        let check = |own: Option<u64>, filter: Option<u64>, ttl: u64| {
            let mut it = row("o/r");
            it.ttl_ms = own;
            for (now, expected) in [(T + ttl - 1, false), (T + ttl, false), (T + ttl + 1, true)] {
                assert_eq!(it.is_expired(filter, now), expected, "{own:?} {filter:?} {now}");
                let mut filter = Filter { enabled: true, ttl_ms: filter, rows: vec![it.clone()] };
                assert_eq!(filter.prune(now).len(), usize::from(expected));
                assert_eq!(filter.rows.len(), usize::from(!expected));
            }
        };
        check(None, None, 3_600_000);
        check(None, Some(5), 5);
        check(Some(7), Some(5), 7);
        let mut pinned = row("o/r");
        pinned.ttl_ms = Some(0);
        assert!(!pinned.is_expired(Some(5), u64::MAX));
        let mut by_hand = row("o/r");
        by_hand.subscribed_ms = None;
        assert!(!by_hand.is_expired(None, u64::MAX));
        assert!(!row("o/r").is_expired(None, 0), "a clock that went back ends nothing");
    }

    #[test]
    fn warm_deliveries_renew_and_cold_ones_do_not() {
        let check = |last: Option<u64>, renew: bool, now: u64, expected: u64| {
            let mut it = row("o/r");
            (it.last_activity_ms, it.renew_on_event) = (last, renew);
            it.note_delivery(now);
            assert_eq!(it.subscribed_ms, Some(expected), "{last:?} {renew} {now}");
            assert_eq!(it.last_activity_ms, Some(now));
        };
        let warm = Subscription::WARM_MS;
        check(None, false, T + 5, T);
        check(None, true, T + 5, T + 5);
        check(Some(T), false, T + warm - 1, T + warm - 1);
        check(Some(T), false, T + warm, T);
        check(Some(T), false, T + warm + 1, T);
    }

    #[test]
    fn a_row_is_described_by_age_and_note() {
        let hour = 3_600_000;
        for (age, expected) in [
            (0, "<1h"),
            (hour - 1, "<1h"),
            (hour, "1h"),
            (hour + 1, "1h"),
            (48 * hour - 1, "47h"),
            (48 * hour, "2d"),
            (72 * hour, "3d"),
        ] {
            let text = row("o/r").describe(T + age);
            assert_eq!(text, format!("subscribed to github:o/r {expected} ago"));
        }
        let mut it = row("o/r");
        (it.subscribed_ms, it.note) = (None, Some("why".to_owned()));
        assert_eq!(it.describe(T), "subscribed to github:o/r: why");
    }

    #[test]
    fn an_exclude_that_names_noise_alone_declares_nothing() {
        let kinds = |kind| Predicate::Leaf("event".to_owned(), Test::In(vec![Json::text(kind)]));
        let mut it = row("o/r");
        assert!(!it.is_declarative());
        it.exclude = Some(kinds("star"));
        assert!(!it.is_declarative());
        it.exclude = Some(kinds("push"));
        assert!(it.is_declarative());
        it.exclude = None;
        it.include = Some(kinds("star"));
        assert!(it.is_declarative());
    }
}
