//! The pane's terminal: who has it, in which mode, and what the launcher says on it.
//!
//! Every failure is ignored: a terminal that hung up answers everything with EIO, and then nobody
//! reads what would be said about it.

use std::io::IsTerminal as _;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::process::{Pid, getpgrp};
use rustix::termios::{
    Action, InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflow, tcflush,
    tcgetattr, tcsetattr, tcsetpgrp,
};

use crate::clock::Deadline;
use crate::signals::Signals;

/// Leaves the alternate screen; shows the cursor; turns mouse, focus reports, bracketed paste,
/// application keys and colours off: whatever an agent that died may have left on.
const RESET: &str = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\
    \x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[0m";

/// How long the terminal may take to say that it has shown everything.
const SETTLE: Duration = Duration::from_millis(300);

/// How long no key must come before keys mean the launcher, and how long that is waited for.
const HUSH: Duration = Duration::from_millis(300);
const HUSH_LIMIT: Duration = Duration::from_secs(3);

/// The terminal on stdin and stdout.
pub(crate) struct Terminal {
    input: BorrowedFd<'static>,
    output: BorrowedFd<'static>,
    /// Its modes as tmux made it.
    plain: Option<Termios>,
}

impl Terminal {
    /// The terminal this process was started on.
    pub(crate) fn open() -> Self {
        let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        Self { input, output, plain: tcgetattr(input).ok() }
    }

    /// Where keys and hang-ups come from.
    pub(crate) fn input(&self) -> BorrowedFd<'static> {
        self.input
    }

    /// Writes `text`.
    pub(crate) fn say(&self, text: &str) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(self.output, rest) {
                Ok(written) if written > 0 => rest = &rest[written..],
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// Gives the terminal to a process group, in the modes it had before, if any.
    pub(crate) fn lend(&self, group: Pid, modes: Option<&Termios>) {
        if let Some(modes) = modes.or(self.plain.as_ref()) {
            let _ = tcsetattr(self.input, OptionalActions::Now, modes);
        }
        let _ = tcsetpgrp(self.input, group);
    }

    /// Takes the terminal back for single keys without echo; returns the modes it was left in.
    pub(crate) fn take(&self) -> Option<Termios> {
        let left = tcgetattr(self.input).ok();
        let _ = tcsetpgrp(self.input, getpgrp());
        // After Ctrl-S every write would block, this program's included.
        let _ = tcflow(self.input, Action::OOn);
        if let Some(mut modes) = self.plain.clone() {
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            modes.input_modes -= InputModes::IXON;
            let _ = tcsetattr(self.input, OptionalActions::Now, &modes);
        }
        left
    }

    /// Brings a taken terminal back to a state in which lines can be read.
    pub(crate) fn reset(&self) {
        let _ = tcflush(self.input, QueueSelector::IFlush);
        self.say(RESET);
    }

    /// The keys that were pressed; empty at a hang-up.
    pub(crate) fn keys(&self) -> Vec<u8> {
        let mut keys = [0; 64];
        let read = rustix::io::read(self.input, &mut keys).unwrap_or(0);
        keys[..read].to_vec()
    }

    /// Drops keys until none came for a moment: whoever was typing to the agent when it died did
    /// not mean the launcher.
    pub(crate) fn hush(&self, signals: &mut Signals) {
        let deadline = Deadline::after(HUSH_LIMIT);
        while !deadline.is_over() && !signals.asked() {
            let seen = signals.wait(Some((self.input, PollFlags::IN)), Some(HUSH));
            if !seen.contains(PollFlags::IN) || self.keys().is_empty() {
                return;
            }
        }
    }

    /// Whether anybody could still read what is said.
    pub(crate) fn is_there(&self) -> bool {
        self.output.is_terminal()
    }

    /// Waits until tmux has taken in all that was written to a taken terminal.
    ///
    /// It answers in order, so its answer to a status query proves that it has read everything
    /// before it (pinned by `last_words_hold_the_last_line_of_a_long_output`).
    pub(crate) fn settle(&self, signals: &mut Signals) {
        self.say("\x1b[5n");
        let (mut answer, deadline) = (Vec::new(), Deadline::after(SETTLE));
        while !deadline.is_over() && !answer.windows(4).any(|bytes| bytes == b"\x1b[0n") {
            // Empties the pipe, or the wait would return at once for ever.
            signals.asked();
            let stdin = (self.input, PollFlags::IN);
            let seen = signals.wait(Some(stdin), Some(deadline.left()));
            if seen.contains(PollFlags::HUP) {
                return;
            }
            if seen.contains(PollFlags::IN) {
                answer.extend(self.keys());
            }
        }
    }
}
