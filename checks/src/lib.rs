//! Repo-level promises: layering, tidiness, the protocol model, the benchmark.
