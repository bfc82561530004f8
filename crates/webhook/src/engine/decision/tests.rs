//! Deliveries decided under all that can be known.
