//! What is wanted: every session's filter, the box's standing watches, the declared policy and
//! what the box acts as, as the files say it now.

use std::fs;
use std::time::Duration;

use agent_box_event::{Filter, FilterDocument, Login, TopicPattern};
use agent_box_session::WebhookPaths;
use serde_json::Value;

use super::Parts;
use super::settings::Settings;
use crate::to_event_json;

/// Reads the rules and keeps nothing but what it needs to say things once.
#[derive(Debug)]
pub(crate) struct Rules {
    paths: WebhookPaths,
    me: Option<String>,
    window: Duration,
    said: Vec<String>,
}

/// The rules at one moment.
#[derive(Clone, Debug)]
pub(crate) struct RulesNow {
    pub(crate) watches: Filter,
    /// By the key of each file.
    pub(crate) sessions: Vec<(String, Filter)>,
    pub(crate) me: Option<Login>,
    pub(crate) settings: Settings,
}

impl Rules {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            paths: parts.paths.clone(),
            me: parts.me.clone(),
            window: parts.window,
            said: Vec::new(),
        }
    }

    /// What counts now; a file that cannot be read wants nothing, and nothing else changes by it.
    pub(crate) fn now(&mut self) -> RulesNow {
        let nothing = Filter { enabled: false, ttl_ms: None, rows: Vec::new() };
        let read = |path| {
            let raw: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
            FilterDocument::read(&to_event_json(&raw)).map(|it| it.filter().clone())
        };
        let mut sessions = Vec::new();
        for entry in fs::read_dir(self.paths.state()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let key = match name.strip_prefix("filter").and_then(|it| it.strip_suffix(".json")) {
                Some("") => "",
                Some(key) => key.strip_prefix('.').unwrap_or_default(),
                None => continue,
            };
            if key != "dispatch"
                && let Some(filter) = read(entry.path())
            {
                sessions.push((key.to_owned(), filter));
            }
        }
        sessions.sort_by(|one, other| one.0.cmp(&other.0));
        RulesNow {
            watches: read(self.paths.dispatch_filter()).unwrap_or(nothing),
            sessions,
            me: self.me.as_deref().and_then(|me| Login::parse(me).ok()),
            settings: self.settings(),
        }
    }

    fn settings(&mut self) -> Settings {
        let text = fs::read(self.paths.sources()).unwrap_or_default();
        let sources: Value = serde_json::from_slice(&text).unwrap_or_default();
        let (settings, problems) = Settings::read(&sources, self.window);
        for problem in problems.iter().filter(|it| !self.said.contains(it)) {
            tracing::warn!("{problem}");
        }
        self.said = problems;
        settings
    }

    /// Notes that rows have delivered something, for their lifetime.
    pub(crate) fn note_delivered(&mut self, rows: &[(Option<String>, TopicPattern)], now_ms: u64) {
        let _ = (rows, now_ms);
    }
}
