//! The undo transition: an earlier registry's intents, written forward as new ones.

use crate::{SessionId, SessionName};

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Sessions that are listed again, with the id they had.
    pub restored: Vec<(SessionName, SessionId)>,
    /// Sessions that are not listed any more; their launches are to be ended.
    pub delisted: Vec<(SessionName, SessionId)>,
    /// Sessions whose intent was set back.
    pub changed: Vec<SessionName>,
}
