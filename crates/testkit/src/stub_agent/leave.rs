//! The only place where the stub agent writes to its terminal and ends its process.

use std::io::Write as _;

/// One line on stdout. A terminal that is gone is no reason to fail.
pub(super) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// One line on stderr.
pub(super) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Ends the process from any thread.
#[expect(clippy::exit, reason = "signals arrive on a thread of their own")]
pub(super) fn exit(code: i32) -> ! {
    std::process::exit(code)
}
