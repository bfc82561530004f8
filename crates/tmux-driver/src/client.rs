//! One tmux client as a child process: run, read, and never outlive the deadline.
//!
//! The end of the client is seen through its pidfd, not through end-of-file: the server holds a
//! copy of the client's stdout for a moment longer than the client lives.
//! Both outputs are read while waiting, so that a full pipe cannot block the client.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::deadline::Deadline;

/// More than any answer we ask for; a server that prints without end is cut off here.
pub(crate) const OUTPUT_LIMIT: usize = 16 << 20;

/// What a client printed and whether it exited with 0.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no [`Output`].
#[derive(Debug)]
pub(crate) enum ClientError {
    /// The program could not be started.
    Spawn(io::Error),
    /// The deadline came first; the client is gone, but the server may still act on its request.
    TimedOut,
    /// More than [`OUTPUT_LIMIT`] bytes.
    TooMuchOutput,
    /// Watching or reading the client failed.
    Io(io::Error),
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for ClientError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

/// A client that is killed and reaped on every way out.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        // Both are no-ops for a client that was already waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `command` to its end with nothing on stdin.
pub(crate) fn run(command: &mut Command, deadline: Deadline) -> Result<Output, ClientError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = Client(command.spawn().map_err(ClientError::Spawn)?);
    let exited = pidfd_open(Pid::from_child(&client.0), PidfdFlags::empty())?;
    let mut stdout = Pipe::new(client.0.stdout.take().map(OwnedFd::from))?;
    let mut stderr = Pipe::new(client.0.stderr.take().map(OwnedFd::from))?;
    loop {
        let timeout = deadline.poll_timeout(Duration::MAX).ok_or(ClientError::TimedOut)?;
        let mut fds = vec![PollFd::new(&exited, PollFlags::IN)];
        fds.extend(
            [&stdout, &stderr]
                .into_iter()
                .filter_map(|pipe| pipe.file.as_ref().map(|file| PollFd::new(file, PollFlags::IN))),
        );
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return Err(ClientError::TimedOut),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let ended = !fds[0].revents().is_empty();
        stdout.drain()?;
        stderr.drain()?;
        if ended {
            let success = client.0.wait()?.success();
            return Ok(Output { success, stdout: stdout.bytes, stderr: stderr.bytes });
        }
    }
}

/// The reading end of one output; `file` is gone after end-of-file.
struct Pipe {
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn new(fd: Option<OwnedFd>) -> Result<Self, ClientError> {
        let file = File::from(fd.expect("BUG: both outputs were asked for as pipes"));
        rustix::io::ioctl_fionbio(&file, true)?;
        Ok(Self { file: Some(file), bytes: Vec::new() })
    }

    /// Takes what is there now.
    fn drain(&mut self) -> Result<(), ClientError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut buffer = [0; 16 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => {
                    self.file = None;
                    return Ok(());
                }
                Ok(n) if self.bytes.len() + n > OUTPUT_LIMIT => {
                    return Err(ClientError::TooMuchOutput);
                }
                Ok(n) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
