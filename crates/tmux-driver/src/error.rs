//! What can go wrong with a tmux call, and what tmux's messages mean.
//!
//! tmux has one exit status (1) for everything; the message is the only difference.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// A tmux call that did not do what was asked.
#[derive(Debug, Error)]
pub enum TmuxError {
    /// Nobody listens on the socket's path. This says nothing about sessions of a server that
    /// listens elsewhere, so it is not "no sessions".
    #[error("no tmux server on {}", socket.display())]
    NoServer {
        /// Where a server was looked for.
        socket: PathBuf,
    },
    /// The target does not exist (any more).
    #[error("no such tmux session ({message})")]
    NoSuchSession {
        /// tmux's own words, which name the target.
        message: String,
    },
    /// A session of this name exists; nothing was changed.
    #[error("tmux session {name} exists already")]
    Duplicate {
        /// The name that is taken.
        name: String,
    },
    /// No answer in time. The request may still be carried out when the server goes on, so
    /// nothing may be concluded from this but "unknown".
    #[error("tmux {command} got no answer within {after:?}")]
    TimedOut {
        /// The tmux command that was asked for.
        command: &'static str,
        /// The time that was allowed.
        after: Duration,
    },
    /// The tmux program cannot be started (not installed, not executable).
    #[error("cannot run {}", binary.display())]
    NotRunnable {
        /// The program that was tried.
        binary: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The directory a session should start in cannot be entered.
    #[error("cannot start a session in {}", directory.display())]
    Directory {
        /// The directory that was asked for.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The socket's directory is missing and cannot be made, or others could reach the socket.
    #[error("tmux socket directory {} is not usable", directory.display())]
    SocketDirectory {
        /// The directory of the socket.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// tmux takes one command of at most `limit` bytes; nothing was sent.
    #[error("tmux {command} needs {size} bytes and tmux takes {limit}; pass data by a file")]
    TooLong {
        /// The tmux command that was asked for.
        command: &'static str,
        /// What the whole command would need.
        size: usize,
        /// What tmux takes.
        limit: usize,
    },
    /// An argument that tmux would drop or misread; nothing was sent.
    #[error("tmux {command} cannot be given {argument:?}: {reason}")]
    Unfit {
        /// The tmux command that was asked for.
        command: &'static str,
        /// The argument, without any value it carries.
        argument: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The client could not be watched or read.
    #[error("lost track of tmux {command}")]
    Client {
        /// The tmux command that was asked for.
        command: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Anything else that tmux said (permission denied among it).
    #[error("tmux {command} failed: {message}")]
    Other {
        /// The tmux command that was asked for; never its arguments, which may hold secrets.
        command: &'static str,
        /// tmux's own words.
        message: String,
    },
}

/// Sorts the message of a client that exited with 1.
pub(crate) fn from_message(command: &'static str, socket: &Path, stderr: &[u8]) -> TmuxError {
    let message = String::from_utf8_lossy(stderr).trim().to_owned();
    let unconnected = message.starts_with("error connecting to ")
        && (message.ends_with("(No such file or directory)")
            || message.ends_with("(Connection refused)"));
    if unconnected
        || message.starts_with("no server running on ")
        || message.starts_with("server exited unexpectedly")
    {
        return TmuxError::NoServer { socket: socket.to_owned() };
    }
    if let Some(name) = message.strip_prefix("duplicate session: ") {
        return TmuxError::Duplicate { name: name.to_owned() };
    }
    if ["can't find session", "can't find window", "can't find pane", "no such session"]
        .iter()
        .any(|start| message.starts_with(start))
    {
        return TmuxError::NoSuchSession { message };
    }
    TmuxError::Other { command, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(message: &str) -> TmuxError {
        from_message("x", Path::new("/s"), message.as_bytes())
    }

    #[test]
    fn messages_are_sorted_and_permission_is_not_absence() {
        for gone in [
            "error connecting to /s (No such file or directory)\n",
            "error connecting to /s (Connection refused)\n",
            "no server running on /s\n",
            "server exited unexpectedly\n",
        ] {
            assert!(matches!(sort(gone), TmuxError::NoServer { .. }), "{gone}");
        }
        for missing in [
            "can't find session: a\n",
            "can't find pane: =a\n",
            "can't find window: a\n",
            "no such session: =a:\n",
        ] {
            assert!(matches!(sort(missing), TmuxError::NoSuchSession { .. }), "{missing}");
        }
        assert!(
            matches!(sort("duplicate session: a\n"), TmuxError::Duplicate { name } if name == "a")
        );
        for other in ["error connecting to /s (Permission denied)\n", "", "command too long"] {
            assert!(matches!(sort(other), TmuxError::Other { .. }), "{other}");
        }
    }
}
