//! The SessionStart hook: claude tells which conversation it is in now.
//!
//! Clear, compact and resume move a running claude to a new conversation id. The hook runs at
//! each of these moments (and at every start) with one JSON object on stdin.

use serde_json::Value;

use crate::conversation::is_conversation_id;

/// A launched conversation and the one its process is in now (often the same).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The conversation the process was launched with.
    pub from: String,
    /// The conversation it is in.
    pub to: String,
}

/// What the hook has to record: `stdin` in full and the value of `AGENT_BOX_SESSION_ID`.
///
/// The caller reads all of stdin before anything else (an early exit would break claude's pipe),
/// stores the result with `Store::write_rotation`, prints nothing and exits 0 whatever happens:
/// claude shows a hook's output to the user. A record whose two ids are equal counts too; it
/// replaces one of an earlier launch with the same id.
pub fn session_start_hook(stdin: &[u8], launched: Option<&str>) -> Option<Rotation> {
    let from = launched.filter(|id| is_conversation_id(id))?.to_owned();
    let payload: Value = serde_json::from_slice(stdin).ok()?;
    let to = payload.get("session_id")?.as_str().filter(|id| is_conversation_id(id))?.to_owned();
    Some(Rotation { from, to })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0193b2c0-0000-4000-8000-00000000000a";
    const B: &str = "0193b2c0-0000-4000-8000-00000000000b";

    #[test]
    fn the_hook_records_where_claude_is_and_stays_silent_on_problems() {
        let payload = |id: &str| format!(r#"{{"session_id":"{id}","source":"clear"}}"#);
        let record = |stdin: &str, launched| session_start_hook(stdin.as_bytes(), launched);
        let moved = Rotation { from: A.to_owned(), to: B.to_owned() };
        assert_eq!(record(&payload(B), Some(A)), Some(moved));
        assert!(record(&payload(A), Some(A)).is_some_and(|same| same.to == A));
        for (stdin, launched) in [
            (payload(B), None),
            (payload(B), Some("../../x")),
            (payload("../../x"), Some(A)),
            (String::new(), Some(A)),
            ("[]".to_owned(), Some(A)),
            (r#"{"session_id":7}"#.to_owned(), Some(A)),
        ] {
            assert_eq!(record(&stdin, launched), None, "{stdin} {launched:?}");
        }
    }
}
