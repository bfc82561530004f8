//! Which receiver a batch is from, so that a wrapper does nothing for one that is gone.
//!
//! A receiver that is killed leaves its wrapper behind. The next receiver runs the batch again,
//! is told that the box is full, and puts the events into a new batch: if the old wrapper then
//! found a free slot, the events would start two sessions. So the wrapper asks, under the
//! registry's lock and before it writes, whether its receiver still is there. There is one
//! receiver at a time, so whoever is answered with a refusal later has waited for that lock.

use std::fmt;

/// A process, told from a later one with the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its number.
    pub pid: u32,
    /// Clock ticks between the machine's start and its own.
    pub started: u64,
}

impl Asker {
    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.split_once(':')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    /// The process that `/proc/<pid>/stat` is about; `None` if it has ended (proc_pid_stat(5)).
    pub fn of_stat(stat: &str) -> Option<Self> {
        let (pid, _) = stat.split_once(' ')?;
        // The program's name, between brackets, may hold blanks and brackets itself.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let is_over = matches!(fields.next()?, "Z" | "X");
        let started = fields.nth(18)?.parse().ok()?;
        (!is_over).then_some(Self { pid: pid.parse().ok()?, started })
    }
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.pid, self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_its_number_and_its_start() {
        let stat = |state: &str| {
            format!("42 (a ) b) {state} 1 42 42 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 777 9 9 9")
        };
        let asker = Asker { pid: 42, started: 777 };
        assert_eq!(Asker::of_stat(&stat("S")), Some(asker));
        assert_eq!(Asker::of_stat(&stat("Z")), None, "it has ended and nobody has noticed");
        assert_eq!(Asker::of_stat("42 (x) S 1"), None);
        assert_eq!(Asker::parse(&asker.to_string()), Some(asker));
        for bad in ["", "42", "42:", ":7", "x:7", "42:7:7"] {
            assert_eq!(Asker::parse(bad), None, "{bad}");
        }
    }
}
