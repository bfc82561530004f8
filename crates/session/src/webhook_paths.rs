//! Where webhooks keep their files: a directory of its own, shared with older tools.

use std::path::{Path, PathBuf};

use crate::SessionName;

/// The webhook files of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookPaths {
    state: PathBuf,
}

impl WebhookPaths {
    /// The files below this directory.
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self { state: state.into() }
    }

    /// The files of the user with this home, unless told otherwise.
    pub fn of_home(home: &Path) -> Self {
        Self::new(home.join(".local/state/local-webhook"))
    }

    /// A session's name among the filters: `<user>-<session>`.
    pub fn session_key(user: &str, name: &SessionName) -> String {
        format!("{user}-{name}")
    }

    /// The directory itself; 0700.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Who may send, and how each proves it.
    pub fn sources(&self) -> PathBuf {
        self.state.join("sources.json")
    }

    /// The lock that every writer of sources holds: flock(2), 5 s deadline.
    pub fn sources_lock(&self) -> PathBuf {
        self.state.join("sources.lock")
    }

    /// The secret that `setup` made for a source.
    pub fn secret(&self, source: &str) -> PathBuf {
        self.state.join(format!("{source}.secret"))
    }

    /// The subscriptions of a session key; without one, those shared by peers that have none.
    pub fn filter(&self, key: Option<&str>) -> PathBuf {
        self.state.join(key.map_or("filter.json".to_owned(), |key| format!("filter.{key}.json")))
    }

    /// The box's standing watches.
    pub fn dispatch_filter(&self) -> PathBuf {
        self.filter(Some("dispatch"))
    }

    /// The lock that every writer of filters holds: flock(2), 5 s deadline.
    pub fn filters_lock(&self) -> PathBuf {
        self.state.join("filters.lock")
    }

    /// The rules that the system configuration declares for watches.
    pub fn policy(&self) -> PathBuf {
        self.state.join("watch-policy.json")
    }

    /// The daemon's database.
    pub fn inbox(&self) -> PathBuf {
        self.state.join("inbox.db")
    }

    /// Held by the one daemon that writes the database.
    pub fn inbox_lock(&self) -> PathBuf {
        self.state.join("inbox.lock")
    }

    /// Where large bodies wait until their signature is known.
    pub fn spool(&self) -> PathBuf {
        self.state.join("spool")
    }

    /// What the running daemon says of itself.
    pub fn receiver(&self) -> PathBuf {
        self.state.join("receiver.json")
    }

    /// Where the daemon takes deliveries of this machine.
    pub fn ingress(&self) -> PathBuf {
        self.state.join("ingress.sock")
    }

    /// How many requests the running daemon refused, and why.
    pub fn refused(&self) -> PathBuf {
        self.state.join("refused.json")
    }

    /// Where sessions connect to be told of events.
    pub fn peers(&self) -> PathBuf {
        self.state.join("peers.sock")
    }

    /// Sockets of peers of the older kind.
    pub fn instances(&self) -> PathBuf {
        self.state.join("instances")
    }

    /// What the box acts as, as an environment file.
    pub fn identity(&self) -> PathBuf {
        self.state.join("self.env")
    }

    /// When that was last asked in vain.
    pub fn identity_attempt(&self) -> PathBuf {
        self.state.join(".self-attempt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_named_by_user_and_session() {
        let paths = WebhookPaths::of_home(Path::new("/home/alice"));
        let name = SessionName::parse("main").unwrap();
        let key = WebhookPaths::session_key("alice", &name);
        let expected = Path::new("/home/alice/.local/state/local-webhook/filter.alice-main.json");
        assert_eq!(paths.filter(Some(&key)), expected);
        assert_eq!(paths.filter(None), paths.state().join("filter.json"));
    }
}
