//! Codex's rollouts: `sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`, one JSON object a line.
//!
//! A rollout is ours if, before the agent's first answer, a message of the user or of the
//! developer begins with our stamp. Anywhere else the stamp proves nothing: an agent that lists
//! processes prints those of its siblings.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::stamp;
use crate::conversation::is_conversation_id;
use crate::json_lines;

/// The head of a rollout: base instructions, skills and a prompt of 100 KiB fit with room.
const HEAD: u64 = 4 * 1024 * 1024;

/// A conversation of codex.
#[derive(Debug)]
pub(crate) struct Rollout {
    /// Codex's own id.
    pub(crate) id: String,
    path: PathBuf,
}

/// The newest rollout that carries the stamp of `conversation`.
pub(crate) fn find(home: &Path, conversation: &str) -> Option<Rollout> {
    let stamp = stamp(conversation);
    let mut days = vec![home.join("sessions")];
    for _ in ["year", "month", "day"] {
        days = days.iter().flat_map(|folder| newest_first(folder)).collect();
    }
    // Names begin with the time of creation, so a fork made later comes first.
    days.iter().flat_map(|day| newest_first(day)).find_map(|path| {
        let stem = path.file_name()?.to_str()?.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
        let id = stem.get(stem.len().checked_sub(36)?..)?;
        (is_conversation_id(id) && begins_with(&path, &stamp))
            .then(|| Rollout { id: id.to_owned(), path: path.clone() })
    })
}

/// Whether the rollout of `conversation` holds `prompt` (with its stamp) as a message.
pub(crate) fn holds(home: &Path, conversation: &str, prompt: &str) -> bool {
    // Codex keeps texts as they are but for line ends.
    let plain = |text: &str| text.replace("\r\n", "\n").trim().to_owned();
    let prompt = plain(prompt);
    let Some(rollout) = find(home, conversation) else { return false };
    let found = json_lines::find_map(&rollout.path, u64::MAX, "\"user\"", |line| {
        let item = Item::of(line)?;
        let holds = item.is_by("user") && item.texts().any(|text| plain(text) == prompt);
        holds.then_some(())
    });
    matches!(found, Ok(Some(())))
}

fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

fn begins_with(path: &Path, stamp: &str) -> bool {
    let verdict = json_lines::find_map(path, HEAD, "", |line| {
        let item = Item::of(line)?;
        if item.is_by("user") || item.is_by("developer") {
            item.texts().any(|text| text.starts_with(stamp)).then_some(true)
        } else {
            (item.is_helper() || item.is_answer()).then_some(false)
        }
    });
    matches!(verdict, Ok(Some(true)))
}

/// One line of a rollout, as far as it matters.
struct Item<'a> {
    kind: &'a str,
    payload: &'a Value,
}

impl<'a> Item<'a> {
    fn of(line: &'a Value) -> Option<Self> {
        Some(Self { kind: line.get("type")?.as_str()?, payload: line.get("payload")? })
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.payload.get(key).and_then(Value::as_str)
    }

    /// Whether this begins the rollout of an agent's helper, which starts with a copy of its
    /// conversation, stamp and all.
    fn is_helper(&self) -> bool {
        self.kind == "session_meta"
            && self.payload.get("source").is_some_and(|source| !source.is_string())
    }

    fn is_message(&self) -> bool {
        self.kind == "response_item" && self.text("type") == Some("message")
    }

    fn is_by(&self, role: &str) -> bool {
        self.is_message() && self.text("role") == Some(role)
    }

    fn is_answer(&self) -> bool {
        self.kind == "response_item" && (!self.is_message() || self.is_by("assistant"))
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let parts = self.payload.get("content").and_then(Value::as_array).into_iter().flatten();
        parts.filter_map(|part| part.get("text").and_then(Value::as_str))
    }
}
