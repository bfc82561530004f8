//! Repo-level promises.

mod protocol;
