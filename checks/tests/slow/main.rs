//! Searches and soak tests that take minutes; `--profile slow` runs them.

mod protocol;
