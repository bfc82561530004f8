//! The only reader of the clock in this crate, and the only sleeper.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[expect(clippy::disallowed_methods, reason = "deadlines of tests are measured here")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "polling a predicate needs a pause between looks")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "stub agents stamp their transcripts")]
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A civil date and time in UTC.
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: u64,
    pub(crate) minute: u64,
    pub(crate) second: u64,
    pub(crate) milli: u64,
}

impl Civil {
    /// The proleptic Gregorian date of a Unix time.
    pub(crate) fn of(unix_ms: u64) -> Self {
        let seconds = unix_ms / 1000;
        let days = i64::try_from(seconds / 86_400).unwrap_or(i64::MAX);
        // Days are counted from 1 March of year 0, so that the leap day ends a year.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: seconds % 86_400 / 3600,
            minute: seconds % 3600 / 60,
            second: seconds % 60,
            milli: unix_ms % 1000,
        }
    }

    /// As the agents write it: `2026-12-01T08:18:16.351Z`.
    pub(crate) fn rfc3339(&self) -> String {
        let Self { year, month, day, hour, minute, second, milli } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unix_time_is_printed_as_its_date() {
        let check = |ms, expect: &str| assert_eq!(Civil::of(ms).rfc3339(), expect);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_796_113_096_351, "2026-12-01T08:18:16.351Z");
    }
}
