//! One user's box in a temporary home.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

use crate::agent_box::{AgentBox, Finished};
use crate::home::Home;
use crate::points::TestPoints;
use crate::private_tmux::PrivateTmux;
use crate::stubs::{Stubs, stub_agent_program};
use crate::supervisor::Supervisor;

/// A home with a registry, a private tmux socket and stub agents, and the program under test.
///
/// Dropping it kills every process that has this home in its environment, and its tmux server.
/// After a panic the home stays, and its path is printed.
#[derive(Debug)]
pub struct TestBox {
    // Dropped, and so dead, before the home goes.
    tmux: PrivateTmux,
    home: Home,
    program: PathBuf,
    stubs: Stubs,
    points: TestPoints,
    environment: BTreeMap<OsString, OsString>,
    supervisors: usize,
}

impl TestBox {
    /// A box for the built `agent-box` program (`env!("CARGO_BIN_EXE_agent-box")`).
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let home = Home::new(&["run", "w"]);
        let path = home.path().to_path_buf();
        let runtime = path.join("run");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("close `run`");

        let programs = path.join("bin");
        let stubs = Stubs::install(&stub_agent_program(), path.join(".stub-agent"), programs);
        let points = TestPoints::new(path.join("points"));
        let socket = runtime.join(format!("tmux-{}", getuid().as_raw())).join("agent-box");
        let agents = Stubs::KINDS.map(|kind| format!("{kind}={}", stubs.program(kind).display()));
        let mut environment = BTreeMap::new();
        let mut put = |key: &str, value: OsString| environment.insert(key.into(), value);
        put("HOME", path.clone().into());
        put("PATH", std::env::var_os("PATH").unwrap_or_default());
        put("SHELL", "/bin/sh".into());
        put("AGENT_BOX_RUNTIME_DIR", runtime.into());
        put("AGENT_BOX_AGENT_BINS", agents.join(" ").into());
        // A receiver listens on a socket of the home only.
        put("LOCAL_WEBHOOK_PORT", "0".into());
        put(TestPoints::VARIABLE, points.directory().into());
        if getuid().is_root() {
            // The owner of a container says so; else agents refuse to run unattended as root.
            put("IS_SANDBOX", "1".into());
        }
        Self {
            tmux: PrivateTmux::new(socket, &path),
            home,
            program: program.into(),
            stubs,
            points,
            environment,
            supervisors: 0,
        }
    }

    /// The home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A directory in it for sessions to work in.
    pub fn project(&self) -> PathBuf {
        self.home().join("w")
    }

    /// The operator's files.
    pub fn config(&self) -> PathBuf {
        self.home().join(".config/agent-box")
    }

    /// What the programs remember.
    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state/agent-box")
    }

    /// The registry's file.
    pub fn registry(&self) -> PathBuf {
        self.config().join("sessions.json")
    }

    /// Replaces a file below the home, by its relative path, as an editor would.
    #[track_caller]
    pub fn put(&self, path: impl AsRef<Path>, content: &str) {
        self.home.put(path, content);
    }

    /// Reads a file below the home by its relative path; empty if it is not there.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(self.home().join(path)).unwrap_or_default()
    }

    /// The tmux server of the box.
    pub fn tmux(&self) -> &PrivateTmux {
        &self.tmux
    }

    /// Its stub agents.
    pub fn stubs(&self) -> &Stubs {
        &self.stubs
    }

    /// Its pause and kill points.
    pub fn points(&self) -> &TestPoints {
        &self.points
    }

    /// Sets a variable for every command from now on.
    pub fn set(&mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.environment.insert(key.into(), value.into());
        self
    }

    /// The environment of its commands.
    pub fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// An `agent-box` command.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> AgentBox {
        AgentBox::new(&self.program, arguments, self.environment.clone(), &self.project())
    }

    /// Runs an `agent-box` command to its end.
    #[track_caller]
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Finished {
        self.command(arguments).run()
    }

    /// Starts a supervisor in the background, by these arguments.
    #[track_caller]
    pub fn supervise(&mut self, arguments: &[impl AsRef<OsStr>]) -> Supervisor {
        self.supervisors += 1;
        let notify = self.home().join(format!("run/notify-{}", self.supervisors));
        Supervisor::start(self.command(arguments), notify)
    }

    /// Every living process whose environment names this home.
    pub fn processes(&self) -> Vec<i32> {
        self.home.processes()
    }
}
