//! The spawn wrapper: starts a session for a batch of webhook events, exactly once.
//!
//! Owns: the cap, the hook session's prompt and arguments, the claim on a batch, what a receiver
//! may learn of sessions. Refuses to know: HTTP, deliveries, whether an event is wanted.
