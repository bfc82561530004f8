//! Repo-level promises.

mod layering;
mod protocol;
mod sources;
mod tidy;
mod words;
