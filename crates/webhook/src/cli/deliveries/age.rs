//! Lengths of time, as people write and read them.

use std::str::FromStr;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A length of time: `90s`, `30m`, `2h`, `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(u64);

impl Span {
    /// In milliseconds.
    pub(super) fn ms(self) -> u64 {
        self.0
    }
}

impl FromStr for Span {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write a number and s, m, h or d: 90s, 30m, 2h, 7d";
        let unit = match text.chars().last() {
            Some('s') => SECOND,
            Some('m') => MINUTE,
            Some('h') => HOUR,
            Some('d') => DAY,
            _ => return Err(wrong),
        };
        let digits = &text[..text.len() - 1];
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong);
        }
        let count: u64 = digits.parse().map_err(|_| wrong)?;
        count.checked_mul(unit).map(Self).ok_or(wrong)
    }
}

/// How long ago something was.
pub(super) fn ago(now_ms: u64, then_ms: u64) -> String {
    match now_ms.checked_sub(then_ms) {
        None => "in the future".to_owned(),
        Some(age) if age < SECOND => "now".to_owned(),
        Some(age) => format!("{} ago", length(age)),
    }
}

/// How long until something is.
pub(super) fn until(now_ms: u64, then_ms: u64) -> String {
    match then_ms.checked_sub(now_ms) {
        Some(rest) if rest >= SECOND => format!("in {}", length(rest)),
        _ => "now".to_owned(),
    }
}

/// In its largest unit, cut off.
fn length(ms: u64) -> String {
    match ms {
        _ if ms < 2 * MINUTE => format!("{} s", ms / SECOND),
        _ if ms < 2 * HOUR => format!("{} min", ms / MINUTE),
        _ if ms < 2 * DAY => format!("{} h", ms / HOUR),
        _ => format!("{} d", ms / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_a_number_and_a_unit() {
        for (text, ms) in [("90s", 90_000), ("30m", 1_800_000), ("2h", 7_200_000), ("0d", 0)] {
            assert_eq!(text.parse(), Ok(Span(ms)), "{text}");
        }
        for bad in ["", "h", "2", "+2h", "-2h", "2 h", "2w", "1.5h", "9999999999999999999s", "2ü"]
        {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn ages_are_in_their_largest_unit() {
        let check = |age: u64, expected: &str| assert_eq!(ago(DAY * 9, DAY * 9 - age), expected);
        check(0, "now");
        check(999, "now");
        check(SECOND, "1 s ago");
        check(2 * MINUTE - 1, "119 s ago");
        check(2 * MINUTE, "2 min ago");
        check(2 * HOUR, "2 h ago");
        check(2 * DAY, "2 d ago");
        assert_eq!(ago(0, 1), "in the future");
        assert_eq!(until(0, 90_000), "in 90 s");
        assert_eq!(until(90_000, 0), "now");
    }
}
