//! Waiting for a predicate with a deadline: the only way a test here lets time pass.

use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(15);

/// Polls until `look` finds something.
#[expect(clippy::disallowed_methods, reason = "the tests' clock")]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Polls until `holds` is true.
pub(crate) fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}
