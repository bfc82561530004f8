//! The identity of a batch, and the name of the session that it starts.

use std::fmt;

use thiserror::Error;

use crate::EventKey;
use crate::source::shortened;

/// A batch: the inbox it is from, and its number there.
///
/// The inbox has a random id of its own, so that batches of an inbox that was made anew are not
/// taken for those of the old one, which the registry may have claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId {
    /// Random, drawn when the inbox was made.
    pub inbox: u64,
    /// Counts up within the inbox and is never used again.
    pub number: u64,
}

/// Why a text is no batch's id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{}` is no batch id; it is the inbox's 16 hex digits, `-` and a number", .0.escape_debug())]
pub struct ParseBatchIdError(String);

impl BatchId {
    /// Reads what [`fmt::Display`] wrote, and nothing else.
    pub fn parse(text: &str) -> Result<Self, ParseBatchIdError> {
        let read = || {
            let (inbox, number) = text.split_once('-')?;
            let (inbox, number) =
                (u64::from_str_radix(inbox, 16).ok()?, number.parse::<u64>().ok()?);
            let id = Self { inbox, number };
            (id.to_string() == text).then_some(id)
        };
        read().ok_or_else(|| ParseBatchIdError(shortened(text)))
    }

    /// Whether a claim on this batch can be pruned when `lowest` is the lowest that is unsettled:
    /// claims of another inbox tell nothing about this one.
    pub fn is_settled_below(&self, lowest: &Self) -> bool {
        self.inbox == lowest.inbox && self.number < lowest.number
    }

    /// Eight hex digits that look unlike the neighbours' and are no other batch's of this inbox:
    /// an odd factor permutes the numbers below 2^32. Larger ones have further digits.
    fn hex(&self) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "the upper half is written after it")]
        let low = (self.number as u32).wrapping_mul(0x9e37_79b1) ^ (self.inbox as u32);
        match self.number >> 32 {
            0 => format!("{low:08x}"),
            high => format!("{low:08x}{high:x}"),
        }
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.inbox, self.number)
    }
}

/// What a hook session is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookName {
    /// `hook-<key>-<hex>`, or `hook-<hex>`.
    pub name: String,
    /// Whether the key did not fit, which the wrapper says in its log.
    pub is_key_left_out: bool,
}

/// The longest name of a session that can be created.
const MAX_LENGTH: usize = 150;

/// Names a batch's session: every run for the same batch agrees, no other batch has the name.
///
/// The key is never cut, for a part of a name reads as another repository's.
pub fn hook_name(key: Option<&EventKey>, batch: &BatchId) -> HookName {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let key: String = key.map_or("event", EventKey::as_str).chars().map(legal).collect();
    let hex = batch.hex();
    let name = format!("hook-{key}-{hex}");
    if name.len() <= MAX_LENGTH {
        HookName { name, is_key_left_out: false }
    } else {
        HookName { name: format!("hook-{hex}"), is_key_left_out: true }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(key: &str, inbox: u64, number: u64) -> HookName {
        hook_name(EventKey::parse(key).ok().as_ref(), &BatchId { inbox, number })
    }

    #[test]
    fn names_keep_the_key_whole_or_leave_it_out() {
        assert_eq!(name("defangdevs/agent-box", 0, 1).name, "hook-defangdevs-agent-box-9e3779b1");
        assert_eq!(name("", 0, 0).name, "hook-event-00000000");
        assert_eq!(name("a.b:c_d", 1, 0).name, "hook-a-b-c_d-00000001");
        for (length, left_out) in [(135, false), (136, false), (137, true), (200, true)] {
            let name = name(&"k".repeat(length), 0, 2);
            assert_eq!(name.is_key_left_out, left_out, "{length}");
            assert!(name.name.len() <= MAX_LENGTH);
            assert_eq!(name.name == "hook-3c6ef362", left_out);
        }
    }

    #[test]
    fn a_claim_is_pruned_below_the_lowest_unsettled_of_its_own_inbox() {
        let id = |inbox, number| BatchId { inbox, number };
        for (number, expected) in [(4, true), (5, false), (6, false)] {
            assert_eq!(id(1, number).is_settled_below(&id(1, 5)), expected);
        }
        assert!(!id(2, 4).is_settled_below(&id(1, 5)));
    }

    #[test]
    fn ids_read_only_what_they_print() {
        for bad in
            ["", "1", "1-1", "0000000000000001-+1", "0000000000000001-01", "000000000000000G-1"]
        {
            assert!(BatchId::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn batch_ids_read_what_they_print(inbox: u64, number: u64) {
            let id = BatchId { inbox, number };
            prop_assert_eq!(BatchId::parse(&id.to_string()).unwrap(), id);
        }

        #[test]
        fn distinct_batches_have_distinct_names(
            inbox: u64,
            one in prop_oneof![any::<u64>(), 0..5_u64, (1_u64 << 32)..(1 << 32) + 5],
            other in prop_oneof![any::<u64>(), 0..5_u64, (1_u64 << 32)..(1 << 32) + 5],
            key in "[a./-]{1,3}|[a-z]{150}",
            other_key in "[a./-]{1,3}|[a-z]{150}",
        ) {
            let (first, second) = (name(&key, inbox, one), name(&other_key, inbox, other));
            prop_assert!(one == other || first.name != second.name);
            prop_assert!(first.name.len() <= MAX_LENGTH);
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            prop_assert!(first.name.starts_with("hook-") && first.name.chars().all(legal));
        }
    }
}
