//! The one place of this program that reads the environment and the user database.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_harness::{Harness, Surroundings};
use agent_box_session::paths::Paths;
use agent_box_session::{Agent, env};
use agent_box_session_store::{Store, socket_note};
use agent_box_supervisor::operator::Operator;
use agent_box_supervisor::start::Starter;
use agent_box_tmux_driver::{Server, StartPolicy, Tmux};
use anyhow::{Context as _, Result, bail};

/// A variable of [`env::TABLE`], if it is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    variable(name).and_then(|value| value.into_string().ok())
}

/// Everything that the verbs and the supervisor work on.
pub(crate) struct Surrounded {
    pub(crate) store: Store,
    pub(crate) tmux: Tmux,
    user: String,
    shell: PathBuf,
}

impl Surrounded {
    /// Reads the environment and opens the store.
    pub(crate) fn open() -> Result<Self> {
        let uid = rustix::process::getuid().as_raw();
        let account = account(uid);
        let home = variable(env::HOME)
            .map(PathBuf::from)
            .filter(|home| home.is_absolute())
            .or_else(|| account.as_ref().map(|account| account.home.clone()))
            .context("HOME is not set and the user database does not know this user; set HOME")?;
        let user = account
            .as_ref()
            .map(|account| account.name.clone())
            .or_else(|| text(env::USER))
            .unwrap_or_else(|| uid.to_string());
        let socket = socket(&home, &user, uid);
        // What the kernel takes as a socket's address (unix(7)).
        if socket.as_os_str().len() > 107 {
            bail!(
                "the tmux socket {} has a longer path than the system takes; set {} to a short \
                 directory of your own",
                socket.display(),
                env::RUNTIME_DIR
            );
        }
        let shell = account
            .map(|account| account.shell)
            .or_else(|| variable(env::SHELL).map(PathBuf::from))
            .filter(|shell| shell.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/bin/sh"));
        let store = Store::open(Paths::new(home, socket.clone()))
            .context("cannot open the session store")?;
        let external = variable(env::TMUX_EXTERNAL).is_some();
        let tmux = Tmux::new(Server {
            binary: variable(env::TMUX).map_or_else(|| PathBuf::from("tmux"), PathBuf::from),
            socket,
            start: if external { StartPolicy::Never } else { StartPolicy::Start },
            environment: tmux_environment(&shell),
        });
        Ok(Self { store, tmux, user, shell })
    }

    /// The operator's verbs, asked for by `by`.
    pub(crate) fn operator(&self, by: &str) -> Operator {
        Operator {
            store: self.store.clone(),
            tmux: self.tmux.clone(),
            grace: Duration::from_millis(grace_ms()),
            tmux_program: Self::tmux_program(),
            by: by.to_owned(),
        }
    }

    /// The installed tmux: as given, or the first on the search path.
    fn tmux_program() -> Option<PathBuf> {
        let given = variable(env::TMUX_INSTALLED).or_else(|| variable(env::TMUX));
        let given = given.map_or_else(|| PathBuf::from("tmux"), PathBuf::from);
        if given.is_absolute() {
            return Some(given);
        }
        let path = variable(env::PATH)?;
        std::env::split_paths(&path).map(|it| it.join(&given)).find(|program| program.is_file())
    }

    /// What the harness needs to know.
    pub(crate) fn harness(&self) -> Result<Harness> {
        Ok(Harness::new(Surroundings {
            paths: self.store.paths().clone(),
            user: self.user.clone(),
            host: text(env::HOST_LABEL).or_else(host_name),
            program: program()?,
            agents: agent_bins()?,
            search_path: variable(env::PATH).unwrap_or_default(),
            shell: self.shell.clone(),
            root: rustix::process::geteuid().is_root(),
            sandbox: variable(env::IS_SANDBOX).is_some(),
            codex_full_access: variable(env::CODEX_FULL_ACCESS).is_some(),
            agents_pointer: variable(env::AGENTS_POINTER).map(PathBuf::from),
            claude_guide_target: variable(env::CLAUDE_GUIDE_TARGET).map(PathBuf::from),
            inherited: self.inherited(),
            inherit: inherit(),
        }))
    }

    /// What the supervisor starts sessions with.
    pub(crate) fn starter(&self) -> Result<Starter> {
        Ok(Starter {
            store: self.store.clone(),
            tmux: self.tmux.clone(),
            harness: self.harness()?,
            program: launcher_program()?,
            launcher_environment: variable(env::TESTPOINTS)
                .map(|directory| (OsString::from(env::TESTPOINTS), directory))
                .into_iter()
                .chain([(agent_box_pane::MEMORY.0.into(), agent_box_pane::MEMORY.1.into())])
                .collect(),
            grace_ms: grace_ms(),
        })
    }

    /// The variables that agents may inherit; what identifies the user is never missing.
    fn inherited(&self) -> Vec<(String, String)> {
        let further = inherit();
        let names = env::INHERITED.iter().copied().chain(further.iter().map(String::as_str));
        let mut variables: Vec<(String, String)> =
            names.filter_map(|name| Some((name.to_owned(), text(name)?))).collect();
        let home = self.store.paths().home().to_string_lossy().into_owned();
        let shell = self.shell.to_string_lossy().into_owned();
        for (name, value) in [
            (env::HOME, home),
            (env::USER, self.user.clone()),
            (env::LOGNAME, self.user.clone()),
            (env::SHELL, shell),
        ] {
            variables.retain(|(listed, _)| listed != name);
            variables.push((name.to_owned(), value));
        }
        variables
    }
}

/// Variables that the system configuration lets agents inherit.
fn inherit() -> Vec<String> {
    let names = text(env::INHERIT).unwrap_or_default();
    names.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The program that runs now. After an update its file may have another content or be gone; a
/// launcher is then started from the path, which names the new version.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find the agent-box program itself")?;
    let text = program.as_os_str().to_string_lossy();
    Ok(match text.strip_suffix(" (deleted)") {
        Some(path) => PathBuf::from(path),
        None => program,
    })
}

/// What tmux runs in a pane: the launcher alone, a third of this program's size, where it is
/// installed beside it.
fn launcher_program() -> Result<PathBuf> {
    let program = program()?;
    let launcher = program.with_file_name("agent-box-pane");
    Ok(if launcher.is_file() { launcher } else { program })
}

/// How long an agent may take to end politely.
fn grace_ms() -> u64 {
    text(env::GRACE_MS).and_then(|text| text.parse().ok()).unwrap_or(5000)
}

/// Where the tmux server listens: where the supervisor says, else where it would put it.
fn socket(home: &Path, user: &str, uid: u32) -> PathBuf {
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
    use std::os::unix::fs::MetadataExt as _;
    directory.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == uid)
}

/// All that a tmux server of ours has in its environment.
fn tmux_environment(shell: &Path) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> =
        [env::HOME, env::USER, env::LOGNAME, env::PATH, env::LANG, env::TERM, env::TERMINFO_DIRS]
            .iter()
            .filter_map(|name| Some((OsString::from(name), variable(name)?)))
            .collect();
    variables.push((env::SHELL.into(), shell.into()));
    variables
}

/// Agent programs given explicitly: `kind=/path kind=/path`.
fn agent_bins() -> Result<Vec<(Agent, PathBuf)>> {
    let Some(list) = text(env::AGENT_BINS) else { return Ok(Vec::new()) };
    list.split_ascii_whitespace()
        .map(|item| {
            let Some((kind, path)) = item.split_once('=') else {
                bail!("{} holds `{item}`, which is not `kind=/path`", env::AGENT_BINS);
            };
            Ok((Agent::parse(kind)?, PathBuf::from(path)))
        })
        .collect()
}

fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
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
        let path = |bytes: &[u8]| {
            use std::os::unix::ffi::OsStrExt as _;
            PathBuf::from(OsStr::from_bytes(bytes))
        };
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

    #[test]
    fn a_runtime_directory_of_somebody_else_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let uid = rustix::process::getuid().as_raw();
        assert!(is_directory_of(directory.path(), uid));
        assert!(!is_directory_of(directory.path(), uid + 1));
        assert!(!is_directory_of(Path::new("/nowhere"), uid));
    }
}
