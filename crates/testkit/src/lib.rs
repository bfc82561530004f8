//! Test support: private tmux, temporary homes, stub agents, pause points.
