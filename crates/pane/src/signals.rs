//! The launcher's signals: what is handled, what must be ignored, and the one wait.
//!
//! The launcher sits in its pane beside the agent, so INT, QUIT and TSTP may reach it and mean
//! nothing; HUP and TERM ask it to end the session. Handlers, unlike ignored signals, return to
//! their default at exec, so the agent starts with a clean slate.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::process;

const HANDLED: [i32; 6] = [SIGCHLD, SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGTSTP];

/// The handlers, and whether somebody asked for the end.
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    asked: bool,
}

impl Signals {
    /// Installs the handlers.
    pub(crate) fn install() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, HANDLED)?;
        Ok(Self { delivery, asked: false })
    }

    /// Whether HUP or TERM has come.
    pub(crate) fn asked(&mut self) -> bool {
        let Self { delivery, asked } = self;
        *asked |= delivery.pending().any(|signal| signal == SIGHUP || signal == SIGTERM);
        *asked
    }

    /// Waits for a signal, for `events` on `fd`, or for the time to be over; returns what `fd` has.
    ///
    /// A hang-up of `fd` is always among the events.
    pub(crate) fn wait(
        &self,
        fd: Option<(BorrowedFd<'_>, PollFlags)>,
        timeout: Option<Duration>,
    ) -> PollFlags {
        let mut fds = vec![PollFd::new(self.delivery.get_read(), PollFlags::IN)];
        fds.extend(fd.map(|(fd, events)| PollFd::from_borrowed_fd(fd, events)));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => fds.get(1).map_or(PollFlags::empty(), PollFd::revents),
            // A signal: its handler has written to the pipe, the caller looks there anyway.
            Err(_) => PollFlags::empty(),
        }
    }
}

/// Gives every inherited ignored signal a handler, so that the next exec sets it to its default.
pub(crate) fn reset_at_exec() {
    let flag = std::sync::Arc::default();
    for signal in process::ignored_signals() {
        // SIGPIPE is reset by the standard library; real-time signals may be refused.
        let _ = signal_hook::flag::register(signal, std::sync::Arc::clone(&flag));
    }
}
