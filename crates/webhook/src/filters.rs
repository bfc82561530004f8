//! Filter files: who wants what, with one locked writer.
//!
//! ```text
//! filter.<user>-<session>.json   a session's subscriptions
//! filter.json                    those of peers that have no key
//! filter.dispatch.json           the box's standing watches
//! filters.lock                   held (flock) by whoever changes one of them: verbs, the MCP
//!                                server, the daemon's stamps
//! ```
//!
//! Reading takes no lock, since writers replace a file in one step. A file that cannot be read
//! delivers nothing and is never overwritten: a change keeps its bytes beside it.

mod edit;
mod files;
mod identity;
mod listing;
mod owner;
mod policy_file;
mod receiver;
pub(crate) mod requests;
mod resolver;
mod stamps;

pub use edit::{EditError, Edited, edit};
pub use files::{FilterFile, FilterFiles, read};
pub use identity::Identity;
pub(crate) use listing::Listing;
pub use owner::Owner;
pub use policy_file::PolicyFile;
pub use resolver::{Asking, Known, Resolver};
pub use stamps::{DueStamps, Stamps};
