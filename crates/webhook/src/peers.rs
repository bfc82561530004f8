//! How running sessions are told: their connections to the daemon.
