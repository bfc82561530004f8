//! Tests with real files, sockets and processes.
