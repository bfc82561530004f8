//! What follows from how the spawn wrapper ended.

use crate::contract::{ACCEPTED, DEFERRED, UNREADABLE};

/// So often a batch is tried before it is parked.
pub const MAX_ATTEMPTS: u32 = 6;

/// What happens to a batch next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It has its session.
    Settled,
    /// The box is full: back into the lane, where later events may join it under a new id.
    Wait,
    /// The same batch again, at this time.
    RetryAt(u64),
    /// The same batch again when the session list changes, at the latest at this time. It does
    /// not count as an attempt.
    HoldUntil(u64),
    /// Given up: visible, and replayable by hand.
    Park,
}

/// Decides after an attempt. `exit` is `None` if the wrapper did not start, did not end in time
/// or was killed; `attempts` counts this one, and none whose end nobody recorded.
///
/// A wrapper that was killed may have started the session before. So nothing is given up on such
/// an end, which would invite somebody to ask again for what is there: the next run says which it
/// was, and changes nothing if the batch has its session.
pub fn after_exit(exit: Option<i32>, attempts: u32, now_ms: u64) -> NextStep {
    match exit {
        Some(ACCEPTED) => NextStep::Settled,
        Some(DEFERRED) => NextStep::Wait,
        Some(UNREADABLE) => NextStep::HoldUntil(now_ms.saturating_add(HOLD_MS)),
        Some(_) if attempts >= MAX_ATTEMPTS => NextStep::Park,
        _ => NextStep::RetryAt(now_ms.saturating_add(delay_ms(attempts))),
    }
}

/// Somebody has to mend the list, which may take days; it is seen at once when they do.
const HOLD_MS: u64 = 600_000;

/// 5 s, 20 s, 80 s, 320 s, and at most ten minutes.
fn delay_ms(attempts: u32) -> u64 {
    let factor = 4_u64.saturating_pow(attempts.saturating_sub(1));
    factor.saturating_mul(5_000).min(600_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_settles_75_waits_74_is_held_and_the_rest_is_tried_again_and_then_parked() {
        for attempts in [1, MAX_ATTEMPTS, u32::MAX] {
            assert_eq!(after_exit(Some(0), attempts, 0), NextStep::Settled);
            assert_eq!(after_exit(Some(75), attempts, 0), NextStep::Wait);
            assert_eq!(after_exit(Some(74), attempts, 7), NextStep::HoldUntil(600_007));
        }
        for exit in [None, Some(1), Some(2), Some(126), Some(-9)] {
            for (attempts, delay) in [(1, 5), (2, 20), (3, 80), (4, 320), (5, 600)] {
                let at = NextStep::RetryAt(7 + delay * 1000);
                assert_eq!(after_exit(exit, attempts, 7), at, "{exit:?} {attempts}");
            }
            for attempts in [MAX_ATTEMPTS, MAX_ATTEMPTS + 1] {
                let last = if exit.is_some() { NextStep::Park } else { NextStep::RetryAt(600_007) };
                assert_eq!(after_exit(exit, attempts, 7), last, "{exit:?} {attempts}");
            }
        }
    }
}
