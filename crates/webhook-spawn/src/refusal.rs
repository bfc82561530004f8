//! What is kept about refusals at the cap, so that people learn why nothing starts.

use std::path::PathBuf;

use agent_box_disk::{IoError, read, replace};
use agent_box_event::contract::{RefusalRecord, Request};
use serde_json::Value;

use crate::json;
use crate::surrounded::Surrounded;

impl Surrounded {
    /// The record of refusals.
    pub(crate) fn refusal_path(&self) -> PathBuf {
        self.store.paths().state().join("webhook-spawn-refused.json")
    }

    /// Notes one more. Wrappers side by side may count two as one; the time and the numbers are
    /// the last one's.
    pub(crate) fn note_refusal(
        &self,
        request: &Request,
        used: u64,
        max: u64,
    ) -> Result<(), IoError> {
        let path = self.refusal_path();
        let at = self.seconds();
        let record = RefusalRecord {
            at: at.clone(),
            first_at: at,
            count: 1,
            live: used,
            max,
            topic: request.topic.clone(),
            key: request.key.as_ref().map(|key| key.as_str().to_owned()),
        };
        let record = record.after(self.last_refusal().as_ref());
        let text = format!("{:#}\n", json::to_value(&record.to_json()));
        replace(&path, &self.store.paths().state(), text.as_bytes())
    }

    /// What was noted last; a record that cannot be read is none.
    pub(crate) fn last_refusal(&self) -> Option<RefusalRecord> {
        let text = read(&self.refusal_path(), 1).ok()?;
        let value: Value = serde_json::from_slice(&text).ok()?;
        RefusalRecord::read(&json::from_value(&value))
    }

    /// The time in UTC, to the second, as older tools write it.
    pub(crate) fn seconds(&self) -> String {
        let now = self.store.now().to_string();
        format!("{}Z", &now[..19])
    }
}
