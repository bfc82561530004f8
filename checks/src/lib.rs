//! Repo-level promises: layering, tidiness, the protocol model, the benchmark.
//!
//! Owns what no single crate can promise. Refuses to be part of anything that is shipped.

pub mod protocol;
