//! A private tmux server in a temporary directory, ended on drop.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use agent_box_tmux_driver::{
    Created, Name, NewSession, Server, SessionTarget, StartPolicy, Tags, Tmux, TmuxError,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) struct Rig {
    dir: TempDir,
    pub(crate) tmux: Tmux,
}

impl Rig {
    /// A rig whose server is ours to start; nothing runs yet.
    pub(crate) fn new() -> Self {
        Self::with(StartPolicy::Start)
    }

    pub(crate) fn with(start: StartPolicy) -> Self {
        // Short: the socket's path must fit into 108 bytes.
        let dir = tempfile::Builder::new().prefix("ab").tempdir_in("/tmp").unwrap();
        let tmux = Tmux::new(server(dir.path(), start));
        Self { dir, tmux }
    }

    /// A rig with a running server.
    pub(crate) fn started() -> Self {
        let rig = Self::new();
        rig.tmux.start_server().unwrap();
        rig
    }

    /// Another handle on the same server, as another process would have it.
    pub(crate) fn handle(&self, start: StartPolicy) -> Tmux {
        Tmux::new(server(self.path(), start))
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A directory inside the rig.
    pub(crate) fn make_dir(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    }

    /// tmux as a person would call it, past the driver.
    pub(crate) fn raw(&self, args: &[&str]) -> Output {
        raw(self.tmux.socket(), args)
    }

    /// Creates a session that waits for ever.
    pub(crate) fn idle(&self, name: &str) -> Created {
        self.run(name, &["sleep", "1000000"]).unwrap()
    }

    /// Creates a session that runs `command` in the rig's directory.
    pub(crate) fn run(&self, name: &str, command: &[&str]) -> Result<Created, TmuxError> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        self.tmux.create(&NewSession {
            name: &Name::new(name).unwrap(),
            tags: &tags(name),
            directory: self.path(),
            command: &command,
            environment: &[],
            size: (80, 24),
        })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tmux.snapshot().unwrap().sessions.into_iter().map(|session| session.name).collect()
    }

    pub(crate) fn server_pid(&self) -> Pid {
        pid(self.tmux.snapshot().unwrap().server.pid)
    }

    /// The bytes of a file in the rig once a program has put it there.
    pub(crate) fn await_file(&self, name: &str) -> Vec<u8> {
        let path = self.path().join(name);
        wait(|| path.exists());
        std::fs::read(path).unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Also a server whose socket the test has unlinked.
        let _ = self.tmux.recover_socket();
        if self.tmux.socket().exists() {
            self.raw(&["kill-server"]);
        }
    }
}

/// A stopped process that goes on at the end of the test, whatever happened.
pub(crate) struct Stopped(Pid);

impl Stopped {
    pub(crate) fn new(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

fn server(dir: &Path, start: StartPolicy) -> Server {
    let environment = [("HOME", "/tmp"), ("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/sh")];
    Server {
        binary: "tmux".into(),
        socket: dir.join("t").join("agent-box"),
        start,
        environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
    }
}

pub(crate) fn raw(socket: &Path, args: &[&str]) -> Output {
    let socket = socket.to_str().unwrap();
    Command::new("tmux")
        .args(["-u", "-f", "/dev/null", "-S", socket])
        .args(args)
        .env_remove("TMUX")
        .output()
        .unwrap()
}

pub(crate) fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn tags(id: &str) -> Tags {
    Tags { store: "store-1".into(), id: id.into(), launch: format!("launch-of-{id}") }
}

pub(crate) fn name(text: &str) -> SessionTarget {
    SessionTarget::name(text).unwrap()
}

pub(crate) fn pid(raw: u32) -> Pid {
    Pid::from_raw(raw.try_into().unwrap()).unwrap()
}

/// Waits until `done`, at most ten seconds.
#[expect(clippy::disallowed_methods, reason = "the one wait of these tests, for a predicate")]
pub(crate) fn wait(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited for ten seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How long `act` takes.
#[expect(clippy::disallowed_methods, reason = "measures a deadline")]
pub(crate) fn time(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}
