//! The environment that the stub agent runs in, read once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Environment, directory and user.
pub(super) struct Surroundings {
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) home: PathBuf,
    pub(super) directory: PathBuf,
    /// Where the plan is and the ledger goes.
    pub(super) state: PathBuf,
    pub(super) root: bool,
}

impl Surroundings {
    pub(super) fn read() -> Self {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let home = environment.get("HOME".as_ref() as &std::ffi::OsStr).map(PathBuf::from);
        let home = home.unwrap_or_else(|| PathBuf::from("/"));
        let state = environment.get("STUB_AGENT_STATE".as_ref() as &std::ffi::OsStr);
        let state = state.map_or_else(|| home.join(".stub-agent"), PathBuf::from);
        Self {
            environment,
            home,
            state,
            directory: std::env::current_dir().unwrap_or_default(),
            root: rustix::process::geteuid().is_root(),
        }
    }

    /// A variable, if it is set and UTF-8.
    pub(super) fn variable(&self, key: &str) -> Option<&str> {
        self.environment.get(std::ffi::OsStr::new(key))?.to_str()
    }

    /// The session's name, when the launcher tells it.
    pub(super) fn session(&self) -> Option<&str> {
        self.variable("AGENT_BOX_SESSION_NAME")
    }

    /// The directory with every UTF-16 unit replaced that is not alphanumeric, as claude names
    /// projects.
    pub(super) fn mangled_directory(&self) -> String {
        let text = self.directory.as_os_str().as_bytes();
        let text = String::from_utf8_lossy(text);
        let plain = |unit| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric);
        text.encode_utf16().map(|unit| plain(unit).map_or('-', char::from)).collect()
    }
}
