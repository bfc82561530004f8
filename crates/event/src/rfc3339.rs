//! Points in time as the filter files spell them: RFC 3339, to the millisecond.

use std::fmt::Write as _;

const DAY_MS: u64 = 86_400_000;
const MINUTE_MS: i64 = 60_000;
/// The end of the year 9999, which is the last of four digits.
const LAST_MS: u64 = 253_402_300_799_999;

/// Reads `2026-01-02T03:04:05.678Z`, with or without a fraction and with any offset from UTC, as
/// milliseconds since 1970; what is finer is cut off. `None` for anything else and for what was
/// before 1970 or, by its offset, is after the year 9999.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    // Everything up to the seconds has its fixed place.
    let shape_is_right = bytes.len() > 19
        && text.is_ascii()
        && [(4, b"-"), (7, b"-"), (13, b":"), (16, b":")]
            .iter()
            .all(|(at, it)| bytes[*at] == it[0])
        && matches!(bytes[10], b'T' | b't' | b' ');
    if !shape_is_right {
        return None;
    }
    let field =
        |from: usize, to: usize, most: u64| number(&text[from..to]).filter(|it| *it <= most);
    let (year, month, day) = (field(0, 4, 9999)?, field(5, 7, 12)?, field(8, 10, 31)?);
    let days = days_since_1970(year, month, day)?;
    // A leap second reads as the second after it.
    let seconds = field(11, 13, 23)? * 3600 + field(14, 16, 59)? * 60 + field(17, 19, 60)?;
    let (fraction, zone) = split_fraction(&text[19..])?;
    let local = i64::try_from(days * DAY_MS + seconds * 1000 + fraction).ok()?;
    u64::try_from(local - offset_ms(zone)?).ok().filter(|ms| *ms <= LAST_MS)
}

/// Writes milliseconds since 1970 as RFC 3339 in UTC with three digits of fraction. Years above
/// 9999 have no such form and are written as the last moment that has one.
pub fn print_rfc3339(ms: u64) -> String {
    let ms = ms.min(LAST_MS);
    let (days, in_day) = (ms / DAY_MS, ms % DAY_MS);
    let (year, month, day) = date(days);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, fraction) = (in_day / 1000 % 60, in_day % 1000);
    let mut text = String::with_capacity(24);
    write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
        .expect("BUG: a string takes everything");
    text
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The fraction of a second in milliseconds, and what follows it.
fn split_fraction(rest: &str) -> Option<(u64, &str)> {
    let Some(fraction) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = fraction.split_at(length);
    let ms = number(&format!("{digits:0<3}")[..3])?;
    (length > 0).then_some((ms, zone))
}

fn offset_ms(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
    Some(sign * i64::try_from(minutes).ok()? * MINUTE_MS)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(is_leap(year)),
        _ => 31,
    }
}

/// The days of all years before `year`, counted from the year 1.
fn days_before(year: u64) -> u64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    if year == 0 || month == 0 || day == 0 || day > month_days(year, month) {
        return None;
    }
    let in_year: u64 = (1..month).map(|it| month_days(year, it)).sum::<u64>() + day - 1;
    (days_before(year) + in_year).checked_sub(days_before(1970))
}

fn date(days: u64) -> (u64, u64, u64) {
    // Never too late; early by a few years at most.
    let mut year = 1970 + days / 366;
    let days = days + days_before(1970);
    while days_before(year + 1) <= days {
        year += 1;
    }
    let (mut month, mut left) = (1, days - days_before(year));
    while left >= month_days(year, month) {
        left -= month_days(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn timestamps_of_other_writers_are_read() {
        let check = |text: &str, expected: u64| {
            assert_eq!(parse_rfc3339(text), Some(expected), "{text}");
        };
        check("1970-01-01T00:00:00Z", 0);
        check("1970-01-01T00:00:00.001Z", 1);
        check("2000-02-29T12:00:00Z", 951_825_600_000);
        check("2026-12-01T11:31:17.5Z", 1_796_124_677_500);
        check("2026-12-01T11:31:17.123456+00:00", 1_796_124_677_123);
        check("2026-12-01T13:01:17+01:30", 1_796_124_677_000);
        check("2026-12-01t06:31:17-05:00", 1_796_124_677_000);
        check("2026-12-01 11:31:17z", 1_796_124_677_000);
        check("2016-12-31T23:59:60Z", 1_483_228_800_000);
        check("9999-12-31T23:59:59.999Z", LAST_MS);
    }

    #[test]
    fn what_is_no_point_in_time_is_none() {
        for bad in [
            "",
            "now",
            "2026-12-01",
            "2026-12-01T11:31:17",
            "2026-12-01T11:31:17.",
            "2026-12-01T11:31:17.Z",
            "2026-12-01T11:31:17+0100",
            "2026-12-01T11:31:17+24:00",
            "2026-12-01T11:31:17+01:60",
            "2026-12-01T11:31:17Zx",
            "2026-02-29T11:31:17Z",
            "1900-02-29T11:31:17Z",
            "2026-13-01T11:31:17Z",
            "2026-00-01T11:31:17Z",
            "2026-12-00T11:31:17Z",
            "2026-12-32T11:31:17Z",
            "2026-12-01T24:31:17Z",
            "2026-12-01T11:60:17Z",
            "2026-12-01T11:31:61Z",
            "+026-12-01T11:31:17Z",
            "0000-12-01T11:31:17Z",
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-12-01T11:31:17ä",
            "２026-12-01T11:31:17Z",
        ] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097 {
            assert_eq!(date(days), (year, month, day), "{days}");
            assert_eq!(days_since_1970(year, month, day), Some(days));
            day += 1;
            if day > month_days(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2370, 1, 1), "400 years have 146097 days");
    }

    proptest! {
        #[test]
        fn timestamps_read_what_they_print(ms in 0..=LAST_MS) {
            prop_assert_eq!(parse_rfc3339(&print_rfc3339(ms)), Some(ms));
        }

        #[test]
        fn no_text_breaks_the_reader(text in any::<String>(), near in "[0-9T:. Z+-]{0,30}") {
            let _ = (parse_rfc3339(&text), parse_rfc3339(&near));
            let _ = print_rfc3339(u64::MAX);
        }
    }
}
