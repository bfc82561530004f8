//! The durable inbox on real files.

mod arrivals;
mod batches;
mod crash;
mod disk;
mod files;
mod group;
mod messages;
mod model;
mod retention;
pub(crate) mod rig;
mod verbs;
