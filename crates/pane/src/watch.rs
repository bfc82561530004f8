//! From the start of a foreground child to its end: signals, Ctrl-Z, hang-ups.

use std::time::Duration;

use agent_box_session::Exit;
use rustix::event::PollFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group};
use rustix::termios::Termios;

use crate::cgroup::Cgroup;
use crate::clock::Deadline;
use crate::process;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// A polite agent exits 0 because its terminal goes away, and may be seen before that is.
const AFTERTHOUGHT: Duration = Duration::from_millis(250);

/// What descendants of an ended agent get between TERM and KILL.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// How long killed processes may take to vanish before they are given up.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// How a child ended.
pub(crate) struct End {
    pub(crate) exit: Exit,
    /// Somebody asked for it, or the terminal went away.
    pub(crate) asked: bool,
}

/// The child stands still (Ctrl-Z) and the launcher has the terminal.
struct Pause {
    /// The terminal's modes when it stopped.
    modes: Option<Termios>,
}

/// What watching needs.
pub(crate) struct Watch<'a> {
    pub(crate) signals: &'a mut Signals,
    pub(crate) terminal: &'a Terminal,
    pub(crate) cgroup: Option<&'a Cgroup>,
    /// Between asking the child to end and killing it.
    pub(crate) grace: Duration,
}

impl Watch<'_> {
    /// Waits for the end of `child`, the leader of the terminal's foreground group.
    ///
    /// `suspended` is told when the child stops and when it goes on.
    pub(crate) fn until_end(&mut self, child: Pid, suspended: &mut dyn FnMut(bool)) -> End {
        let mut kill_at: Option<Deadline> = None;
        let mut pause: Option<Pause> = None;
        loop {
            if self.signals.asked() && kill_at.is_none() {
                // CONT first, for a stopped process would not see the others.
                for signal in [Signal::HUP, Signal::CONT, Signal::TERM] {
                    let _ = kill_process_group(child, signal);
                }
                kill_at = Some(Deadline::after(self.grace));
            }
            if kill_at.is_some_and(Deadline::is_over) {
                self.kill_all();
                kill_at = Some(Deadline::after(KILL_WAIT));
            }
            let mut change = None;
            reap(|pid, status| {
                if pid == child {
                    change = Some(status);
                }
            });
            match change {
                // It can only stop again if somebody continued it, and then for want of the
                // terminal if they did that from elsewhere.
                Some(status) if pause.is_some() && wants_terminal(status) => {
                    self.go_on(child, &mut pause, suspended);
                    let _ = kill_process_group(child, Signal::CONT);
                }
                Some(status) if status.stopped() && kill_at.is_none() => {
                    pause.get_or_insert_with(|| Pause { modes: self.terminal.take() });
                    self.terminal.say("\n[agent-box] suspended: Enter continues it\n");
                    suspended(true);
                }
                Some(status) if status.continued() => self.go_on(child, &mut pause, suspended),
                Some(status) if status.exited() || status.signaled() => {
                    let exit = exit_of(status);
                    return End { asked: self.was_asked(&exit), exit };
                }
                _ => {}
            }
            let input = pause.is_some().then(|| (self.terminal.input(), PollFlags::IN));
            let seen = self.signals.wait(input, kill_at.map(Deadline::left));
            if seen.contains(PollFlags::IN)
                && self.terminal.keys().iter().any(|key| matches!(key, b'\r' | b'\n'))
            {
                self.go_on(child, &mut pause, suspended);
                let _ = kill_process_group(child, Signal::CONT);
            }
        }
    }

    /// Gives the terminal back to a child that goes on.
    fn go_on(&self, child: Pid, pause: &mut Option<Pause>, suspended: &mut dyn FnMut(bool)) {
        if let Some(Pause { modes }) = pause.take() {
            self.terminal.lend(child, modes.as_ref());
            suspended(false);
        }
    }

    /// Whether the end was asked for, before it or (a clean exit) just after it.
    fn was_asked(&mut self, exit: &Exit) -> bool {
        let window = if *exit == Exit::Code(0) { AFTERTHOUGHT } else { Duration::ZERO };
        let deadline = Deadline::after(window);
        loop {
            if self.signals.asked() {
                return true;
            }
            let terminal = (self.terminal.input(), PollFlags::empty());
            let seen = self.signals.wait(Some(terminal), Some(deadline.left()));
            if seen.contains(PollFlags::HUP) || self.signals.asked() {
                return true;
            }
            if deadline.is_over() {
                return false;
            }
        }
    }

    /// Ends every process that the child left behind; returns whether all are gone.
    pub(crate) fn end_leftovers(&mut self) -> bool {
        if !reap(|_, _| {}) {
            return true;
        }
        process::signal_descendants(&[Signal::TERM, Signal::CONT]);
        if self.all_gone_within(LEFTOVER_GRACE, || {}) {
            return true;
        }
        let everything = self.cgroup;
        self.all_gone_within(KILL_WAIT, || kill(everything))
    }

    /// Waits until no child is left, calling `push` again and again: new ones may be forked.
    fn all_gone_within(&mut self, allowed: Duration, push: impl Fn()) -> bool {
        let deadline = Deadline::after(allowed);
        loop {
            push();
            self.signals.asked();
            if !reap(|_, _| {}) {
                return true;
            }
            if deadline.is_over() {
                return false;
            }
            let step = Duration::from_millis(20).min(deadline.left());
            self.signals.wait(None, Some(step));
        }
    }

    fn kill_all(&self) {
        kill(self.cgroup);
    }
}

fn kill(cgroup: Option<&Cgroup>) {
    if let Some(cgroup) = cgroup {
        cgroup.kill();
    }
    process::signal_descendants(&[Signal::KILL]);
}

/// Collects all children that changed; returns whether any child is left.
fn reap(mut each: impl FnMut(Pid, WaitStatus)) -> bool {
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    loop {
        match rustix::process::wait(options) {
            Ok(Some((pid, status))) => each(pid, status),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Whether it was stopped for reading or writing a terminal that it does not have.
fn wants_terminal(status: WaitStatus) -> bool {
    let signals = [Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
    status.stopping_signal().is_some_and(|signal| signals.contains(&signal))
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unseen,
    }
}
