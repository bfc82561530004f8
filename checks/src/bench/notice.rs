//! Learning at once that tmux has a new session: a control-mode client that reads notifications.
//! Asking tmux again and again would cost more than what is measured.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use agent_box_testkit::TestBox;

/// A control-mode client on a session of its own, which the box does not manage.
pub(crate) struct Notices {
    client: Child,
    lines: BufReader<ChildStdout>,
}

impl Notices {
    /// Attaches to the box's tmux server.
    pub(crate) fn attach(test_box: &TestBox) -> Result<Self, String> {
        let started = test_box.tmux().start("bench-control", &["sleep", "100000"]);
        if !started.status.success() {
            return Err(String::from_utf8_lossy(&started.stderr).into_owned());
        }
        let mut client = Command::new("tmux")
            .env_clear()
            .envs(test_box.environment())
            .arg("-S")
            .arg(test_box.tmux().socket())
            .args([
                "-u",
                "-C",
                "attach-session",
                "-t",
                "=bench-control",
                "-f",
                "no-output,ignore-size",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run tmux: {error}"))?;
        let lines = BufReader::new(client.stdout.take().ok_or("tmux has no output")?);
        let mut notices = Self { client, lines };
        notices.until("%session-changed")?;
        Ok(notices)
    }

    /// Waits for the next change of the session list.
    pub(crate) fn sessions_changed(&mut self) -> Result<(), String> {
        self.until("%sessions-changed")
    }

    fn until(&mut self, start: &str) -> Result<(), String> {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.lines.read_line(&mut line).map_err(|error| error.to_string())?;
            if read == 0 {
                return Err(format!("tmux went away before it said {start}"));
            }
            if line.starts_with(start) {
                return Ok(());
            }
        }
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}
