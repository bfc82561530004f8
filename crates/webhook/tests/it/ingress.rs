//! The ingress over real sockets: what each sender is answered, and what nobody may take.

mod answers;
mod limits;
pub(crate) mod raw_http;
pub(crate) mod rig;
mod senders;
