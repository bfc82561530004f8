//! Repo-level promises.
#![expect(clippy::unwrap_used, reason = "in tests a panic is the report")]
#![expect(clippy::print_stderr, reason = "the model says how many states it searched")]

mod layering;
mod protocol;
mod sources;
mod tidy;
mod words;
