//! The inbox as verbs look at it: beside the receiver and without one.

use rusqlite::ErrorCode;

use super::Context;
use super::print::chain;
use crate::inbox::{InboxError, Look, ReadOnly};

/// Looks at it; `None` if none was ever made.
///
/// # Errors
/// The look's own; damage names the file and the next step, wherever in it that was found.
pub(crate) fn look<T>(
    context: &Context,
    look: impl FnOnce(&Look) -> Result<T, InboxError>,
) -> Result<Option<T>, InboxError> {
    let path = context.paths.inbox();
    let looked = ReadOnly::open(&path).and_then(|it| it.map(|it| it.look(look)).transpose());
    looked.map_err(|error| {
        if !is_damage(&error) {
            return error;
        }
        // Opening it found nothing wrong, but no version wrote what it holds.
        InboxError::Damaged { path, what: chain(&error) }
    })
}

fn is_damage(error: &InboxError) -> bool {
    match error {
        InboxError::Unreadable(_) => true,
        // A table or column that is not there; SQLite has no number for that.
        InboxError::Database(error) => {
            matches!(error.sqlite_error_code(), None | Some(ErrorCode::Unknown))
        }
        _ => false,
    }
}
