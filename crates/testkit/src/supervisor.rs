//! A supervisor in the background, which a test may kill and start again.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::agent_box::{AgentBox, Finished, Running};
use crate::process;
use crate::wait::within;

/// A running supervisor. Dropping it kills it.
#[derive(Debug)]
pub struct Supervisor {
    running: Option<Running>,
    notify: UnixDatagram,
    notify_path: PathBuf,
}

impl Supervisor {
    /// Starts it with a socket on which it says that it is ready, as systemd would give it.
    #[track_caller]
    pub(crate) fn start(command: AgentBox, notify_path: PathBuf) -> Self {
        let notify = UnixDatagram::bind(&notify_path).expect("bind the readiness socket");
        notify.set_nonblocking(true).expect("make the readiness socket non-blocking");
        let running = Some(command.env("NOTIFY_SOCKET", &notify_path).start());
        Self { running, notify, notify_path }
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.running.as_ref().expect("BUG: only an end takes it").pid()
    }

    /// Waits until it says `READY=1`; panics with its output if it ends before.
    #[track_caller]
    pub fn wait_ready(&mut self) -> &mut Self {
        within(15).until("the supervisor is ready", || {
            let running = self.running.as_mut().expect("BUG: only an end takes it");
            assert!(!running.has_ended(), "the supervisor ended: {}", running.output());
            let mut message = [0; 512];
            let length = self.notify.recv(&mut message).unwrap_or(0);
            message[..length].split(|&byte| byte == b'\n').any(|line| line == b"READY=1")
        });
        self
    }

    /// Whether it ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.running.as_mut().expect("BUG: only an end takes it").has_ended()
    }

    /// What it printed so far.
    pub fn output(&self) -> String {
        self.running.as_ref().expect("BUG: only an end takes it").output()
    }

    /// Stops its execution, like a machine that is too busy.
    pub fn freeze(&self) {
        process::send(self.pid(), Signal::STOP);
        within(5).until("the supervisor is stopped", || process::is_stopped(self.pid()));
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        process::send(self.pid(), Signal::CONT);
    }

    /// Asks it to end and waits for that.
    #[track_caller]
    pub fn terminate(mut self) -> Finished {
        process::send(self.pid(), Signal::TERM);
        self.running.take().expect("BUG: only an end takes it").wait()
    }

    /// Kills it as a crash would.
    #[track_caller]
    pub fn kill(mut self) -> Finished {
        self.running.take().expect("BUG: only an end takes it").kill()
    }

    /// Waits for an end that the test caused otherwise.
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        self.running.take().expect("BUG: only an end takes it").wait()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            if std::thread::panicking() {
                eprint(&format!("the supervisor said: {}", running.output()));
            }
            process::send(running.pid(), Signal::KILL);
        }
        let _ = std::fs::remove_file(&self.notify_path);
    }
}

#[expect(clippy::print_stderr, reason = "the test runner shows this beside a panic")]
pub(crate) fn eprint(text: &str) {
    eprintln!("{text}");
}
