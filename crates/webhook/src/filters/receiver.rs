//! What the running daemon says of itself in `receiver.json`, as far as a watch depends on it.

use agent_box_session::WebhookPaths;
use serde_json::Value;

use crate::disk::read;

/// Why a standing watch would start nothing, so far as can be seen from here.
pub(crate) fn complaint(paths: &WebhookPaths) -> Option<String> {
    let said = read(&paths.receiver()).ok();
    let said: Option<Value> = said.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(said) = said else {
        let text = "no receiver has run here yet; start one with `agent-box up` or \
                    `agent-box webhook serve`";
        return Some(text.to_owned());
    };
    (said["spawn"] == Value::Bool(false)).then(|| {
        "the receiver has no command to start sessions with, so a match starts nothing".to_owned()
    })
}
