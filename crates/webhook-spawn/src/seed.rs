//! A hook session's first subscription: the topic that it was started for.

use std::path::PathBuf;

use agent_box_disk::{make_private_directory, remove, replace};
use agent_box_event::{Object, Topic, TopicPattern};
use agent_box_session::{SessionName, WebhookPaths};
use serde_json::json;

use crate::surrounded::Surrounded;

/// How long it lasts without an event.
const TTL_HOURS: u64 = 2;

impl Surrounded {
    /// The filter file of a session.
    pub(crate) fn filter(&self, name: &SessionName) -> PathBuf {
        self.webhook.filter(Some(&WebhookPaths::session_key(&self.user, name)))
    }

    /// Subscribes the session that is about to be listed to exactly `topic`, never to the watch's
    /// wildcard.
    ///
    /// The file is replaced without the filters' lock: until the session is listed nobody else
    /// writes its filter.
    ///
    /// Of the topic it hears what is about the objects that it was started for, and of one whose
    /// events name no objects everything: what else happens there is another session's work.
    pub(crate) fn seed(
        &self,
        name: &SessionName,
        topic: &Topic,
        objects: &[Object],
    ) -> Result<(), String> {
        // A key with a star would be read as a pattern.
        let pattern = TopicPattern::exactly(topic).map_err(|error| error.to_string())?;
        let at = self.seconds();
        let mut filter = json!({
            "//": "seeded by agent-box when the session was started; the session may change it",
            "enabled": true,
            "ttlHours": TTL_HOURS,
            "topics": [{
                "topic": pattern.to_string(),
                "note": "seeded at spawn: what this session was started for",
                "ttlHours": TTL_HOURS,
                "renewOnEvent": true,
                "ignoreSenders": ["@self"],
                "subscribedAt": at,
                "lastActivityAt": at,
            }],
        });
        if !objects.is_empty() {
            let objects: Vec<String> = objects.iter().map(Object::to_string).collect();
            filter["topics"][0]["objects"] = json!(objects);
        }
        let state = self.webhook.state();
        make_private_directory(state)
            .and_then(|()| replace(&self.filter(name), state, format!("{filter:#}\n").as_bytes()))
            .map_err(|error| format!("{error}: {}", error.source))
    }

    /// Takes the seed back after an add that failed.
    pub(crate) fn unseed(&self, name: &SessionName) {
        // What cannot be removed is swept by the supervisor's next start.
        let _ = remove(&self.filter(name));
    }
}
