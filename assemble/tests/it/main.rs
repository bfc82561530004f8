//! The generated module against the real repository, the real cargo and, where it is at hand,
//! the real Nix.
#![expect(clippy::unwrap_used, reason = "in tests a panic is the report")]

mod embedded;
mod golden;
mod nix;
mod program;
mod repository;
mod small_repository;
