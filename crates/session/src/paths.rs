//! Where everything lives: computed once, the same for every program of a box.

use std::path::{Path, PathBuf};

use crate::{LaunchId, SessionId};

/// The files and directories of one user's box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    home: PathBuf,
    socket: PathBuf,
}

impl Paths {
    /// The tmux socket's name.
    pub const SOCKET_NAME: &'static str = "agent-box";

    /// The paths of the user with this home, whose tmux server lives at `socket`.
    pub fn new(home: impl Into<PathBuf>, socket: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), socket: socket.into() }
    }

    /// The tmux socket below a runtime directory, where tmux itself would put it.
    pub fn socket_below(runtime: &Path, uid: u32) -> PathBuf {
        runtime.join(format!("tmux-{uid}")).join(Self::SOCKET_NAME)
    }

    /// The runtime directory that a NixOS box gives its user.
    pub fn system_runtime(user: &str) -> PathBuf {
        PathBuf::from(format!("/run/agent-box-{user}"))
    }

    /// What starts this box's supervisor, as a command between backquotes for messages.
    ///
    /// A box whose tmux server lives in the system's runtime directory has a unit of that name.
    pub fn starter(&self) -> String {
        let mut parts = self.socket.components().map(|part| part.as_os_str().to_string_lossy());
        match (parts.next().as_deref(), parts.next().as_deref(), parts.next().as_deref()) {
            (Some("/"), Some("run"), Some(unit)) if unit.starts_with("agent-box-") => {
                format!("`systemctl start {unit}`")
            }
            _ => "`agent-box up`".to_owned(),
        }
    }

    /// The user's home.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The tmux server's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The operator's files.
    pub fn config(&self) -> PathBuf {
        self.home.join(".config/agent-box")
    }

    /// The registry: which sessions are wanted.
    pub fn registry(&self) -> PathBuf {
        self.config().join("sessions.json")
    }

    /// The registry's lock: flock(2) on this sidecar, never on the registry itself.
    pub fn registry_lock(&self) -> PathBuf {
        self.config().join("sessions.json.lock")
    }

    /// Earlier documents of the registry.
    pub fn history(&self) -> PathBuf {
        self.config().join("history")
    }

    /// Variables for every session, one `KEY=value` a line.
    pub fn env_file(&self) -> PathBuf {
        self.config().join("env")
    }

    /// What the programs themselves remember.
    pub fn state(&self) -> PathBuf {
        self.home.join(".local/state/agent-box")
    }

    /// This state directory's id.
    pub fn store_id(&self) -> PathBuf {
        self.state().join("store-id")
    }

    /// Where the supervisor's tmux server listens, written by the supervisor.
    pub fn socket_note(&self) -> PathBuf {
        self.state().join("tmux-socket")
    }

    /// What was last seen of each live id.
    pub fn identities(&self) -> PathBuf {
        self.state().join("identities.json")
    }

    /// One file per removed id.
    pub fn tombstones(&self) -> PathBuf {
        self.state().join("tombstones")
    }

    /// One removed id.
    pub fn tombstone(&self, id: SessionId) -> PathBuf {
        self.tombstones().join(format!("{id}.json"))
    }

    /// Launch records, one per session id.
    pub fn launches(&self) -> PathBuf {
        self.state().join("launches")
    }

    /// One session's launch record.
    pub fn launch(&self, id: SessionId) -> PathBuf {
        self.launches().join(format!("{id}.json"))
    }

    /// Lifetime locks.
    pub fn run(&self) -> PathBuf {
        self.state().join("run")
    }

    /// One session's lifetime lock: held while a launch of it lives.
    pub fn lifetime_lock(&self, id: SessionId) -> PathBuf {
        self.run().join(format!("{id}.lock"))
    }

    /// Prompts too long for one argument word.
    pub fn prompts(&self) -> PathBuf {
        self.state().join("prompts")
    }

    /// One launch's long prompt.
    pub fn prompt(&self, launch: LaunchId) -> PathBuf {
        self.prompts().join(format!("{launch}.md"))
    }

    /// The last lines that a session's agent printed before its last bad end.
    pub fn last_words(&self, id: SessionId) -> PathBuf {
        self.state().join("last-words").join(format!("{id}.txt"))
    }

    /// What happened, one JSON line each.
    pub fn journal(&self) -> PathBuf {
        self.state().join("journal.jsonl")
    }

    /// Held by the one supervisor of this state directory.
    pub fn supervisor_lock(&self) -> PathBuf {
        self.state().join("supervisor.lock")
    }

    /// Held by the one supervisor of this tmux server.
    pub fn socket_lock(&self) -> PathBuf {
        self.socket.with_extension("supervisor.lock")
    }

    /// Rotation records: which conversation a launched one has moved on to.
    pub fn rotations(&self) -> PathBuf {
        self.state().join("live-session-id")
    }

    /// The rotation record of one conversation.
    pub fn rotation(&self, conversation: &str) -> PathBuf {
        self.rotations().join(conversation)
    }

    /// The reference system's side file of a session, read when a box switches over.
    pub fn reference_side_file(&self, name: &str) -> PathBuf {
        self.state().join("session").join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_of_the_system_is_started_by_its_unit() {
        let check = |socket: &str, expect: &str| {
            assert_eq!(Paths::new("/home/ada", socket).starter(), expect, "{socket}");
        };
        check("/run/agent-box-ada/tmux-1000/agent-box", "`systemctl start agent-box-ada`");
        check("/run/user/1000/agent-box/tmux-1000/agent-box", "`agent-box up`");
        check("/tmp/run/agent-box-ada/x", "`agent-box up`");
    }
}
