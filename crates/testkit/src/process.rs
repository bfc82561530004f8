//! Looks at processes of this host through /proc, always by pid.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;

use rustix::process::{Pid, Signal, kill_process};

/// What the kernel says of a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs, sleeps or is stopped.
    Alive,
    /// It ended and nobody waited for it yet.
    Zombie,
    /// There is no such process.
    Gone,
}

/// The state of a process.
pub fn state(pid: i32) -> State {
    match stat(pid).map(|fields| fields[0].clone()).as_deref() {
        None => State::Gone,
        Some("Z" | "X") => State::Zombie,
        Some(_) => State::Alive,
    }
}

/// Whether a process is there and not a zombie.
pub fn is_alive(pid: i32) -> bool {
    state(pid) == State::Alive
}

/// Whether it is stopped (Ctrl-Z, SIGSTOP).
pub fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] == "T")
}

/// The parent, or `None` for a process that is gone.
pub fn parent(pid: i32) -> Option<i32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// The process group.
pub fn group(pid: i32) -> Option<i32> {
    stat(pid)?.get(2)?.parse().ok()
}

/// The start time in clock ticks since boot: with the pid, a process's identity.
pub fn start_time(pid: i32) -> Option<u64> {
    stat(pid)?.get(19)?.parse().ok()
}

/// Direct children, zombies included.
pub fn children(pid: i32) -> Vec<i32> {
    all().into_iter().filter(|&child| parent(child) == Some(pid)).collect()
}

/// The argument words; empty for a zombie or a process that is gone.
pub fn arguments(pid: i32) -> Vec<OsString> {
    words(pid, "cmdline")
}

/// The environment at its start as `KEY=value` words; empty if it cannot be read.
pub fn environment(pid: i32) -> Vec<OsString> {
    words(pid, "environ")
}

/// One variable of a process's environment.
pub fn variable(pid: i32, key: &str) -> Option<String> {
    let prefix = format!("{key}=");
    environment(pid)
        .iter()
        .find_map(|word| word.to_string_lossy().strip_prefix(prefix.as_str()).map(str::to_owned))
}

/// The living processes whose environment holds exactly `key=value`.
pub fn with_variable(key: &str, value: &str) -> Vec<i32> {
    let wanted = OsString::from(format!("{key}={value}"));
    all().into_iter().filter(|&pid| is_alive(pid) && environment(pid).contains(&wanted)).collect()
}

/// Resident memory in KiB.
pub fn resident_kib(pid: i32) -> Option<u64> {
    status_field(&pid.to_string(), "VmRSS")?.split_whitespace().next()?.parse().ok()
}

/// A field of `/proc/PID/status`; `who` may be `self`.
pub(crate) fn status_field(who: &str, field: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{who}/status")).ok()?;
    status.lines().find_map(|line| {
        line.strip_prefix(field)?.strip_prefix(':').map(|value| value.trim().to_owned())
    })
}

/// Sends a signal; a process that is gone is no error.
pub fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 1) {
        let _ = kill_process(pid, signal);
    }
}

/// Every pid.
fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The fields of `/proc/PID/stat` from the state on (the name before it can hold anything).
fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<String> = after_name.split_whitespace().map(str::to_owned).collect();
    (!fields.is_empty()).then_some(fields)
}

fn words(pid: i32, file: &str) -> Vec<OsString> {
    let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}
