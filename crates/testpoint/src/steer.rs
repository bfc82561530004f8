//! How a test steers the points of another process: by files in one directory.
//!
//! `AGENT_BOX_TESTPOINTS=DIR` turns it on. For the point `store.before-rename` the file
//! `DIR/store.before-rename` holds one word: `pause`, `kill`, `fail` or `count`.
//! - `pause`: the process creates `DIR/store.before-rename.at.PID` and waits until the command
//!   file or that marker is removed.
//! - `kill`: the process ends itself by SIGKILL, as the kernel would.
//! - `fail`: [`check`] returns an I/O error (`hit` ignores it).
//! - `count`: one line is appended to `DIR/store.before-rename.log`.
//!
//! `pause-once` and `kill-once` remove the command file first, so that only the first process
//! that arrives obeys. A directory's `seen` file collects every point's name that was passed
//! while `DIR/seen` exists (a test lists the registered points that way).

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

fn directory() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this crate is the one reader of its variable")]
    std::env::var("AGENT_BOX_TESTPOINTS").ok().map(PathBuf::from)
}

/// The directory is handed on to child processes whose environment is built from a list.
pub const VARIABLE: &str = "AGENT_BOX_TESTPOINTS";

/// See [`crate::hit`].
pub fn hit(name: &str) {
    let _ = check(name);
}

/// See [`crate::check`].
///
/// # Errors
/// When the command file says `fail`.
pub fn check(name: &str) -> io::Result<()> {
    let Some(dir) = directory() else { return Ok(()) };
    let seen = dir.join("seen");
    if seen.exists() {
        append(&seen, name);
    }
    let command_file = dir.join(name);
    let Ok(command) = fs::read_to_string(&command_file) else { return Ok(()) };
    let command = command.trim();
    if let Some(once) = command.strip_suffix("-once") {
        // Only one process wins the removal; the others pass.
        if fs::remove_file(&command_file).is_err() {
            return Ok(());
        }
        return act(name, once, &dir, None);
    }
    act(name, command, &dir, Some(&command_file))
}

fn act(
    name: &str,
    command: &str,
    dir: &std::path::Path,
    armed: Option<&std::path::Path>,
) -> io::Result<()> {
    match command {
        "pause" => {
            let marker = dir.join(format!("{name}.at.{}", std::process::id()));
            let _ = OpenOptions::new().create(true).append(true).open(&marker);
            while marker.exists() && armed.is_none_or(std::path::Path::exists) {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a test's pause is a wait for a file"
                )]
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = fs::remove_file(&marker);
            Ok(())
        }
        "kill" => {
            // No destructor, no flush: what a SIGKILL by the kernel looks like.
            let pid = std::process::id().to_string();
            let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
            std::process::abort()
        }
        "fail" => Err(io::Error::other(format!("fault injected at {name}"))),
        "count" => {
            append(&dir.join(format!("{name}.log")), "hit");
            Ok(())
        }
        _ => Ok(()),
    }
}

fn append(path: &std::path::Path, line: &str) {
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
