//! The benchmark's stopwatch.

use std::time::{Duration, Instant};

/// Milliseconds that `work` took, and its result.
#[expect(clippy::disallowed_methods, reason = "this is the benchmark's clock")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64() * 1000.0, done)
}

/// Lets the box run undisturbed.
#[expect(clippy::disallowed_methods, reason = "idle time is what is measured")]
pub(crate) fn idle(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}
