//! Running one `agent-box` command with an environment made for it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::wait::within;

/// A command that is not started yet.
#[derive(Debug)]
pub struct AgentBox {
    command: Command,
    stdin: Option<Vec<u8>>,
}

/// A started command. Its output goes to files, so that a server it leaves behind holds no pipe.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: File,
    stderr: File,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl AgentBox {
    pub(crate) fn new(
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        directory: &Path,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment).current_dir(directory);
        Self { command, stdin: None }
    }

    /// Sets a variable for this command only.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Takes a variable away for this command only.
    #[must_use]
    pub fn without(mut self, key: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(key);
        self
    }

    /// Starts it elsewhere than in the box's project directory.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Gives it something to read; without this its stdin is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Starts it.
    #[track_caller]
    pub fn start(mut self) -> Running {
        let file = || tempfile::tempfile().expect("make a file for a command's output");
        let (stdout, stderr) = (file(), file());
        let share = |file: &File| Stdio::from(file.try_clone().expect("share an output file"));
        let stdin = match &self.stdin {
            None => Stdio::null(),
            Some(bytes) => {
                let mut input = file();
                input.write_all(bytes).and_then(|()| input.rewind()).expect("write the input");
                Stdio::from(input)
            }
        };
        self.command.stdin(stdin).stdout(share(&stdout)).stderr(share(&stderr));
        let child = self.command.spawn();
        let child = child.unwrap_or_else(|error| panic!("start {:?}: {error}", self.command));
        Running { child, stdout, stderr }
    }

    /// Starts it and waits until it ends.
    #[track_caller]
    pub fn run(self) -> Finished {
        self.start().wait()
    }
}

impl Running {
    /// Its pid.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("BUG: a pid is an i32")
    }

    /// Whether it ended.
    pub fn has_ended(&mut self) -> bool {
        self.status().is_some()
    }

    /// Waits until it ends; a minute is too long for any command.
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        let status = within(60).for_some("the command ended", || self.status());
        self.finished(status)
    }

    /// Kills it as a crash would.
    #[track_caller]
    pub fn kill(mut self) -> Finished {
        let _ = self.child.kill();
        self.wait()
    }

    /// What it printed so far, stdout then stderr.
    pub fn output(&self) -> String {
        read(&self.stdout) + &read(&self.stderr)
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("ask for the command's status")
    }

    fn finished(&self, status: ExitStatus) -> Finished {
        Finished { code: status.code(), stdout: read(&self.stdout), stderr: read(&self.stderr) }
    }
}

/// Reads from the start without moving the position that the command writes at.
fn read(file: &File) -> String {
    use std::os::unix::fs::FileExt as _;

    let mut bytes = vec![0; file.metadata().map_or(0, |about| about.len()).try_into().unwrap_or(0)];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("<output cannot be read: {error}>"),
    }
}

impl Finished {
    /// Returns itself if the code is 0, else panics with everything it said.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "the check is what most callers want")]
    pub fn expect_success(self) -> Self {
        self.expect_code(0)
    }

    /// Returns itself if the code is this one, else panics with everything it said.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "the check is what most callers want")]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}
