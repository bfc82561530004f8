//! The one place of this program that reads the environment and the user database.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_harness::{Harness, Surroundings};
use agent_box_session::{Agent, WebhookPaths, env};
use agent_box_session_store::{Place, Store};
use agent_box_supervisor::operator::Operator;
use agent_box_supervisor::start::Starter;
use agent_box_supervisor::subscriptions::Subscriptions;
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
    subscriptions: Subscriptions,
    user: String,
    shell: PathBuf,
}

impl Surrounded {
    /// Reads the environment and opens the store.
    pub(crate) fn open() -> Result<Self> {
        let uid = rustix::process::getuid().as_raw();
        let place = Place::find(uid, &|name| variable(name))?;
        let store = Store::open(place.paths()).context("cannot open the session store")?;
        let external = variable(env::TMUX_EXTERNAL).is_some();
        let start = if external { StartPolicy::Never } else { StartPolicy::Start };
        let tmux = tmux(&place, start);
        let webhook = variable(env::WEBHOOK_STATE_DIR)
            .map_or_else(|| WebhookPaths::of_home(&place.home), WebhookPaths::new);
        let subscriptions = Subscriptions { paths: webhook, user: place.user.clone() };
        Ok(Self { store, tmux, subscriptions, user: place.user, shell: place.shell })
    }

    /// The operator's verbs, asked for by `by`.
    pub(crate) fn operator(&self, by: &str) -> Operator {
        Operator {
            store: self.store.clone(),
            tmux: self.tmux.clone(),
            grace: Duration::from_millis(grace_ms()),
            tmux_program: Self::tmux_program(),
            subscriptions: self.subscriptions.clone(),
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
            webhook: self.subscriptions.paths.clone(),
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
            subscriptions: self.subscriptions.clone(),
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

/// The box's tmux server, if it runs; nothing else of the box is touched.
pub(crate) fn running_tmux() -> Result<Tmux> {
    let place = Place::find(rustix::process::getuid().as_raw(), &|name| variable(name))?;
    Ok(tmux(&place, StartPolicy::Never))
}

fn tmux(place: &Place, start: StartPolicy) -> Tmux {
    Tmux::new(Server {
        binary: variable(env::TMUX).map_or_else(|| PathBuf::from("tmux"), PathBuf::from),
        socket: place.socket.clone(),
        start,
        environment: tmux_environment(&place.shell),
    })
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
