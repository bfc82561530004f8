//! Ending one launch: every process of it, whatever it ignores and wherever it hid.
//!
//! ```text
//!  1  TERM to the launcher           it learns that the end was asked for
//!  2  HUP+CONT, TERM to the rest     polite agents end here
//!  3  grace time
//!  4  cgroup.kill, KILL to the rest  until two scans in a row are empty
//!  5  the launcher                   may write its report, then KILL
//!  6  the terminal                   only if it still carries this launch
//! ```
//! The rest: the launcher's descendants (it is their subreaper), everything in its kernel
//! session, everything that carries the launch id in its environment, everything in its cgroup.
//! Signals go through pidfds, so a reused number is never hit. A stopped or hung launcher is no
//! obstacle, and neither is a tmux that does not answer: only step 6 needs it.
//!
//! Known limit, without a cgroup: a descendant that scrubbed its environment after the launcher
//! was killed with -9 has no tie left and cannot be found.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use agent_box_session::{LaunchId, LaunchRecord};
use agent_box_testpoint as testpoint;
use agent_box_tmux_driver::{SessionTarget, Tag, Tmux};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use thiserror::Error;

use crate::clock::Deadline;
use crate::process::{Handle, Scan, is_alive, is_launcher, launch_mark, own_line};

/// The launch to be ended.
#[derive(Clone, Debug)]
pub struct Target {
    /// The launch; what carries another id is never touched.
    pub launch: LaunchId,
    /// Its record, if it is still the one on record.
    pub record: Option<LaunchRecord>,
    /// Its terminal, if it may have one; only touched while it carries this launch.
    pub terminal: Option<SessionTarget>,
}

/// Why a launch is not ended.
#[derive(Debug, Error)]
pub enum EndError {
    /// These processes survived even KILL (they hang in the kernel), or belong to somebody else.
    #[error("could not end {}; look at them with `ps -fp {}`", describe(left), numbers(left))]
    Left {
        /// Number and name of each.
        left: Vec<(i32, String)>,
    },
    /// The caller is part of what it wants to end.
    #[error("this command runs inside the session itself")]
    Inside,
}

fn describe(left: &[(i32, String)]) -> String {
    left.iter().map(|(pid, comm)| format!("{comm} ({pid})")).collect::<Vec<_>>().join(", ")
}

fn numbers(left: &[(i32, String)]) -> String {
    left.iter().map(|(pid, _)| pid.to_string()).collect::<Vec<_>>().join(",")
}

/// How long the launcher may take to write its report after its agent is gone.
const REPORT: Duration = Duration::from_millis(400);
/// How long KILL may take.
const KILL: Duration = Duration::from_secs(3);

/// The processes of a launch at one moment.
#[derive(Debug, Default)]
struct Members {
    launchers: BTreeSet<i32>,
    others: BTreeSet<i32>,
    /// Whether the scan can have missed nobody.
    certain: bool,
}

/// Scans without a member that prove the end of all of them, and those that have to do where
/// others come and go all the time. The launcher sees its descendants end; one scan is no proof,
/// because a process may be between fork and the scan's line.
const EMPTY_SCANS: u32 = 2;
const UNCERTAIN_SCANS: u32 = 6;

/// Whether the calling process is part of this launch.
pub fn is_inside(target: &Target) -> bool {
    let line = own_line();
    line.iter().any(|pid| launch_mark(*pid) == Some(target.launch))
}

/// Ends a launch; returns once nothing of it runs.
///
/// # Errors
/// When something survived.
pub fn end_launch(tmux: &Tmux, target: &Target, grace: Duration) -> Result<(), EndError> {
    let seen = members(target, false);
    if !seen.launchers.is_empty() || !seen.others.is_empty() {
        end_processes(target, seen, grace)?;
    }
    testpoint::hit("ending.before-terminal");
    if let Some(terminal) = &target.terminal {
        // Processes are gone; a terminal that tmux cannot drop now is reaped at the next pass.
        let launch = target.launch.to_string();
        let _ = tmux.kill_session(terminal, Some((Tag::Launch, &launch)));
    }
    Ok(())
}

fn end_processes(target: &Target, first: Members, grace: Duration) -> Result<(), EndError> {
    let launchers: Vec<Handle> = open(&first.launchers);
    for launcher in &launchers {
        launcher.signal(Signal::TERM);
    }
    testpoint::hit("ending.after-term");
    let mut told: BTreeSet<(i32, u64)> = BTreeSet::new();
    let grace = Deadline::after(grace);
    let mut scan = first;
    let (mut certain_scans, mut uncertain_scans) = (0, 0);
    let mut kill_deadline = None;
    loop {
        let handles = open(&scan.others);
        // A member that is gone before it can be opened may have forked the next one.
        if !scan.others.is_empty() {
            (certain_scans, uncertain_scans) = (0, 0);
        } else if scan.certain {
            certain_scans += 1;
        } else {
            uncertain_scans += 1;
        }
        if certain_scans >= EMPTY_SCANS || uncertain_scans >= UNCERTAIN_SCANS {
            break;
        }
        let kill = grace.has_passed();
        if kill {
            let deadline = *kill_deadline.get_or_insert_with(|| Deadline::after(KILL));
            if deadline.has_passed() {
                return Err(EndError::Left { left: named(&scan.others, &handles) });
            }
            kill_cgroup(target);
        }
        for handle in &handles {
            if kill {
                handle.signal(Signal::KILL);
            } else if told.insert((handle.stat.pid, handle.stat.start_time)) {
                handle.signal(Signal::HUP);
                handle.signal(Signal::CONT);
                handle.signal(Signal::TERM);
            }
        }
        if !handles.is_empty() {
            let patience = if kill { Duration::from_millis(50) } else { grace.left() };
            wait_for_any(&handles, patience.min(Duration::from_millis(100)));
        }
        scan = members(target, kill);
    }
    end_launchers(target, launchers)
}

/// Ends what watched the agent: it may write its report first.
fn end_launchers(target: &Target, mut launchers: Vec<Handle>) -> Result<(), EndError> {
    let report = Deadline::after(REPORT);
    while !report.has_passed() && launchers.iter().any(|it| !has_ended(it)) {
        let waiting: Vec<&Handle> = launchers.iter().filter(|it| !has_ended(it)).collect();
        wait_for_any_of(&waiting, report.left());
    }
    let deadline = Deadline::after(KILL);
    loop {
        // Again everything: a launcher that was stopped may have forked before it was killed.
        let seen = members(target, true);
        launchers.extend(open(&seen.launchers));
        launchers.extend(open(&seen.others));
        launchers.retain(|it| !has_ended(it));
        if launchers.is_empty() && seen.others.is_empty() {
            return Ok(());
        }
        if deadline.has_passed() {
            return Err(EndError::Left { left: named(&seen.others, &launchers) });
        }
        kill_cgroup(target);
        for launcher in &launchers {
            launcher.signal(Signal::KILL);
        }
        wait_for_any(&launchers, Duration::from_millis(50));
    }
}

/// Looks for the processes of a launch. With `kill`, what carries its mark and is no launcher is
/// killed in passing: what forks and exits all the time would be gone when the scan is complete.
fn members(target: &Target, kill: bool) -> Members {
    let own_line = own_line();
    let scan = Scan::with_each(|stat, mark| {
        if kill
            && mark == Some(target.launch)
            && !own_line.contains(&stat.pid)
            && !is_launcher(stat.pid, target.launch)
            && let Some(handle) = Handle::open(stat)
        {
            handle.signal(Signal::KILL);
        }
    });
    let mut members = Members { certain: scan.is_settled(), ..Members::default() };
    let marked = scan.all().filter(|stat| scan.mark(stat.pid) == Some(target.launch));
    let mut all: BTreeSet<i32> = marked.map(|stat| stat.pid).collect();
    let recorded = target
        .record
        .as_ref()
        .filter(|record| record.launch == target.launch)
        .and_then(LaunchRecord::launcher)
        .filter(|launcher| is_alive(launcher));
    if let Some(launcher) = recorded {
        // Of an adopted terminal this is whatever its own starter put into the pane.
        all.insert(launcher.pid);
        all.extend(scan.kernel_session(launcher.pid));
    }
    let launchers: BTreeSet<i32> =
        all.iter().copied().filter(|pid| is_launcher(*pid, target.launch)).collect();
    for launcher in &launchers {
        all.extend(scan.descendants(*launcher));
        all.extend(scan.kernel_session(*launcher));
    }
    all.extend(cgroup_members(target));
    // A member's descendants are members too, wherever they hid.
    for pid in all.clone() {
        all.extend(scan.descendants(pid));
    }
    // INVARIANT: whoever calls this is not ended by it
    // (`a_session_can_remove_stop_and_restart_itself`).
    for pid in own_line {
        all.remove(&pid);
    }
    members.others = all.difference(&launchers).copied().collect();
    members.launchers = launchers;
    members
}

fn cgroup_members(target: &Target) -> Vec<i32> {
    let Some(cgroup) = cgroup(target) else { return Vec::new() };
    ["agent", "launcher", "."]
        .iter()
        .filter_map(|part| {
            fs::read_to_string(Path::new(cgroup).join(part).join("cgroup.procs")).ok()
        })
        .flat_map(|text| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

fn kill_cgroup(target: &Target) {
    if let Some(cgroup) = cgroup(target) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a kernel file: there is nothing to make durable"
        )]
        let _ = fs::write(Path::new(cgroup).join("agent/cgroup.kill"), "1");
    }
}

fn cgroup(target: &Target) -> Option<&str> {
    target.record.as_ref().filter(|it| it.launch == target.launch)?.cgroup.as_deref()
}

fn open(pids: &BTreeSet<i32>) -> Vec<Handle> {
    pids.iter()
        .filter_map(|pid| crate::process::Stat::read(*pid))
        .filter(crate::process::Stat::is_alive)
        .filter_map(|stat| Handle::open(&stat))
        .collect()
}

/// What is left, by number and name; of what was gone too soon only the number is known.
fn named(members: &BTreeSet<i32>, handles: &[Handle]) -> Vec<(i32, String)> {
    let known = handles.iter().map(|it| (it.stat.pid, it.stat.comm.clone()));
    let mut left: std::collections::BTreeMap<i32, String> =
        members.iter().map(|pid| (*pid, "a process that forks and exits".to_owned())).collect();
    left.extend(known);
    left.into_iter().collect()
}

fn has_ended(handle: &Handle) -> bool {
    let mut fds = [PollFd::new(handle.fd(), PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

fn wait_for_any(handles: &[Handle], patience: Duration) {
    wait_for_any_of(&handles.iter().collect::<Vec<_>>(), patience);
}

/// Waits until one of them has ended, at most `patience`.
fn wait_for_any_of(handles: &[&Handle], patience: Duration) {
    let mut fds: Vec<_> = handles.iter().map(|it| PollFd::new(it.fd(), PollFlags::IN)).collect();
    let timeout = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    let _ = poll(&mut fds, Some(&timeout));
}
