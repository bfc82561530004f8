//! The members of a JSON object by name, and the values that more than one of them has.

use crate::{Json, Number};

pub(super) const TTL_HOURS: &str = "ttlHours";

const HOUR_MS: u64 = 3_600_000;
/// Up to here hours as floats name every millisecond.
const LONGEST_MS: u64 = 1 << 50;

/// Where the first member of a name stands.
pub(super) fn position(members: &[(String, Json)], name: &str) -> Option<usize> {
    members.iter().position(|(key, _)| key == name)
}

/// Gives the member a value in its place, or at the end; `None` removes it.
pub(super) fn set(members: &mut Vec<(String, Json)>, name: &str, value: Option<Json>) {
    match (position(members, name), value) {
        (Some(at), Some(value)) => members[at].1 = value,
        (None, Some(value)) => members.push((name.to_owned(), value)),
        (_, None) => members.retain(|(key, _)| key != name),
    }
}

/// Milliseconds of a number of hours that is not negative. However short, it is not 0, which is
/// for ever.
pub(super) fn hours(json: &Json) -> Option<u64> {
    let Json::Number(number) = json else { return None };
    let hours = number.as_f64();
    if hours == 0.0 {
        return Some(0);
    }
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    let ms = (hours * HOUR_MS as f64).round().clamp(1.0, LONGEST_MS as f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just clamped")]
    (hours > 0.0).then_some(ms as u64)
}

/// The number of hours that [`hours`] reads as these milliseconds.
pub(super) fn to_hours(ms: u64) -> Json {
    let ms = ms.min(LONGEST_MS);
    if ms.is_multiple_of(HOUR_MS) {
        return Json::Number(Number::integer(ms / HOUR_MS));
    }
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    let hours = ms as f64 / HOUR_MS as f64;
    Json::Number(Number::float(hours).expect("BUG: a quotient of finite numbers"))
}

/// A problem: the member has no effect.
pub(super) fn ignored(name: &str, what: &str) -> String {
    format!("`{name}` is {what} and is ignored")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hours_are_numbers_that_are_not_negative() {
        let number = |hours: f64| Json::Number(Number::float(hours).unwrap());
        let check = |hours_: f64, expected: Option<u64>| {
            assert_eq!(hours(&number(hours_)), expected, "{hours_}");
        };
        check(0.0, Some(0));
        check(1.0, Some(HOUR_MS));
        check(0.5, Some(HOUR_MS / 2));
        check(1e-300, Some(1));
        check(1e300, Some(LONGEST_MS));
        check(-1.0, None);
        check(-1e-300, None);
        for other in [Json::Null, Json::Bool(true), Json::text("1"), Json::List(Vec::new())] {
            assert_eq!(hours(&other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn hours_read_what_they_print(ms in 0..=LONGEST_MS) {
            prop_assert_eq!(hours(&to_hours(ms)), Some(ms));
        }
    }
}
