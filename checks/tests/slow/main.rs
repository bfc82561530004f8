//! Searches and soak tests that take minutes; `--profile slow` runs them.
#![expect(clippy::print_stderr, reason = "the model says how many states it searched")]

mod protocol;
