//! The agent's environment: the record's list, the terminal's variables, the env file, the launch.
//!
//! Nothing else passes: neither what the tmux server has nor what the launcher got from it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use agent_box_session::{LaunchRecord, env};
use agent_box_session_store::EnvFile;

/// Names and values, each name once.
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Puts it together; later sources win over earlier ones, and nobody over the launch id.
    pub(crate) fn new(record: &LaunchRecord, env_file: &EnvFile) -> Self {
        let mut all = BTreeMap::new();
        for (name, value) in &record.environment {
            all.insert(name.into(), value.into());
        }
        for name in env::TERMINAL {
            if let Some(value) = std::env::var_os(name) {
                all.insert(name.into(), value);
            }
        }
        for (name, value) in env_file.variables() {
            all.insert(name.into(), value.into());
        }
        all.insert(env::LAUNCH_ID.into(), record.launch.to_string().into());
        Self(all)
    }

    /// The variables.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }

    /// The user's shell, for a look around after a failure.
    pub(crate) fn shell(&self) -> &OsStr {
        let shell = self.0.get(OsStr::new(env::SHELL)).filter(|shell| !shell.is_empty());
        shell.map_or(OsStr::new("/bin/sh"), OsString::as_os_str)
    }
}
