//! A box of its own for each test: a home, a store, launch records, and a tmux server if wanted.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use agent_box_session::paths::Paths;
use agent_box_session::{Agent, LaunchRecord, LaunchState, SessionId, SessionName, SessionSpec};
use agent_box_session_store::{Change, Event, EventKind, Filter, Store};
use tempfile::TempDir;

use crate::wait;

pub(crate) struct TestBox {
    home: TempDir,
    pub(crate) store: Store,
}

/// The launcher as a program.
pub(crate) fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap().join("examples/pane");
    assert!(built.exists(), "{} is built by a plain `cargo test` of this crate", built.display());
    built
}

impl TestBox {
    pub(crate) fn new() -> Self {
        let home = tempfile::Builder::new().prefix("abp").tempdir_in("/tmp").unwrap();
        let store = Store::open(Paths::new(home.path(), home.path().join("tm/s"))).unwrap();
        fs::DirBuilder::new().mode(0o700).create(home.path().join("tm")).unwrap();
        Self { home, store }
    }

    /// A path in the home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// Waits until a file has a complete line and returns its text.
    pub(crate) fn read_when_written(&self, name: &str) -> String {
        wait::until(name, || Some(self.read(name)).filter(|text| text.ends_with('\n')))
    }

    /// Writes through this shell: tests write files that nobody needs after a power loss.
    #[expect(clippy::disallowed_methods, reason = "a test's file")]
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    /// Lists a session and prepares a launch of `argv` for it.
    pub(crate) fn prepare(&self, agent: Agent, argv: &[&str]) -> LaunchRecord {
        let name = SessionName::parse("main").unwrap();
        let change = Change::Operator { by: "test".to_owned(), summary: "add".to_owned() };
        let spec = SessionSpec::new(agent.clone());
        let id = self.store.transact(change, |tx| tx.add(name.clone(), spec, "test")).unwrap();
        let (launch, now) = (self.store.mint_launch(), self.store.now());
        let mut record = LaunchRecord::blank(id, name, launch, agent, 1, now);
        record.argv = argv.iter().map(|&word| word.to_owned()).collect();
        record.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        record.directory = self.path("");
        record.grace_ms = 1000;
        self.store.write_launch(&record).unwrap();
        record
    }

    /// Prepares a launch of a shell script under the rules of an agent.
    pub(crate) fn prepare_script(&self, script: &str) -> LaunchRecord {
        self.prepare(Agent::Claude, &["/bin/sh", "-c", script])
    }

    fn words(&self, record: &LaunchRecord) -> [String; 4] {
        let file = self.store.paths().launch(record.session);
        [
            program().to_str().unwrap().to_owned(),
            "pane".to_owned(),
            file.to_str().unwrap().to_owned(),
            record.launch.to_string(),
        ]
    }

    /// The launcher as a command without a terminal.
    pub(crate) fn command(&self, record: &LaunchRecord) -> Command {
        let [program, words @ ..] = self.words(record);
        let mut command = Command::new(program);
        command.args(words).env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::inherit()).process_group(0);
        command
    }

    /// Starts the launcher without a terminal.
    pub(crate) fn start(&self, record: &LaunchRecord) -> Launcher {
        Launcher(self.command(record).spawn().unwrap())
    }

    /// Runs the launcher without a terminal to its end.
    pub(crate) fn run(&self, record: &LaunchRecord) -> Output {
        self.command(record).output().unwrap()
    }

    /// Starts the launcher in a pane of this box's tmux server.
    pub(crate) fn start_in_pane(&self, record: &LaunchRecord) -> Pane<'_> {
        self.tmux_with(&[], record)
    }

    /// The same with a server (and a client) that carries these variables.
    pub(crate) fn tmux_with(&self, poison: &[(String, String)], record: &LaunchRecord) -> Pane<'_> {
        let words = self.words(record);
        let mut tmux = self.tmux(&["-f", "/dev/null", "new-session", "-d", "-s", "main"]);
        // Said by the same command: the pane of an agent that ends at once may be gone for another.
        tmux.args(["-P", "-F", "#{pid} #{pane_pid}", "-x", "100", "-y", "30"]);
        let output = tmux.args(words).envs(poison.iter().cloned()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let pids = String::from_utf8(output.stdout).unwrap();
        let (server, launcher) = pids.trim().split_once(' ').unwrap();
        let (server, launcher) = (server.parse().unwrap(), launcher.parse().unwrap());
        Pane { test_box: self, server, launcher }
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.env_clear().env("PATH", "/usr/bin:/bin").arg("-S").arg(self.file("tm/s"));
        tmux.arg("-u").args(words);
        tmux
    }

    pub(crate) fn tmux_says(&self, words: &[&str]) -> String {
        let output = self.tmux(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn record(&self, id: SessionId) -> LaunchRecord {
        self.store.launch(id).unwrap().unwrap()
    }

    /// Waits until the record says that the agent runs; returns launcher and agent.
    pub(crate) fn wait_for_agent(&self, id: SessionId) -> (i32, i32) {
        wait::until("the agent to run", || match self.record(id).state {
            LaunchState::Starting { launcher, agent: Some(agent), .. } => {
                Some((launcher.pid, agent.pid))
            }
            _ => None,
        })
    }

    /// Waits until the record says that the launch ended.
    pub(crate) fn wait_for_end(&self, id: SessionId) -> LaunchRecord {
        wait::until("the end on record", || {
            Some(self.record(id)).filter(|record| matches!(record.state, LaunchState::Ended { .. }))
        })
    }

    /// The journal's lines of one kind.
    pub(crate) fn events(&self, kind: EventKind) -> Vec<Event> {
        let events = self.store.journal().read(&Filter::default(), 1000).unwrap();
        events.into_iter().filter(|event| event.kind == kind).collect()
    }
}

/// A launcher without a terminal, ended with the test.
pub(crate) struct Launcher(pub(crate) Child);

impl Launcher {
    pub(crate) fn signal(&self, signal: &str) {
        send(signal, i32::try_from(self.0.id()).unwrap());
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A tmux server with one pane, ended with the test.
pub(crate) struct Pane<'a> {
    test_box: &'a TestBox,
    pub(crate) server: i32,
    launcher: i32,
}

impl Pane<'_> {
    pub(crate) fn press(&self, keys: &[&str]) {
        let words = [["send-keys", "-t", "=main:"].as_slice(), keys].concat();
        self.test_box.tmux_says(&words);
    }

    pub(crate) fn screen(&self) -> String {
        self.test_box.tmux_says(&["capture-pane", "-p", "-t", "=main:", "-S", "-200"])
    }

    pub(crate) fn wait_for_screen(&self, text: &str) -> String {
        wait::until(&format!("{text:?} on the screen"), || {
            Some(self.screen()).filter(|screen| screen.contains(text))
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.test_box.tmux_says(&["list-sessions", "-F", "#{session_name}"]) == "main"
    }

    pub(crate) fn close(&self) {
        self.test_box.tmux_says(&["kill-session", "-t", "=main"]);
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        self.test_box.tmux_says(&["kill-server"]);
        // The launcher still ends its agent and writes it down, in a home that goes next.
        for pid in [self.launcher, self.server] {
            wait::until_true("the pane's processes to go", || !is_alive(pid));
        }
    }
}

pub(crate) fn send(signal: &str, pid: i32) {
    let signal = format!("-{signal}");
    Command::new("kill").args([signal, pid.to_string()]).status().unwrap();
}

/// The state letter of a process; `None` when it is gone.
pub(crate) fn process_state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    process_state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}
