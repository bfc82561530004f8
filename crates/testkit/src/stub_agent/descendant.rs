//! Processes that an agent leaves behind: a plain child, and one that hides from its terminal.
//!
//! They are this program again, under a name that says which; a fork without exec would need
//! unsafe code. Each says `ready` on its stdout once it is what it should be, so that the agent
//! never goes on before its descendants are in place.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::leave;
use super::ledger::Ledger;
use crate::clock;

/// The name that a descendant is called by starts with this.
pub(super) const PREFIX: &str = "stub-descendant-";

/// No test is this long; what a killed test run forgot ends by itself.
pub(super) const LIFE: Duration = Duration::from_mins(10);

/// Starts the descendants that are asked for and notes their pids.
pub(super) fn leave_behind(child: bool, setsid: bool, ledger: &Ledger) {
    for role in [child.then_some("child"), setsid.then_some("double")].into_iter().flatten() {
        let started = again(role).stdout(Stdio::piped()).spawn();
        let Ok(mut started) = started else { continue };
        let mut line = String::new();
        if let Some(out) = started.stdout.take() {
            let _ = BufReader::new(out).read_line(&mut line);
        }
        if role == "double" {
            let _ = started.wait();
        }
        ledger.descendant(role, line.trim().parse().unwrap_or(0));
    }
}

/// The descendant's own program.
pub(super) fn run(role: &str) {
    match role {
        "double" => {
            // The middle process: its child outlives it and so belongs to init or a subreaper.
            let _ = again("setsid").stdout(Stdio::inherit()).spawn();
            return;
        }
        "setsid" => {
            let _ = rustix::process::setsid();
            let heard = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            for signal in [signal_hook::consts::SIGHUP, signal_hook::consts::SIGTERM] {
                let _ = signal_hook::flag::register(signal, heard.clone());
            }
        }
        _ => {}
    }
    leave::say(&std::process::id().to_string());
    clock::pause(LIFE);
}

fn again(role: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(format!("{PREFIX}{role}")).stdin(Stdio::null()).stderr(Stdio::null());
    command
}
