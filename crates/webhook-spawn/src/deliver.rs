//! A message for one running session, by the way that its agent has.

use agent_box_event::contract::Told;
use agent_box_session::{Agent, SessionId};
use agent_box_session_store::ReadError;
use agent_box_tmux_driver::SessionTarget;
use thiserror::Error;

use crate::json;
use crate::surrounded::Surrounded;
use crate::tell::{self, Answer};

/// Shown to whoever looks at the terminal. It is all ours: tmux expands formats in it.
const NOTICE: &str = "webhook events are waiting; read them with: agent-box webhook read";

/// Nothing was told; it may be later.
#[derive(Debug, Error)]
pub enum DeliverError {
    /// The registry is damaged or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its agent cannot be told yet.
    #[error("cannot tell session `{name}` now: {reason}")]
    NotNow {
        /// The session.
        name: String,
        /// Why.
        reason: String,
    },
    /// There is nothing to tell.
    #[error("the message is empty; give it on standard input")]
    Empty,
}

impl Surrounded {
    /// Tells the session, or says why not. Nothing is ever typed into a terminal.
    ///
    /// # Errors
    /// When the registry cannot be read, its agent cannot be told yet, or there is no message.
    pub fn deliver(&self, session: SessionId, message: &str) -> Result<Told, DeliverError> {
        if message.trim().is_empty() {
            return Err(DeliverError::Empty);
        }
        let registry = self.store.read_settled()?.registry;
        let waiting = |reason: &str| Ok(Told::Waiting(reason.to_owned()));
        let Some((name, entry)) = registry.by_id(session) else {
            return match registry.unusable().iter().find(|entry| entry.id == Some(session)) {
                Some(entry) => waiting(&format!("its entry cannot be used: {}", entry.reason)),
                None => Ok(Told::Gone),
            };
        };
        if entry.stopped {
            // Any answer would end the offers, and it hears of this once it runs.
            let reason = format!("it is stopped; `agent-box restart {name}` starts it");
            return Err(DeliverError::NotNow { name: name.to_string(), reason });
        }
        match &entry.spec.agent {
            Some(Agent::Claude) => waiting("its hook hands it over when a turn starts or ends"),
            Some(Agent::Codex) => match tell::tell(session, message) {
                Answer::Done => Ok(Told::Delivered),
                Answer::Waits(reason) => Ok(Told::Waiting(reason)),
                Answer::NotNow(reason) => {
                    Err(DeliverError::NotNow { name: name.to_string(), reason })
                }
            },
            Some(Agent::Shell | Agent::Other(_)) | None => {
                self.notice(session);
                waiting("read it with `agent-box webhook read`")
            }
        }
    }

    /// [`Surrounded::deliver`] with the answer as JSON on one line.
    ///
    /// # Errors
    /// See there.
    pub fn deliver_json(&self, session: SessionId, message: &str) -> Result<String, DeliverError> {
        Ok(json::line(&self.deliver(session, message)?.to_json()))
    }

    /// Shows a notice to whoever is attached; nobody may be, and then the events just wait.
    fn notice(&self, session: SessionId) {
        let (store, id) = (self.store.store_id().to_string(), session.to_string());
        let Ok(snapshot) = self.tmux.snapshot() else { return };
        let ours = snapshot
            .sessions
            .iter()
            .find(|it| it.store.as_ref() == Some(&store) && it.id.as_ref() == Some(&id));
        if let Some(terminal) = ours.filter(|terminal| terminal.attached > 0) {
            let _ = self.tmux.notice(&SessionTarget::Id(terminal.tmux_id), NOTICE);
        }
    }
}
