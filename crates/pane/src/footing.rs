//! What only the parent of a process can arrange for it; where ours has not, we start again.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use signal_hook::consts::{SIGTTIN, SIGTTOU};

use crate::process;

/// How much of a big launch record (a prompt of 1 MB) the C library keeps after it was freed.
///
/// Left alone it raises this limit with each big block, and a launcher that waits for days holds
/// megabytes that it does not use (`a_waiting_launcher_does_not_keep_a_big_prompt_in_memory`).
/// There is no safe function for it, and it is read before `main`.
///
/// Whoever gives the launcher this variable saves it a start; its agent never sees it.
pub const MEMORY: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=131072");

/// Makes sure that background stops are ignored and memory is given back, by starting this
/// program again as `verb args` if need be; the process stays the same.
///
/// Only a process that ignores TTOU can take the terminal back from a group that is gone. tmux
/// ignores it for its panes (`a_pane_starts_with_ttou_ignored`); where it does not, a shell's
/// `trap` does.
///
/// # Errors
/// When the program cannot be started again.
pub(crate) fn ensure(verb: &str, args: &[OsString]) -> io::Result<()> {
    let ignored = process::ignored_signals();
    let steady = [SIGTTIN, SIGTTOU].iter().all(|signal| ignored.contains(signal));
    let thrifty = std::env::var_os(MEMORY.0).is_some();
    if steady && thrifty {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let mut again = Command::new(if steady { program.as_os_str() } else { OsStr::new("/bin/sh") });
    if !steady {
        again.args(["-c", "trap '' TTIN TTOU; exec \"$0\" \"$@\""]).arg(&program);
    }
    let error = again.arg(verb).args(args).env(MEMORY.0, MEMORY.1).exec();
    // Memory is a matter of thrift only.
    if steady { Ok(()) } else { Err(error) }
}
