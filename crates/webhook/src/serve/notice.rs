//! `receiver.json`: who receives, where, and whether there is something to start sessions with.
//!
//! Verbs and other programs believe it, so it is written again when that changes: a door opens, or
//! the wrapper's program comes or goes, as it does when agent-box is installed anew.

use std::path::PathBuf;

use agent_box_event::print_rfc3339;
use agent_box_session::WebhookPaths;
use inotify::{Inotify, WatchMask};
use serde_json::{Value, json};
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use super::TICK;
use crate::disk::{self, IoError};
use crate::engine::Wrapper;
use crate::now_ms;

/// The file, and what it says.
#[derive(Debug)]
pub(super) struct Notice {
    file: PathBuf,
    wrapper: Wrapper,
    /// On the directory of the wrapper's program; without one the tick must do.
    changes: Option<AsyncFd<Inotify>>,
    started_at: String,
    said: Value,
}

impl Notice {
    /// Nothing is written yet.
    pub(super) fn new(paths: &WebhookPaths, wrapper: Wrapper) -> Self {
        #[expect(deprecated, reason = "its successor is unsafe; Inotify keeps its descriptor")]
        let changes = Inotify::init().and_then(AsyncFd::new);
        Self {
            file: paths.receiver(),
            wrapper,
            changes: changes.ok(),
            started_at: print_rfc3339(now_ms()),
            said: Value::Null,
        }
    }

    /// Says it as it is now; `door` is where deliveries come in, `shut` why no others do.
    ///
    /// # Errors
    /// When the file cannot be written; the next call tries again.
    pub(super) fn say(&mut self, door: &Value, shut: Option<&str>) -> Result<(), IoError> {
        // Watched before it is looked at, so that no change is missed in between.
        self.watch();
        let now = json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "ingress": door,
            "shut": shut,
            "spawn": self.wrapper.is_usable(),
            "startedAt": self.started_at,
        });
        if now != self.said {
            disk::replace(&self.file, 0o644, format!("{now:#}\n").as_bytes())?;
            self.said = now;
        }
        Ok(())
    }

    /// Watches the directory that has the name now; watching the same one again changes nothing.
    fn watch(&self) {
        let mask = WatchMask::CREATE
            | WatchMask::DELETE
            | WatchMask::MOVE
            | WatchMask::MOVE_SELF
            | WatchMask::ONLYDIR;
        if let (Some(changes), Some(directory)) = (&self.changes, self.wrapper.program.parent()) {
            // One that is not there is looked for at the next tick.
            let _ = changes.get_ref().watches().add(directory, mask);
        }
    }

    /// Waits until it may have become untrue. Cancel-safe: what happens meanwhile is seen by
    /// [`Notice::say`].
    pub(super) async fn outdated(&mut self) {
        let Some(changes) = &mut self.changes else { return tokio::time::sleep(TICK).await };
        if let Ok(Ok(mut ready)) = timeout(TICK, changes.readable_mut()).await {
            // What happened does not matter, for the directory is looked at anew.
            let mut events = [0; 4096];
            while ready.get_inner_mut().read_events(&mut events).is_ok_and(has_some) {}
            ready.clear_ready();
        }
    }
}

fn has_some(mut events: inotify::Events<'_>) -> bool {
    events.next().is_some()
}
