//! Tests with a real registry and a real tmux server.
