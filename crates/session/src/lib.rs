//! Vocabulary of agent-box sessions and the pure transitions of their registry.
