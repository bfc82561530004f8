//! Conversation ids: the agents' own identities of what was said.

use uuid::Uuid;

/// Whether `text` can be a conversation id; only such texts become part of a file name.
pub(crate) fn is_conversation_id(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}

/// An id that no conversation has yet.
pub(crate) fn fresh() -> String {
    Uuid::new_v4().to_string()
}
