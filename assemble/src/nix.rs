//! What must be computed exactly as Nix does it, in the shape of nix-compat's modules.
//!
//! `nixbase32`, `nixhash` and `store_path` carry that crate's names, so that it can take their
//! place once it is published; `nar` stands on nix-nar.

pub mod nar;
pub mod nixbase32;
pub mod nixhash;
pub mod store_path;
