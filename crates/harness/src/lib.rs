//! What agent-box knows of each agent CLI.
