//! The lock of the one program that writes.
