//! The durable inbox: deliveries, what became of each, batches, and what waits for sessions.
