//! tmux on one private socket, run as the real program with plain argument words.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::net::sockopt::socket_peercred;
use rustix::process::Signal;

use crate::process;
use crate::wait::within;

/// A private tmux server's socket. Dropping it ends the server.
#[derive(Debug)]
pub struct PrivateTmux {
    socket: PathBuf,
    home: PathBuf,
}

impl PrivateTmux {
    /// The server at `socket`, which nobody needs to have started yet.
    pub fn new(socket: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), home: home.into() }
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Runs one tmux command (with `\;` between several) without starting a server.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command().arg("-N").args(words).output().expect("run tmux")
    }

    /// Starts a server with one detached session that runs `words`.
    pub fn start(&self, session: &str, words: &[&str]) -> Output {
        if let Some(directory) = self.socket.parent() {
            // As tmux makes it: a socket that others can reach is not used.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.expect("make the directory of the tmux socket");
        }
        let create = ["new-session", "-d", "-s", session, "-x", "120", "-y", "40", "--"];
        let keep = [";", "set-option", "-w", "remain-on-exit", "on"];
        self.command().args(create).args(words).args(keep).output().expect("run tmux")
    }

    /// The stdout of a command, without its last newline; empty if tmux refused it.
    pub fn ask(&self, words: &[&str]) -> String {
        let output = self.run(words);
        if !output.status.success() {
            return String::new();
        }
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    /// One format of the active pane of a session.
    pub fn format(&self, session: &str, format: &str) -> String {
        self.ask(&["display-message", "-p", "-t", &pane_of(session), format])
    }

    /// The names of its sessions; empty when no server answers.
    pub fn sessions(&self) -> Vec<String> {
        let names = self.ask(&["list-sessions", "-F", "#{session_name}"]);
        names.lines().map(str::to_owned).collect()
    }

    /// What a session's screen shows, with what scrolled off it: tmux scrolls by a line when it
    /// marks a pane as dead.
    pub fn screen(&self, session: &str) -> String {
        self.ask(&["capture-pane", "-p", "-J", "-S", "-", "-t", &pane_of(session)])
    }

    /// Types a line and Enter.
    pub fn type_line(&self, session: &str, line: &str) {
        self.run(&["send-keys", "-t", &pane_of(session), "-l", line]);
        self.run(&["send-keys", "-t", &pane_of(session), "Enter"]);
    }

    /// The pid of what runs in a session's pane.
    pub fn pane_pid(&self, session: &str) -> Option<i32> {
        self.format(session, "#{pane_pid}").parse().ok()
    }

    /// The server's pid, asked of the kernel, so that a stopped server is found too.
    pub fn server_pid(&self) -> Option<i32> {
        let peer = socket_peercred(UnixStream::connect(&self.socket).ok()?).ok()?;
        Some(peer.pid.as_raw_nonzero().get()).filter(|&pid| process::is_alive(pid))
    }

    /// Ends the server as a crash would.
    pub fn kill_server(&self) {
        let Some(pid) = self.server_pid() else { return };
        process::send(pid, Signal::KILL);
        // A child that was forked and has not yet closed its files keeps the socket answering for
        // a moment; the next client would take it for a server.
        within(10).until("the tmux server is gone", || {
            !process::is_alive(pid) && UnixStream::connect(&self.socket).is_err()
        });
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-u", "-f", "/dev/null"]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &self.home).env("SHELL", "/bin/sh");
        command.stdin(Stdio::null()).current_dir(&self.home);
        command
    }
}

impl Drop for PrivateTmux {
    fn drop(&mut self) {
        if let Some(pid) = self.server_pid() {
            process::send(pid, Signal::KILL);
        }
    }
}

/// Exactly this session; the colon makes it a pane target.
fn pane_of(session: &str) -> String {
    format!("={session}:")
}
