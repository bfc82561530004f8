//! Which server, how clients reach it, and the one place where a client is started.

use std::ffi::OsString;
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

/// Variables that would point tmux elsewhere, or let tmux 3.4 and later move panes into scopes of
/// the user's service manager, out of the unit (and the limits) of the server.
const FORBIDDEN: [&str; 6] =
    ["TMUX", "TMUX_PANE", "TMUX_TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "PWD"];

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
    /// The tmux program; a bare name is looked up in our own `PATH`.
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

    /// Makes sure that a server runs and stays without sessions, if we may start one.
    ///
    /// # Errors
    /// [`TmuxError::NoServer`] when there is none and it is not ours to start, or when the call
    /// fails.
    pub fn start_server(&self) -> Result<(), TmuxError> {
        let mut commands = self.prepare("start-server");
        commands.then("display-message").args(["-p", "ok"]);
        self.call_starting(&commands, None).map(drop)
    }

    /// Makes the server collect children whose end it missed: one built with libutempter loses
    /// about 40 % of the exit statuses until any other child of it ends.
    ///
    /// # Errors
    /// When the call fails.
    pub fn nudge(&self) -> Result<(), TmuxError> {
        let mut commands = Commands::new("run-shell");
        commands.args(["true"]);
        self.call(&commands).map(drop)
    }

    /// A list that sets up a fresh server of ours before it runs `command`.
    pub(crate) fn prepare(&self, command: &'static str) -> Commands {
        if self.server.start == StartPolicy::Never {
            return Commands::new(command);
        }
        let mut commands = Commands::named(command, "if-shell");
        // Only once in a server's life, so that what the user changes later stays.
        commands.args(["-F", "#{@agent_box_server}", "", SETUP]).then(command);
        commands
    }

    /// Runs commands on a server that must exist.
    pub(crate) fn call(&self, commands: &Commands) -> Result<Vec<u8>, TmuxError> {
        let deadline = Deadline::after(self.allowed);
        socket::check_directory(self.socket())?;
        let answer = self.client(commands, self.bare(true), deadline);
        if matches!(answer, Err(TmuxError::NoServer { .. }))
            && self.recover(deadline)? == Recovery::Recovered
        {
            return self.client(commands, self.bare(true), deadline);
        }
        answer
    }

    /// Runs commands, from `directory`, on a server that the client may start.
    pub(crate) fn call_starting(
        &self,
        commands: &Commands,
        directory: Option<&Path>,
    ) -> Result<Vec<u8>, TmuxError> {
        let deadline = Deadline::after(self.allowed);
        socket::check_directory(self.socket())?;
        // A client that finds no socket would start a second server beside one whose socket was
        // unlinked, so that one is brought back first.
        self.recover(deadline)?;
        let start = self.server.start == StartPolicy::Start;
        if start {
            socket::make_directory(self.socket())?;
        }
        let mut client = self.bare(!start);
        if let Some(directory) = directory {
            client.current_dir(directory);
        }
        self.client(commands, client, deadline)
    }

    /// `tmux` with everything but the commands.
    fn bare(&self, never_start: bool) -> Command {
        let mut client = Command::new(&self.server.binary);
        client.env_clear().envs(self.server.environment.iter().map(|(k, v)| (k, v)));
        client.args(self.flags(never_start));
        client
    }

    /// tmux's own flags: where, in UTF-8, without anybody's configuration.
    pub(crate) fn flags(&self, never_start: bool) -> Vec<OsString> {
        let mut flags = vec![OsString::from("-S"), self.socket().into(), "-u".into()];
        flags.extend(["-f".into(), "/dev/null".into()]);
        if never_start {
            flags.push("-N".into());
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
        mut client: Command,
        deadline: Deadline,
    ) -> Result<Vec<u8>, TmuxError> {
        let command = commands.name();
        client.args(commands.argv()?);
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

/// What a server of ours is set to: it outlives its last session; a dead pane goes (its end is
/// recorded elsewhere); the wheel scrolls; enough scrollback; no delay of a lone Escape.
const SETUP: &str = "set-option -s exit-empty off ; \
    set-option -s escape-time 10 ; \
    set-option -g default-terminal tmux-256color ; \
    set-option -g remain-on-exit off ; \
    set-option -g mouse on ; \
    set-option -g history-limit 50000 ; \
    set-option -s @agent_box_server 1";
