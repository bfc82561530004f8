//! What is wanted: every session's filter, the box's standing watches under the declared policy,
//! and what the box acts as, as the files say it now.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use agent_box_event::{Filter, Login, TopicPattern};
use agent_box_session::WebhookPaths;
use serde_json::Value;

use super::Parts;
use super::settings::Settings;
use crate::disk::Cached;
use crate::filters::{DueStamps, FilterFile, FilterFiles, Identity, Owner, PolicyFile, Stamps};
use crate::now_ms;

/// Reads the rules again when their files changed.
#[derive(Debug)]
pub(crate) struct Rules {
    paths: WebhookPaths,
    files: FilterFiles,
    policy: PolicyFile,
    identity: Identity,
    /// `None` while the file cannot be read and never could be.
    sources: Cached<Option<Settings>>,
    window: Duration,
    stamps: Stamps,
    /// What each file said when it could be read: it counts until the file can be read again.
    last: BTreeMap<Owner, Filter>,
}

/// The rules at one moment.
#[derive(Clone, Debug)]
pub(crate) struct RulesNow {
    pub(crate) watches: Filter,
    /// By the key of each file; the one shared by peers without a key has an empty one.
    pub(crate) sessions: Vec<(String, Filter)>,
    pub(crate) me: Option<Login>,
    pub(crate) settings: Settings,
    /// The standing watches or the limits cannot be read and never could: nothing is decided until
    /// they can.
    pub(crate) is_blind: bool,
}

impl Rules {
    pub(crate) fn new(parts: &Parts) -> Self {
        let paths = parts.paths.clone();
        Self {
            files: FilterFiles::new(paths.clone()),
            policy: PolicyFile::new(parts.policy.clone(), &paths),
            identity: Identity::new(parts.me.as_deref(), &paths, now_ms()),
            sources: Cached::new(paths.sources()),
            window: parts.window,
            stamps: Stamps::default(),
            last: BTreeMap::new(),
            paths,
        }
    }

    /// What counts now. Unreadable is not empty: a file that cannot be read says what it said
    /// before (`filters_that_cannot_be_read_say_what_they_said_before`).
    pub(crate) fn now(&mut self) -> RulesNow {
        let now = now_ms();
        match self.files.sessions(now) {
            Ok(files) => {
                self.last.retain(|it, _| {
                    *it == Owner::Box || files.iter().any(|(owner, _)| owner == it)
                });
                for (owner, file) in &files {
                    self.read(owner, file);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the filters cannot be listed; the last ones count");
            }
        }
        let watches = self.files.of(&Owner::Box, now);
        self.read(&Owner::Box, &watches);
        let are_watches_unknown =
            matches!(*watches, FilterFile::Invalid(_)) && !self.last.contains_key(&Owner::Box);
        let sessions = self.last.iter().filter(|(owner, _)| **owner != Owner::Box);
        let sessions = sessions
            .map(|(owner, filter)| (owner.key().unwrap_or_default().to_owned(), filter.clone()))
            .collect();
        let policy = self.policy.current(now);
        let nothing = Filter { enabled: false, ttl_ms: None, rows: Vec::new() };
        let watches = self.last.get(&Owner::Box).map_or(nothing, |filter| policy.govern(filter));
        let window = self.window;
        let settings = *self.sources.get(now, |bytes, before| {
            let sources = match bytes {
                Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Value::Null),
                Err(error) => Err(error.to_string()),
            };
            let sources = match sources {
                Ok(sources) => sources,
                // Limits that cannot be read are not lifted: the last ones count.
                Err(reason) => {
                    tracing::warn!(reason, "sources.json cannot be read; its last limits count");
                    return before.flatten();
                }
            };
            let (settings, problems) = Settings::read(&sources, window);
            for problem in problems {
                tracing::warn!("{problem}");
            }
            Some(settings)
        });
        let is_blind = are_watches_unknown || settings.is_none();
        let settings = settings.unwrap_or_else(|| Settings::read(&Value::Null, window).0);
        RulesNow { watches, sessions, me: self.identity.current(now), settings, is_blind }
    }

    fn read(&mut self, owner: &Owner, file: &FilterFile) {
        match (file.filter(), file) {
            (Some(filter), _) => {
                self.last.insert(owner.clone(), filter.clone());
            }
            (None, FilterFile::Invalid(_)) => {}
            (None, _) => {
                self.last.remove(owner);
            }
        }
    }

    /// Notes that rows have delivered something, for their lifetime.
    pub(crate) fn note_delivered(&mut self, rows: &[(Option<String>, TopicPattern)], now_ms: u64) {
        for (key, pattern) in rows {
            let owner = key.as_ref().map_or(Owner::Box, |key| Owner::of_key(Some(key)));
            self.stamps.note(&owner, pattern, now_ms);
        }
    }

    /// When stamps are to be written that are not written yet.
    pub(crate) fn stamps_ms(&self) -> Option<u64> {
        self.stamps.next_ms()
    }

    /// Writes the stamps that are due, beside everything else: it may wait for a lock.
    pub(crate) fn write_stamps(&mut self, due_ms: u64, tasks: &mut tokio::task::JoinSet<()>) {
        for due in self.stamps.take_due(due_ms) {
            let paths = self.paths.clone();
            tasks.spawn_blocking(move || write(&due, &paths, now_ms()));
        }
    }
}

fn write(due: &DueStamps, paths: &WebhookPaths, now_ms: u64) {
    if let Err(error) = due.write(paths, now_ms) {
        tracing::warn!(%error, "cannot note in a filter that it delivered");
    }
}
