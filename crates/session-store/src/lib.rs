//! Durable files of agent-box: registry, launch records, env file, journal.
