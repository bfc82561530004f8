//! Observe, plan, execute: keeps sessions what the registry says.
