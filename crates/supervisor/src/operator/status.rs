//! `status`: how the box itself is.

use std::path::Path;

use agent_box_session_store::ReadError;
use agent_box_tmux_driver::TmuxError;

use super::Operator;

/// How the box is.
#[derive(Debug)]
pub struct Status {
    /// Who supervises, if anybody does.
    pub supervisor: Option<String>,
    /// The tmux server, or why none answers.
    pub server: Result<ServerStatus, String>,
    /// How many sessions are listed, if the list can be read.
    pub sessions: Option<usize>,
    /// Why it cannot.
    pub damage: Option<ReadError>,
    /// What somebody should mend although everything works.
    pub concerns: Vec<String>,
}

/// How the tmux server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Whether its program was replaced since it started (an update never ends a server).
    pub outdated: bool,
}

impl Operator {
    /// Looks at supervisor, tmux server and session list.
    pub fn status(&self) -> Status {
        let (sessions, damage) = match self.store.read_settled() {
            Ok(document) => (Some(document.registry.entries().len()), None),
            Err(damage) => (None, Some(damage)),
        };
        let server = match self.tmux.snapshot() {
            Ok(snapshot) => Ok(ServerStatus {
                pid: snapshot.server.pid,
                outdated: self.is_outdated(snapshot.server.pid),
                version: snapshot.server.version,
            }),
            Err(TmuxError::NoServer { .. }) => {
                Err("does not run; it starts with the first session".to_owned())
            }
            Err(error) => Err(format!("gives no answer: {error}")),
        };
        let supervisor = self.store.supervisor().map(|holder| holder.to_string());
        Status { supervisor, server, sessions, damage, concerns: self.store.concerns() }
    }

    /// Whether the server runs another program than a new one would.
    fn is_outdated(&self, server: u32) -> bool {
        let Ok(running) = std::fs::read_link(format!("/proc/{server}/exe")) else { return false };
        if running.as_os_str().to_string_lossy().ends_with(" (deleted)") {
            return true;
        }
        match self.tmux_program.as_deref().map(Path::canonicalize) {
            Some(Ok(installed)) => installed != running,
            _ => false,
        }
    }
}
