//! What a receiver may learn of sessions, read without a lock.

use std::fmt::Write as _;

use agent_box_event::contract::{CLAIMED_BATCHES, SessionStatus, Status};
use agent_box_session_store::ReadError;
use thiserror::Error;

use crate::cap;
use crate::claims::{Claims, ClaimsError};
use crate::json;
use crate::surrounded::Surrounded;

/// Nobody can say which sessions there are.
#[derive(Debug, Error)]
pub enum StatusError {
    /// The registry cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its claims cannot.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
}

impl Surrounded {
    /// The hook sessions that count, the cap, and every session that has an id.
    ///
    /// One without an id was written by hand and has not started yet: nobody listens in it.
    ///
    /// # Errors
    /// When the registry is damaged or cannot be read: then nothing is known.
    pub fn status(&self) -> Result<Status, StatusError> {
        let document = self.store.read_settled()?;
        let claimed = Claims::read(document.extra(CLAIMED_BATCHES))?.highest();
        let registry = document.registry;
        let usable = registry.entries().filter_map(|(name, entry)| {
            Some(SessionStatus {
                session_id: entry.id?.to_string(),
                name: name.to_string(),
                agent: entry.spec.agent.as_ref().map_or("", |agent| agent.as_str()).to_owned(),
                is_active: !entry.stopped,
            })
        });
        let unusable = registry.unusable().iter().filter_map(|entry| {
            Some(SessionStatus {
                session_id: entry.id?.to_string(),
                name: entry.key.clone(),
                agent: String::new(),
                is_active: false,
            })
        });
        let sessions = usable.chain(unusable).collect();
        let live = cap::look(&self.tmux);
        let (live, max) = (cap::in_use(&registry, &live), self.cap().max);
        Ok(Status { live, max, sessions, claimed })
    }

    /// [`Surrounded::status`] as JSON on one line.
    ///
    /// # Errors
    /// See there.
    pub fn status_json(&self) -> Result<String, StatusError> {
        Ok(json::line(&self.status()?.to_json()))
    }

    /// The same for people, with the last refusal at the cap.
    ///
    /// # Errors
    /// See [`Surrounded::status`].
    pub fn status_text(&self) -> Result<String, StatusError> {
        let status = self.status()?;
        let hooks = status.sessions.iter().filter(|it| it.name.starts_with(cap::PREFIX));
        let mut text = format!("{} of {} hook sessions\n", status.live, status.max);
        for session in hooks {
            let state = if session.is_active { "wanted" } else { "stopped" };
            let _ = writeln!(text, "  {} ({}, {state})", session.name, session.agent);
        }
        if status.live >= status.max {
            text.push_str("new events wait until one ends; `agent-box rm NAME` ends one\n");
        }
        if let Some(last) = self.last_refusal() {
            let about = last.topic.map(|topic| format!(" for {}", topic.escape_debug()));
            let _ = writeln!(
                text,
                "last made to wait at {}{} ({} of {}), {} times in all",
                last.at.escape_debug(),
                about.unwrap_or_default(),
                last.live,
                last.max,
                last.count
            );
        }
        Ok(text)
    }
}
