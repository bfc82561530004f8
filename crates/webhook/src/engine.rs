//! What becomes of stored deliveries: matching, dispatch, the spawn wrapper.

mod child;
mod decision;
mod message;
mod roster;
mod wrapper;

pub use wrapper::Wrapper;
