//! What `/proc` says about processes: who they are, whose children, what they ignore.

use std::collections::HashMap;
use std::fs;
use std::io;

use agent_box_session::ProcessRef;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The fields of `/proc/PID/stat` that matter here.
struct Stat {
    parent: i32,
    start_time: u64,
}

fn stat(pid: i32) -> io::Result<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The program's name may hold spaces and parentheses; fields are counted after its end.
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let field = |n: usize| fields.get(n).copied().unwrap_or_default();
    match (field(1).parse(), field(19).parse()) {
        (Ok(parent), Ok(start_time)) => Ok(Stat { parent, start_time }),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat: {text:?}"))),
    }
}

/// A process as a record names it.
pub(crate) fn describe(pid: Pid) -> io::Result<ProcessRef> {
    let pid = pid.as_raw_nonzero().get();
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    Ok(ProcessRef { pid, start_time: stat(pid)?.start_time, boot_id })
}

/// The signals that this process ignores.
pub(crate) fn ignored_signals() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

/// Sends signals to every descendant of this process.
///
/// All of them are seen: this process is their subreaper, so none escapes to another parent.
pub(crate) fn signal_descendants(signals: &[Signal]) {
    let mut children: HashMap<i32, Vec<(i32, u64)>> = HashMap::new();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Ok(stat) = stat(pid) {
            children.entry(stat.parent).or_default().push((pid, stat.start_time));
        }
    }
    let mut parents = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        for (pid, start_time) in children.remove(&parent).unwrap_or_default() {
            parents.push(pid);
            signal_exactly(pid, start_time, signals);
        }
    }
}

/// Signals the process that had this pid and start time, and no other.
fn signal_exactly(pid: i32, start_time: u64, signals: &[Signal]) {
    let Some(pid_handle) = Pid::from_raw(pid) else { return };
    let Ok(handle) = pidfd_open(pid_handle, PidfdFlags::empty()) else { return };
    // The pid may have been reused between the scan and the handle; the handle itself
    // cannot change its process any more.
    if stat(pid).is_ok_and(|stat| stat.start_time == start_time) {
        for signal in signals {
            let _ = pidfd_send_signal(&handle, *signal);
        }
    }
}
