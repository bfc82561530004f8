//! Whose box this is and where it lives: the one rule for every program of a user.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agent_box_session::env;
use agent_box_session::paths::Paths;
use thiserror::Error;

use crate::look::socket_note;

/// A user's box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The user's home.
    pub home: PathBuf,
    /// The user's name.
    pub user: String,
    /// The user's login shell.
    pub shell: PathBuf,
    /// Where the tmux server listens: where the supervisor says, else where it would put it.
    pub socket: PathBuf,
}

/// The box cannot be found.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Nobody knows the home.
    #[error("HOME is not set and the user database does not know this user; set HOME")]
    NoHome,
    /// What the kernel takes as a socket's address is shorter (unix(7)).
    #[error(
        "the tmux socket {} has a longer path than the system takes; set {} to a short directory \
         of your own",
        socket.display(),
        env::RUNTIME_DIR
    )]
    LongSocket {
        /// The path.
        socket: PathBuf,
    },
}

impl Place {
    /// The box of the user `uid`; `variable` reads the program's environment.
    ///
    /// # Errors
    /// When there is no home, or the socket's path is longer than 107 bytes.
    pub fn find(uid: u32, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, PlaceError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let account = account(uid);
        let home = variable(env::HOME)
            .map(PathBuf::from)
            .filter(|home| home.is_absolute())
            .or_else(|| account.as_ref().map(|account| account.home.clone()))
            .ok_or(PlaceError::NoHome)?;
        let user = account
            .as_ref()
            .map(|account| account.name.clone())
            .or_else(|| variable(env::USER).and_then(|user| user.into_string().ok()))
            .unwrap_or_else(|| uid.to_string());
        let socket = socket(&home, &user, uid, &variable);
        if socket.as_os_str().len() > 107 {
            return Err(PlaceError::LongSocket { socket });
        }
        let shell = account
            .map(|account| account.shell)
            .or_else(|| variable(env::SHELL).map(PathBuf::from))
            .filter(|shell| shell.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/bin/sh"));
        Ok(Self { home, user, shell, socket })
    }

    /// The files of this box.
    pub fn paths(&self) -> Paths {
        Paths::new(self.home.clone(), self.socket.clone())
    }
}

fn socket(
    home: &Path,
    user: &str,
    uid: u32,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> PathBuf {
    if let Some(runtime) = variable(env::RUNTIME_DIR) {
        return Paths::socket_below(Path::new(&runtime), uid);
    }
    let system = Paths::system_runtime(user);
    if system.is_dir() {
        return Paths::socket_below(&system, uid);
    }
    let unplaced = Paths::new(home, "");
    if let Some(noted) = socket_note(&unplaced.socket_note()).filter(|socket| socket.exists()) {
        return noted;
    }
    match variable(env::XDG_RUNTIME_DIR).map(PathBuf::from).filter(|it| is_directory_of(it, uid)) {
        Some(runtime) => Paths::socket_below(&runtime.join("agent-box"), uid),
        None => Paths::socket_below(&unplaced.state().join("tmux"), uid),
    }
}

/// Whether `directory` is one that belongs to this user.
///
/// UNTRUSTED: `su` and `sudo -E` keep the caller's runtime directory. Its owner could exchange what
/// is in it at any moment, and a tmux client obeys the server that it finds
/// (`a_runtime_directory_of_somebody_else_is_not_used`).
fn is_directory_of(directory: &Path, uid: u32) -> bool {
    directory.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == uid)
}

struct Account {
    name: String,
    home: PathBuf,
    shell: PathBuf,
}

/// The user's line of `/etc/passwd`. Users of network directories are not there; the
/// environment stands in for them.
fn account(uid: u32) -> Option<Account> {
    let passwd = std::fs::read("/etc/passwd").ok()?;
    passwd.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let [name, _, id, _, _, home, shell] = fields.as_slice() else { return None };
        if std::str::from_utf8(id).ok()?.parse::<u32>() != Ok(uid) {
            return None;
        }
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        Some(Account {
            name: String::from_utf8_lossy(name).into_owned(),
            home: path(home),
            shell: path(shell),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No account has it.
    const NOBODY: u32 = u32::MAX - 7;

    fn find(variables: &[(&str, &str)]) -> Result<Place, PlaceError> {
        Place::find(NOBODY, &|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn a_runtime_directory_of_somebody_else_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let uid = directory.path().metadata().unwrap().uid();
        assert!(is_directory_of(directory.path(), uid));
        assert!(!is_directory_of(directory.path(), uid + 1));
        assert!(!is_directory_of(Path::new("/nowhere"), uid));
    }

    #[test]
    fn the_environment_stands_in_for_the_user_database() {
        let place = find(&[("HOME", "/h"), ("USER", "ada"), ("SHELL", "/bin/x")]).unwrap();
        assert_eq!((place.user.as_str(), place.shell), ("ada", PathBuf::from("/bin/x")));
        let state = format!("/h/.local/state/agent-box/tmux/tmux-{NOBODY}/agent-box");
        assert_eq!(place.socket, PathBuf::from(state));
        let bare = find(&[("HOME", "/h"), ("USER", ""), ("SHELL", "sh")]).unwrap();
        assert_eq!((bare.user, bare.shell), (NOBODY.to_string(), PathBuf::from("/bin/sh")));
        assert!(matches!(find(&[("HOME", "relative")]), Err(PlaceError::NoHome)));
    }

    #[test]
    fn a_socket_path_that_the_system_does_not_take_is_refused() {
        let runtime = |length: usize| format!("/{}", "r".repeat(length - 1));
        let rest = format!("/tmux-{NOBODY}/agent-box").len();
        for (length, fits) in [(107, true), (108, false)] {
            let runtime = runtime(length - rest);
            let place = find(&[("HOME", "/h"), ("AGENT_BOX_RUNTIME_DIR", &runtime)]);
            assert_eq!(place.is_ok(), fits, "{length}");
        }
    }
}
