//! The session's own control group, where the service manager delegated one.
//!
//! ```text
//! <unit>/server                  tmux, and every launcher at first
//! <unit>/sessions/<id>/launcher  the launcher: survives the agent's memory limit to report it
//! <unit>/sessions/<id>/agent     the agent, with the limits
//! ```
//! Being in a leaf named `server` whose parent we may write is how delegation is recognised.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agent_box_session::{Limits, SessionId};
use rustix::process::Pid;

/// The controllers that limits need.
const CONTROLLERS: [&str; 3] = ["+memory", "+pids", "+cpu"];

/// The directory of one session's control group.
pub(crate) struct Cgroup {
    unit: PathBuf,
    session: PathBuf,
    /// Memory kills counted before this launch.
    kills_before: u64,
}

impl Cgroup {
    /// The control group that `session` would have; `None` where nothing is delegated to us.
    pub(crate) fn find(session: SessionId) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let leaf = mount_point(&mounts)?.join(own);
        let unit = leaf.parent().filter(|_| leaf.ends_with("server"))?.to_owned();
        let access = rustix::fs::Access::WRITE_OK;
        rustix::fs::access(&unit, access).ok()?;
        rustix::fs::access(unit.join("cgroup.procs"), access).ok()?;
        let session = unit.join("sessions").join(session.to_string());
        Some(Self { unit, session, kills_before: 0 })
    }

    /// The session's directory.
    pub(crate) fn path(&self) -> &Path {
        &self.session
    }

    /// Makes the groups, moves this process into the launcher's and sets the limits; returns what
    /// could not be limited.
    ///
    /// # Errors
    /// When there is no group in which the agent could be started.
    pub(crate) fn enter(&mut self, limits: &Limits) -> io::Result<Vec<String>> {
        fs::create_dir_all(self.launcher())?;
        fs::create_dir_all(self.agent())?;
        // From the top: a controller must be on in each parent. One that is not there fails
        // alone, and shows as a limit that could not be set.
        for group in [self.unit.clone(), self.unit.join("sessions"), self.session.clone()] {
            for controller in CONTROLLERS {
                let _ = put(&group.join("cgroup.subtree_control"), controller);
            }
        }
        put(&self.launcher().join("cgroup.procs"), "0")?;
        self.kills_before = self.memory_kills();
        Ok(self.limit(limits))
    }

    fn limit(&self, limits: &Limits) -> Vec<String> {
        let number = |limit: Option<u64>| limit.map(|limit| limit.to_string());
        let with_memory = |value: &str| limits.memory_max.map(|_| value.to_owned());
        // Without a limit on swap, a memory limit only moves the memory there.
        let files = [
            ("memory.high", number(limits.memory_high)),
            ("memory.swap.max", with_memory("0")),
            ("memory.oom.group", with_memory("1")),
            ("memory.max", number(limits.memory_max)),
            ("pids.max", number(limits.tasks_max)),
            ("cpu.weight", number(limits.cpu_weight)),
        ];
        let mut failures = Vec::new();
        for (file, value) in files {
            let Some(value) = value else { continue };
            // A kernel without swap accounting has no such file and no need of it.
            if let Err(error) = put(&self.agent().join(file), &value)
                && file != "memory.swap.max"
            {
                failures.push(format!("{file} could not be set: {error}"));
            }
        }
        failures
    }

    /// Moves a child of ours to where the limits hold.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn admit(&self, child: Pid) -> io::Result<()> {
        put(&self.agent().join("cgroup.procs"), &child.as_raw_nonzero().to_string())
    }

    /// Kills all that is in the agent's group.
    pub(crate) fn kill(&self) {
        let _ = put(&self.agent().join("cgroup.kill"), "1");
    }

    /// Whether the memory limit killed something since this launch entered.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.memory_kills() > self.kills_before
    }

    fn memory_kills(&self) -> u64 {
        let events = fs::read_to_string(self.agent().join("memory.events")).unwrap_or_default();
        let count = |line: &str| match line.split_once(' ') {
            Some(("oom_kill" | "oom_group_kill", count)) => count.parse().unwrap_or(0),
            _ => 0,
        };
        events.lines().map(count).sum()
    }

    /// Removes the groups; this process goes back to where it came from.
    pub(crate) fn remove(&self) {
        self.kill();
        let _ = put(&self.unit.join("server/cgroup.procs"), "0");
        for group in [self.agent(), self.launcher(), self.session.clone()] {
            let _ = fs::remove_dir(group);
        }
    }

    fn launcher(&self) -> PathBuf {
        self.session.join("launcher")
    }

    fn agent(&self) -> PathBuf {
        self.session.join("agent")
    }
}

/// Writes one value into one of the kernel's files.
#[expect(clippy::disallowed_methods, reason = "a kernel file takes one plain write")]
fn put(file: &Path, value: &str) -> io::Result<()> {
    fs::write(file, value)
}

/// Where the unified hierarchy is mounted.
fn mount_point(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?;
        file_system.starts_with("cgroup2 ").then(|| PathBuf::from(point))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain directories: they show what is written, not what a kernel makes of it.
    fn paper_unit() -> (tempfile::TempDir, Cgroup) {
        let unit = tempfile::tempdir().unwrap();
        let session = unit.path().join("sessions/x");
        fs::create_dir_all(session.join("agent")).unwrap();
        fs::create_dir_all(session.join("launcher")).unwrap();
        let cgroup = Cgroup { unit: unit.path().to_owned(), session, kills_before: 0 };
        (unit, cgroup)
    }

    #[test]
    fn limits_are_written_where_the_agent_is() {
        let (unit, mut cgroup) = paper_unit();
        let limits = Limits { memory_max: Some(1 << 20), tasks_max: Some(7), ..Limits::default() };
        assert_eq!(cgroup.enter(&limits).unwrap(), Vec::<String>::new());
        let read = |file: &str| fs::read_to_string(unit.path().join("sessions/x").join(file)).ok();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("agent/memory.max"), some("1048576"));
        assert_eq!(read("agent/memory.swap.max"), some("0"));
        assert_eq!(read("agent/memory.oom.group"), some("1"));
        assert_eq!(read("agent/pids.max"), some("7"));
        assert_eq!((read("agent/memory.high"), read("agent/cpu.weight")), (None, None));
        assert_eq!(read("launcher/cgroup.procs"), some("0"));
    }

    #[test]
    fn only_memory_kills_of_this_launch_count() {
        let (_unit, mut cgroup) = paper_unit();
        let events = cgroup.session.join("agent/memory.events");
        put(&events, "low 0\noom 5\noom_kill 1\noom_group_kill 0\n").unwrap();
        cgroup.enter(&Limits::default()).unwrap();
        assert!(!cgroup.ran_out_of_memory());
        put(&events, "low 0\noom 6\noom_kill 3\noom_group_kill 1\n").unwrap();
        assert!(cgroup.ran_out_of_memory());
    }

    #[test]
    fn the_unified_hierarchy_is_found_among_the_old_ones() {
        let hybrid = "\
            30 24 0:26 / /sys/fs/cgroup/pids rw shared:11 - cgroup cgroup rw,pids\n\
            31 24 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:12 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("30 24 0:26 / /x rw - cgroup cgroup rw,pids\n"), None);
    }
}
