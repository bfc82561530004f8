//! Typed tmux: exact targets, one-round-trip snapshots, create-and-tag.
