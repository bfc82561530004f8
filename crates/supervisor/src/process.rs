//! Processes by `/proc`: alive or not, whose they are, and how to signal exactly one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use agent_box_session::{LaunchId, ProcessRef, env};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One line of `/proc/PID/stat`, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The process id.
    pub pid: i32,
    /// Its name, as the kernel keeps it (15 bytes).
    pub comm: String,
    /// One letter: `R`, `S`, `D`, `Z`, `T` …
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its kernel session's leader.
    pub kernel_session: i32,
    /// Clock ticks after boot at which it started.
    pub start_time: u64,
}

impl Stat {
    /// Reads one process; `None` if it is gone.
    pub fn read(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// Parses the file's text. The name may hold spaces and parentheses.
    pub fn parse(text: &str) -> Option<Self> {
        let (pid, rest) = text.split_once(" (")?;
        let (comm, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            pid: pid.parse().ok()?,
            comm: comm.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            kernel_session: fields.get(3)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether it still executes: a zombie has ended, it is only not reaped.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// This boot's id; start times mean nothing across boots.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Whether exactly that process still executes.
pub fn is_alive(process: &ProcessRef) -> bool {
    process.boot_id == boot_id()
        && Stat::read(process.pid)
            .is_some_and(|stat| stat.start_time == process.start_time && stat.is_alive())
}

/// A process that a later signal cannot miss: the descriptor names it, not the number.
#[derive(Debug)]
pub struct Handle {
    /// What was seen of it.
    pub stat: Stat,
    fd: OwnedFd,
}

impl Handle {
    /// Opens the process that `stat` described; `None` if it is gone or another one by now.
    pub fn open(stat: &Stat) -> Option<Self> {
        let pid = Pid::from_raw(stat.pid)?;
        let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // The number may have been reused before the open; the descriptor is fixed from here on.
        let now = Stat::read(stat.pid)?;
        (now.start_time == stat.start_time).then_some(Self { stat: now, fd })
    }

    /// The descriptor: readable once the process has ended.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Sends a signal; a process that is gone already is no error.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.fd, signal);
    }
}

/// All processes of this moment, for following family ties and marks.
///
/// A process that forks and exits at once is alive at every moment and nowhere for long: one
/// reading of `/proc` can miss it, again and again. So it is listed until a listing holds nobody
/// new, the youngest first, and each process's mark is read together with its line.
#[derive(Debug, Default)]
pub struct Scan {
    by_pid: BTreeMap<i32, Stat>,
    marks: BTreeMap<i32, LaunchId>,
    settled: bool,
}

impl Scan {
    /// So many listings, for on a busy machine there is always somebody new.
    const LISTINGS: usize = 8;

    /// Reads every process's stat line and mark. Zombies are left out.
    pub fn now() -> Self {
        Self::with_each(|_, _| {})
    }

    /// Like [`Scan::now`], and tells of each process while it is most likely still there.
    pub fn with_each(mut each: impl FnMut(&Stat, Option<LaunchId>)) -> Self {
        let mut scan = Self::default();
        let mut visited = BTreeSet::new();
        for _ in 0..Self::LISTINGS {
            let mut new = pids();
            new.retain(|pid| !visited.contains(pid));
            if new.is_empty() {
                scan.settled = !visited.is_empty();
                break;
            }
            // Numbers rise with age but for the wrap.
            new.sort_unstable();
            for pid in new.into_iter().rev() {
                visited.insert(pid);
                let Some(stat) = Stat::read(pid).filter(Stat::is_alive) else { continue };
                let mark = launch_mark(pid);
                each(&stat, mark);
                scan.marks.extend(mark.map(|launch| (pid, launch)));
                scan.by_pid.insert(pid, stat);
            }
        }
        scan
    }

    /// Whether the last listing held nobody new, so that nobody can have been missed.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// The launch that a process said it belongs to.
    pub fn mark(&self, pid: i32) -> Option<LaunchId> {
        self.marks.get(&pid).copied()
    }

    /// One process.
    pub fn get(&self, pid: i32) -> Option<&Stat> {
        self.by_pid.get(&pid)
    }

    /// All processes that descend from `root`, itself excluded.
    pub fn descendants(&self, root: i32) -> BTreeSet<i32> {
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for stat in self.by_pid.values() {
            children.entry(stat.parent).or_default().push(stat.pid);
        }
        let mut found = BTreeSet::new();
        let mut queue = vec![root];
        while let Some(pid) = queue.pop() {
            for child in children.get(&pid).into_iter().flatten() {
                if found.insert(*child) {
                    queue.push(*child);
                }
            }
        }
        found
    }

    /// All processes in the kernel session that `leader` leads.
    pub fn kernel_session(&self, leader: i32) -> impl Iterator<Item = i32> {
        self.by_pid.values().filter(move |stat| stat.kernel_session == leader).map(|stat| stat.pid)
    }

    /// The launches named in processes' environments, with the processes that carry each.
    ///
    /// Processes of other users cannot be read and are not ours.
    pub fn marked(&self) -> BTreeMap<LaunchId, BTreeSet<i32>> {
        let mut marked: BTreeMap<LaunchId, BTreeSet<i32>> = BTreeMap::new();
        for (pid, launch) in &self.marks {
            marked.entry(*launch).or_default().insert(*pid);
        }
        marked
    }

    /// All processes, by number.
    pub fn all(&self) -> impl Iterator<Item = &Stat> {
        self.by_pid.values()
    }
}

/// The numbers of all processes.
fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The launch that a process says it belongs to.
pub fn launch_mark(pid: i32) -> Option<LaunchId> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(env::LAUNCH_ID.as_bytes())?.strip_prefix(b"=")?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

/// Whether the process is the launcher of `launch`: `agent-box pane RECORD LAUNCH`.
pub fn is_launcher(pid: i32, launch: LaunchId) -> bool {
    launcher_words(pid).is_some_and(|(_, its)| its == launch)
}

/// The launches whose launchers were given this record: a record that cannot be read names none.
pub fn launches_beside(record: &Path) -> BTreeSet<LaunchId> {
    let words = pids().into_iter().filter_map(launcher_words);
    words.filter(|(its, _)| its == record).map(|(_, launch)| launch).collect()
}

/// What a launcher was started with.
fn launcher_words(pid: i32) -> Option<(PathBuf, LaunchId)> {
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = command.split(|byte| *byte == 0).skip(1);
    if words.next()? != b"pane" {
        return None;
    }
    let record = PathBuf::from(std::ffi::OsStr::from_bytes(words.next()?));
    Some((record, std::str::from_utf8(words.next()?).ok()?.parse().ok()?))
}

/// This process and its ancestors.
pub fn own_line() -> BTreeSet<i32> {
    let mut line = BTreeSet::new();
    let mut pid = rustix::process::getpid().as_raw_nonzero().get();
    while pid > 0 && line.insert(pid) {
        pid = Stat::read(pid).map_or(0, |stat| stat.parent);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) b (c) S 7 42 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(
            (stat.pid, stat.comm.as_str(), stat.state, stat.parent, stat.kernel_session),
            (42, "a) b (c", 'S', 7, 9)
        );
        assert_eq!(stat.start_time, 12345);
    }

    #[test]
    fn own_process_is_alive_and_its_scan_knows_its_parent() {
        let me = i32::try_from(std::process::id()).unwrap();
        let stat = Stat::read(me).unwrap();
        assert!(stat.is_alive());
        assert!(Scan::now().descendants(stat.parent).contains(&me));
        assert!(own_line().contains(&stat.parent));
    }
}
