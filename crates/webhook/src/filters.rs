//! Filter files: who wants what, with one locked writer.
