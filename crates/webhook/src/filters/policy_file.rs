//! The rules that the operator declared for standing watches, read again when they change.
//!
//! Whatever becomes of the file, deliveries go on: while it cannot be read the last rules that
//! could be count.

use std::io;
use std::path::{Path, PathBuf};

use agent_box_event::Policy;
use agent_box_session::WebhookPaths;
use serde_json::Value;

use crate::disk::Cached;
use crate::to_event_json;

/// The policy of a box.
#[derive(Debug)]
pub struct PolicyFile {
    is_given: bool,
    cached: Cached<Read>,
}

/// What the file says, or said last; and why it says nothing now.
#[derive(Debug, Default)]
struct Read {
    policy: Policy,
    trouble: Option<String>,
}

impl PolicyFile {
    /// The file that was given for it, else the one among the webhook files, which need not exist.
    pub fn new(given: Option<PathBuf>, paths: &WebhookPaths) -> Self {
        let is_given = given.is_some();
        Self { is_given, cached: Cached::new(given.unwrap_or_else(|| paths.policy())) }
    }

    /// What is declared now.
    pub fn current(&mut self, now_ms: u64) -> &Policy {
        let (is_given, path) = (self.is_given, self.cached.path().to_owned());
        let read = self.cached.get(now_ms, |bytes, before| match understand(bytes, is_given) {
            Ok((policy, warnings)) => {
                tell(&path, &policy, before.as_ref().map(|it| &it.policy), &warnings);
                Read { policy, trouble: None }
            }
            Err(reason) => {
                let before = before.unwrap_or_default();
                if before.trouble.as_ref() != Some(&reason) {
                    let what = "the watch policy cannot be read; the last one that could be counts";
                    tracing::warn!(file = %path.display(), reason, "{what}");
                }
                Read { policy: before.policy, trouble: Some(reason) }
            }
        });
        &read.policy
    }
}

fn understand(bytes: io::Result<Vec<u8>>, is_given: bool) -> Result<(Policy, Vec<String>), String> {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        // Nobody declared anything. A file that was asked for and is missing is another matter.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_given => {
            return Ok((Policy::default(), Vec::new()));
        }
        Err(error) => return Err(error.to_string()),
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Err("it holds no map of topics to rules".to_owned());
    }
    Ok(Policy::read(&to_event_json(&value)))
}

fn tell(path: &Path, policy: &Policy, before: Option<&Policy>, warnings: &[String]) {
    for warning in warnings {
        tracing::warn!(file = %path.display(), "watch policy: {warning}");
    }
    if before != Some(policy) && !policy.rules.is_empty() {
        let topics: Vec<String> = policy.rules.iter().map(|(topic, _)| topic.to_string()).collect();
        tracing::info!("enforced declared rules on {}", topics.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::replace;

    #[test]
    fn a_policy_counts_from_its_change_on_and_the_last_good_one_while_it_is_broken() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let later = crate::now_ms() + 3_600_000;
        let topics = |file: &mut PolicyFile| -> Vec<String> {
            file.current(later).rules.iter().map(|(topic, _)| topic.to_string()).collect()
        };
        let put = |text: &str| replace(&paths.policy(), 0o600, text.as_bytes()).unwrap();
        let mut file = PolicyFile::new(None, &paths);
        let mut given = PolicyFile::new(Some(paths.policy()), &paths);
        assert!(topics(&mut file).is_empty() && topics(&mut given).is_empty());
        put(r#"{"github:o/*":{"when":null},"github:*":7}"#);
        assert_eq!(topics(&mut file), ["github:o/*"]);
        assert_eq!(topics(&mut given), ["github:o/*"]);
        put(r#"{"github:o/r":{}}"#);
        assert_eq!(topics(&mut file), ["github:o/r"]);
        assert_eq!(topics(&mut given), ["github:o/r"]);
        for broken in ["{", "[]", "7", ""] {
            put(broken);
            assert_eq!(topics(&mut file), ["github:o/r"], "{broken}");
        }
        std::fs::remove_file(paths.policy()).unwrap();
        assert_eq!(topics(&mut given), ["github:o/r"], "it was asked for");
        assert!(topics(&mut file).is_empty(), "nothing is declared any more");
    }
}
