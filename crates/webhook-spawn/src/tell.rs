//! The one call of `agent-box`, which knows how each agent is talked to.
//!
//! The message goes through an unlinked file, not through arguments, and the call has a deadline.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agent_box_session::SessionId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long telling may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// The exit code of `agent-box` for an expected no.
const REFUSED: i32 = 2;

/// What `agent-box` said.
pub(crate) enum Answer {
    /// The agent has it.
    Done,
    /// It cannot be told from outside, for this reason.
    Waits(String),
    /// Not now, for this reason.
    NotNow(String),
}

/// Hands the message to the agent of a session, by the `agent-box` beside this program.
pub(crate) fn tell(session: SessionId, message: &str) -> Answer {
    let program = beside().unwrap_or_else(|| PathBuf::from("agent-box"));
    match run(&program, session, message) {
        Ok((Some(0), _)) => Answer::Done,
        Ok((code, said)) => {
            // Warnings stand before the reason.
            let reason = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            let reason = reason.unwrap_or("agent-box could not tell it").to_owned();
            if code == Some(REFUSED) { Answer::Waits(reason) } else { Answer::NotNow(reason) }
        }
        Err(error) => Answer::NotNow(format!("cannot run {}: {error}", program.display())),
    }
}

fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name("agent-box");
    program.is_file().then_some(program)
}

/// Ends on every way out.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Its exit code, and what it said on stderr.
fn run(program: &Path, session: SessionId, message: &str) -> io::Result<(Option<i32>, String)> {
    let mut input = File::from(memfd_create("message", MemfdFlags::CLOEXEC)?);
    input.write_all(message.as_bytes())?;
    input.rewind()?;
    let mut said = File::from(memfd_create("said", MemfdFlags::CLOEXEC)?);
    let mut command = Command::new(program);
    command.args(["hook", "tell", "--session-id", &session.to_string()]);
    command.stdin(input).stdout(Stdio::null()).stderr(said.try_clone()?);
    let mut running = Running(command.spawn()?);
    let ended = pidfd_open(Pid::from_child(&running.0), PidfdFlags::empty())?;
    let timeout = Timespec::try_from(DEADLINE).map_err(io::Error::other)?;
    loop {
        let mut fds = [PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return Ok((None, format!("no answer within {} s", DEADLINE.as_secs()))),
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let code = running.0.wait()?.code();
    said.rewind()?;
    let mut text = String::new();
    let _ = said.take(1 << 16).read_to_string(&mut text);
    Ok((code, text))
}
