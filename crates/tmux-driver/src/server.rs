//! Which server, how clients reach it, and the one place where a client is started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::client::{self, ClientError};
use crate::command::Commands;
use crate::deadline::Deadline;
use crate::error::{self, TmuxError};
use crate::recover::Recovery;
use crate::socket;

/// Long enough for a thousand sessions, short enough that a stopped server is noticed.
const DEADLINE: Duration = Duration::from_secs(1);

/// Variables that would point tmux elsewhere, name its directory by a symlink, or let tmux 3.4 and later move panes into scopes of
/// the user's service manager, out of the unit (and the limits) of the server.
const FORBIDDEN: [&str; 6] =
    ["TMUX", "TMUX_PANE", "TMUX_TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "PWD"];

/// What a server of ours is set to when it starts: it outlives its last session, a lone Escape is
/// not held back, a dead pane goes (its end is recorded elsewhere), the wheel scrolls, and there
/// is something to scroll through. Changes that a person makes later stay.
const SETTINGS: [[&str; 3]; 6] = [
    ["-s", "exit-empty", "off"],
    ["-s", "escape-time", "10"],
    ["-g", "default-terminal", "tmux-256color"],
    ["-g", "remain-on-exit", "off"],
    ["-g", "mouse", "on"],
    ["-g", "history-limit", "50000"],
];

/// Where clients run that are not asked to create anything.
const ROOT: &str = "/";

/// Whether a call that needs a server may start one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPolicy {
    /// The server is ours: start and configure it when it is missing.
    Start,
    /// The server is somebody else's unit: without it, calls fail with [`TmuxError::NoServer`].
    Never,
}

/// One tmux server and how its clients are run.
#[derive(Clone, Debug)]
pub struct Server {
    /// The tmux program; a bare name is looked up in the `PATH` of `environment`.
    pub binary: PathBuf,
    /// Absolute path of the socket; nothing in the environment can change it.
    pub socket: PathBuf,
    /// May we start it?
    pub start: StartPolicy,
    /// All that clients, and so a server started by one, have in their environment. Variables
    /// that would redirect tmux are dropped.
    pub environment: Vec<(OsString, OsString)>,
}

/// A handle on one server; clones share the count of clients.
#[derive(Clone, Debug)]
pub struct Tmux {
    server: Arc<Server>,
    clients: Arc<AtomicU64>,
    pub(crate) allowed: Duration,
}

impl Tmux {
    /// A handle; does not touch the server.
    pub fn new(mut server: Server) -> Self {
        server.environment.retain(|(name, _)| FORBIDDEN.iter().all(|forbidden| name != forbidden));
        Self { server: Arc::new(server), clients: Arc::default(), allowed: DEADLINE }
    }

    /// The same server with another deadline for each call.
    #[must_use]
    pub fn with_deadline(self, allowed: Duration) -> Self {
        Self { allowed, ..self }
    }

    /// Path of the socket.
    pub fn socket(&self) -> &Path {
        &self.server.socket
    }

    /// How many clients were started so far, for tests and metrics.
    pub fn round_trips(&self) -> u64 {
        self.clients.load(Ordering::Relaxed)
    }

    /// Makes sure that somebody listens on the socket: brings a live server's socket back, else
    /// starts a server if that is ours to do, which then stays without sessions.
    ///
    /// A server that is there is not asked anything, so this says nothing about its health.
    ///
    /// # Errors
    /// [`TmuxError::NoServer`] when there is none and it is not ours to start, or when the call
    /// fails.
    pub fn start_server(&self) -> Result<(), TmuxError> {
        self.ensure_server(Deadline::after(self.allowed))
    }

    /// Makes the server collect children whose end it missed: one built with libutempter loses
    /// about 40 % of the exit statuses until any other child of it ends.
    ///
    /// # Errors
    /// When the call fails.
    pub fn nudge(&self) -> Result<(), TmuxError> {
        let mut commands = Commands::new("run-shell");
        commands.arg("true");
        self.call(&commands).map(drop)
    }

    /// Runs commands on a server that must exist.
    pub(crate) fn call(&self, commands: &Commands) -> Result<Vec<u8>, TmuxError> {
        let deadline = Deadline::after(self.allowed);
        socket::check_directory(self.socket())?;
        let answer = self.client(commands, StartPolicy::Never, Path::new(ROOT), deadline);
        if matches!(answer, Err(TmuxError::NoServer { .. }))
            && self.recover(deadline)? == Recovery::Recovered
        {
            return self.client(commands, StartPolicy::Never, Path::new(ROOT), deadline);
        }
        answer
    }

    /// Runs commands from `directory` on a server that is started if need be.
    pub(crate) fn call_starting(
        &self,
        commands: &Commands,
        directory: &Path,
    ) -> Result<Vec<u8>, TmuxError> {
        let deadline = Deadline::after(self.allowed);
        // Nothing is started for a request that cannot be sent.
        commands.argv()?;
        self.ensure_server(deadline)?;
        self.client(commands, StartPolicy::Never, directory, deadline)
    }

    fn ensure_server(&self, deadline: Deadline) -> Result<(), TmuxError> {
        socket::check_directory(self.socket())?;
        // A client that finds no socket would start a second server beside one whose socket was
        // unlinked, so that one is brought back first.
        match (self.recover(deadline)?, self.server.start) {
            (Recovery::NoServer, StartPolicy::Start) => {
                socket::make_directory(self.socket())?;
                let mut commands = Commands::new("start-server");
                for [scope, option, value] in SETTINGS {
                    commands.then("set-option").args([scope, option, value]);
                }
                // A server keeps the directory of the client that started it for life.
                self.client(&commands, StartPolicy::Start, Path::new(ROOT), deadline).map(drop)
            }
            (Recovery::NoServer, StartPolicy::Never) => {
                Err(TmuxError::NoServer { socket: self.socket().to_owned() })
            }
            (Recovery::Reachable | Recovery::Recovered, _) => Ok(()),
        }
    }

    /// tmux's own flags: where, in UTF-8, without anybody's configuration.
    pub(crate) fn flags(&self, start: StartPolicy) -> Vec<&OsStr> {
        let mut flags = vec![OsStr::new("-S"), self.socket().as_os_str()];
        flags.extend(["-u", "-f", "/dev/null"].map(OsStr::new));
        if start == StartPolicy::Never {
            flags.push(OsStr::new("-N"));
        }
        flags
    }

    /// The program, for a command line that is run elsewhere.
    pub(crate) fn binary(&self) -> &Path {
        &self.server.binary
    }

    fn client(
        &self,
        commands: &Commands,
        start: StartPolicy,
        directory: &Path,
        deadline: Deadline,
    ) -> Result<Vec<u8>, TmuxError> {
        let command = commands.name();
        let mut client = Command::new(self.binary());
        client.env_clear().envs(self.server.environment.iter().map(|(name, value)| (name, value)));
        client.args(self.flags(start)).args(commands.argv()?).current_dir(directory);
        self.clients.fetch_add(1, Ordering::Relaxed);
        let output = client::run(&mut client, deadline).map_err(|error| match error {
            ClientError::Spawn(source) => {
                TmuxError::NotRunnable { binary: self.server.binary.clone(), source }
            }
            ClientError::TimedOut => TmuxError::TimedOut { command, after: deadline.allowed },
            ClientError::TooMuchOutput => {
                let message = format!("it printed more than {} bytes", client::OUTPUT_LIMIT);
                TmuxError::Other { command, message }
            }
            ClientError::Io(source) => TmuxError::Client { command, source },
        })?;
        if output.success {
            Ok(output.stdout)
        } else {
            Err(error::from_message(command, self.socket(), &output.stderr))
        }
    }
}
