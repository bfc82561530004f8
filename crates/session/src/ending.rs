//! How an agent's end is sorted, and how long to wait before the next start.
//!
//! The table is section 4 of the session protocol: a clean exit parks, a failing exit leaves a
//! post-mortem, everything that looks like violence or interruption respawns.

use std::time::Duration;

use crate::{Agent, Timestamp};

/// What the kernel (or the exec) said about the agent's end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It exited by itself.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// The session's memory limit ended it.
    OutOfMemory,
    /// It never ran: the exec failed with this text.
    NotStarted(String),
    /// Its launcher vanished, so nobody saw the end.
    Unseen,
}

/// What follows from an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Asked to quit: the session is stopped until `restart`.
    Parked,
    /// Something around the agent ended it: start again at once.
    Interrupted,
    /// It failed: show what happened, start nothing.
    PostMortem,
    /// It died: start again after a delay.
    Respawn,
}

/// Sorts an end.
///
/// `asked` says whether a HUP, TERM, hang-up or kill request came before the end or within
/// 250 ms after it: a polite agent that exits 0 because its terminal went away did not mean to
/// be parked.
pub fn sort_ending(agent: &Agent, exit: &Exit, asked: bool) -> Ending {
    if asked {
        return Ending::Interrupted;
    }
    if *agent == Agent::Shell {
        return Ending::Respawn;
    }
    match exit {
        Exit::Code(0) => Ending::Parked,
        // 128 + HUP, KILL, TERM: how shells and Node programs report these signals.
        Exit::Code(129 | 137 | 143) | Exit::Signal(_) | Exit::OutOfMemory | Exit::NotStarted(_) => {
            Ending::Respawn
        }
        Exit::Code(_) => Ending::PostMortem,
        Exit::Unseen => Ending::Interrupted,
    }
}

/// When the next start may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backoff {
    /// Not before this time.
    Until(Timestamp),
    /// Held until `restart`.
    CrashLooping,
}

impl Backoff {
    /// An end this soon after its start counts as a quick death.
    pub const QUICK: Duration = Duration::from_secs(10);
    /// So many quick deaths in a row are a crash loop.
    pub const LIMIT: u32 = 5;
    /// Two starts of one session are at least this far apart, whatever the reason.
    pub const APART: Duration = Duration::from_secs(1);
    /// The longest delay.
    pub const LONGEST: Duration = Duration::from_mins(1);
}

/// The delay after an end that respawns.
///
/// `deaths` counts the consecutive quick deaths, this one included when it was quick.
pub fn backoff(ending: Ending, deaths: u32, started: Timestamp, ended: Timestamp) -> Backoff {
    let apart = started.plus(Backoff::APART);
    if ending != Ending::Respawn {
        return Backoff::Until(apart);
    }
    if deaths >= Backoff::LIMIT {
        return Backoff::CrashLooping;
    }
    let delay = Duration::from_secs(1 << deaths.saturating_sub(1).min(6)).min(Backoff::LONGEST);
    Backoff::Until(apart.max(ended.plus(delay)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_sorted_as_the_protocol_says() {
        let claude = Agent::Claude;
        let check = |agent: &Agent, exit: Exit, asked, expect| {
            assert_eq!(sort_ending(agent, &exit, asked), expect, "{agent} {exit:?} {asked}");
        };
        check(&claude, Exit::Code(0), false, Ending::Parked);
        check(&claude, Exit::Code(0), true, Ending::Interrupted);
        check(&claude, Exit::Code(1), false, Ending::PostMortem);
        check(&claude, Exit::Code(130), false, Ending::PostMortem);
        for code in [129, 137, 143] {
            check(&claude, Exit::Code(code), false, Ending::Respawn);
        }
        check(&claude, Exit::Signal(9), false, Ending::Respawn);
        check(&claude, Exit::OutOfMemory, false, Ending::Respawn);
        check(&claude, Exit::NotStarted("no such file".to_owned()), false, Ending::Respawn);
        check(&claude, Exit::Unseen, false, Ending::Interrupted);
        for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(11)] {
            check(&Agent::Shell, exit, false, Ending::Respawn);
        }
    }

    #[test]
    fn delays_double_to_a_cap_and_end_in_a_crash_loop() {
        let at = Timestamp::from_millis;
        let until = |deaths| backoff(Ending::Respawn, deaths, at(1000), at(1500));
        assert_eq!(until(0), Backoff::Until(at(2500)));
        assert_eq!(until(1), Backoff::Until(at(2500)));
        assert_eq!(until(2), Backoff::Until(at(3500)));
        assert_eq!(until(3), Backoff::Until(at(5500)));
        assert_eq!(until(4), Backoff::Until(at(9500)));
        assert_eq!(until(5), Backoff::CrashLooping);
        // A healthy run that was killed waits one second; an interrupted one not at all.
        assert_eq!(backoff(Ending::Respawn, 0, at(0), at(99_000)), Backoff::Until(at(100_000)));
        assert_eq!(backoff(Ending::Interrupted, 0, at(0), at(99_000)), Backoff::Until(at(1000)));
    }
}
