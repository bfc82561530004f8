//! A point in time as an argument: milliseconds since the Unix epoch.

use std::fmt;
use std::time::Duration;

/// Wall-clock time in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Nothing in this crate reads a clock; callers pass one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A time from milliseconds since the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This time moved `by` into the future, saturating.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long ago `earlier` was; zero if the clock went backwards.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds, as the journal writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0 / 86_400_000);
        let in_day = self.0 % 86_400_000;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            in_day / 3_600_000,
            in_day / 60_000 % 60,
            in_day / 1000 % 60,
            in_day % 1000
        )
    }
}

/// Days since the epoch to a date of the proleptic Gregorian calendar.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    // Years start in March here, so that the leap day is a year's last day.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_as_rfc_3339() {
        let check = |millis, expect: &str| {
            assert_eq!(Timestamp::from_millis(millis).to_string(), expect);
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_123, "2000-02-29T00:00:00.123Z");
        check(1_796_083_199_999, "2026-11-30T23:59:59.999Z");
        check(4_102_444_800_000, "2100-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_clock_that_went_backwards_yields_zero() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late.since(early), Duration::from_millis(4));
    }
}
