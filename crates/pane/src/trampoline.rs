//! From the launcher to the agent: a process that waits for a word and then becomes it.
//!
//! ```text
//! launcher                         trampoline (own process group)
//! spawn, one end of a socket  ──▶  parent-death signal KILL
//! record, cgroup, terminal         wait on the socket: end of file = launcher dead, exit
//! "go" ───────────────────────▶    terminal to stdin, default signals, "exec" ──▶ launcher
//! end of file = agent runs    ◀──  exec (closes the socket), or the reason why not
//! ```
//! RACE: a launcher that dies before the death signal is armed closes its end of the socket, so
//! the trampoline never becomes an agent (`a_launcher_killed_before_go_leaves_nothing`); one that
//! dies later takes the agent along (`a_killed_launcher_takes_a_deaf_agent_along`).

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Pid, Signal, set_parent_process_death_signal};

use crate::environment::Environment;
use crate::signals;

/// The verb under which the program runs [`become_agent`].
pub(crate) const VERB: &str = "pane-exec";

const GO: u8 = b'g';
/// How long an exec may take.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Told from a trampoline that was killed, which sends nothing.
const EXEC: u8 = b'x';

/// A trampoline that waits for [`Held::go`]; dropped without, it exits.
pub(crate) struct Held {
    pid: Pid,
    socket: UnixStream,
}

/// Starts a trampoline for `argv` in a process group of its own.
///
/// Must be called on the main thread: the death signal is about the thread that spawned.
///
/// # Errors
/// A text for people when it cannot be started.
pub(crate) fn hold(
    argv: &[impl AsRef<OsStr>],
    environment: &Environment,
    directory: &Path,
) -> Result<Held, String> {
    // Checked apart from the start, for the same error number may come from the program.
    std::env::set_current_dir(directory)
        .map_err(|error| format!("cannot enter the directory {}: {error}", directory.display()))?;
    let pair = UnixStream::pair().map_err(|error| format!("cannot make a socket pair: {error}"))?;
    let (socket, end) = pair;
    // The link of the process itself: it also works after an update replaced the file.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("agent-box").arg(VERB).args(argv);
    command.env_clear().envs(environment.iter()).stdin(OwnedFd::from(end)).process_group(0);
    let child = command.spawn().map_err(|error| format!("cannot start a process: {error}"))?;
    Ok(Held { pid: Pid::from_child(&child), socket })
}

impl Held {
    /// The trampoline, and the agent later.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Lets it become the agent.
    ///
    /// # Errors
    /// A text for people when the exec failed; the trampoline is then a child to be reaped.
    pub(crate) fn go(mut self) -> Result<(), String> {
        let mut answer = Vec::new();
        // Somebody may stop it (Ctrl-Z) in the moment before it is the agent.
        let _ = self.socket.set_read_timeout(Some(START_LIMIT));
        let told = self.socket.write_all(&[GO]);
        match told.and_then(|()| self.socket.read_to_end(&mut answer)) {
            Ok(_) if answer == [EXEC] => Ok(()),
            Ok(0) => Err("it was killed before it started".to_owned()),
            Ok(_) => Err(String::from_utf8_lossy(&answer[1..]).into_owned()),
            Err(error) => Err(format!("lost track of its start: {error}")),
        }
    }
}

/// The trampoline's main function: waits for "go" on stdin and becomes `argv`.
pub(crate) fn become_agent(argv: &[OsString]) -> ExitCode {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let mut word = [0];
    if !matches!(rustix::io::read(rustix::stdio::stdin(), &mut word), Ok(1) if word == [GO]) {
        return ExitCode::FAILURE;
    }
    be_killed_first();
    let failure = match to_terminal() {
        Ok(mut socket) => {
            let _ = socket.write_all(&[EXEC]);
            let error = exec(argv);
            let _ = socket.write_all(error.as_bytes());
            return ExitCode::from(127);
        }
        Err(error) => error,
    };
    let _ = rustix::io::write(rustix::stdio::stdin(), failure.to_string().as_bytes());
    ExitCode::from(127)
}

/// When memory runs out, an agent goes before tmux, its launcher and the supervisor, which no
/// session could do without. Everybody may raise this value; where it cannot be, nothing is lost.
fn be_killed_first() {
    const SCORE: i32 = 500;
    let file = "/proc/self/oom_score_adj";
    let given = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
    if given.is_none_or(|given: i32| given < SCORE)
        && let Ok(mut file) = std::fs::OpenOptions::new().write(true).open(file)
    {
        let _ = file.write_all(SCORE.to_string().as_bytes());
    }
}

/// Moves the socket away from stdin, closed at exec, and puts the terminal there.
fn to_terminal() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    Ok(socket.into())
}

/// Executes `argv`; returns only with the reason why not.
fn exec(argv: &[OsString]) -> String {
    let Some((program, words)) = argv.split_first() else {
        return "its launch record names no program".to_owned();
    };
    signals::reset_at_exec();
    let error = Command::new(program).args(words).exec();
    format!("cannot run {}: {error}", Path::new(program).display())
}
