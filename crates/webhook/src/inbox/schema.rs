//! The tables and their version.
