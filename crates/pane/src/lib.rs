//! The launcher in each pane: gate, agent, exit report, post-mortem.
//!
//! Owns: the last check before an agent starts, the agent's environment and control group, its
//! life as the foreground child of a terminal, the sorting and reporting of its end, and what a
//! person sees in the pane afterwards. Refuses to decide about respawn, and knows no agent's
//! flags: the launch record says what runs.
//!
//! ```no_run
//! # use std::process::ExitCode;
//! let args: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
//! let code: ExitCode = match args.split_first() {
//!     Some((verb, rest)) if verb == "pane" => agent_box_pane::launch(rest),
//!     Some((verb, rest)) if verb == "pane-exec" => agent_box_pane::exec(rest),
//!     _ => ExitCode::from(2),
//! };
//! ```
//!
//! **Invariants**
//! - Nothing starts unless the gate was passed under the registry lock and `starting` is durable
//!   (`of_two_launchers_of_one_record_one_starts`,
//!   `a_launcher_killed_inside_the_gate_has_changed_nothing`).
//! - The lifetime lock is held from there until the end is durable
//!   (`the_end_is_on_record_before_the_lifetime_lock_is_free`).
//! - An agent never outlives its launcher: the kernel kills it, whatever it ignores
//!   (`a_killed_launcher_takes_a_deaf_agent_along`).
//! - An agent sees the variables of its record, its terminal, the env file and its launch id
//!   (`nothing_of_the_tmux_server_s_environment_reaches_the_agent`).
//! - No process of a launch is left when its end is on record, unless the kernel cannot kill it
//!   (`nothing_that_an_agent_left_behind_outlives_it`).

mod cgroup;
mod clock;
mod environment;
mod footing;
mod gate;
mod last_words;
mod launcher;
mod place;
mod post_mortem;
mod process;
mod report;
mod signals;
mod terminal;
mod trampoline;
mod watch;

pub use footing::MEMORY;

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the launcher: `agent-box pane RECORD LAUNCH` with the two words in `args`.
///
/// The process must be the one that tmux started in the pane, and must do nothing else: signal
/// handlers, children and the terminal become the launcher's. Exits with 0 also when the start
/// is not wanted any more, so that nothing looks failed; with 1 when that could not be found out.
pub fn launch(args: &[OsString]) -> ExitCode {
    launcher::launch(args)
}

/// Waits for its launcher's word and becomes the agent: `agent-box pane-exec ARGV…`.
///
/// Only a launcher starts this; stdin is its socket, and directory and environment are the
/// agent's already.
pub fn exec(argv: &[OsString]) -> ExitCode {
    trampoline::become_agent(argv)
}

/// An error with its causes, on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += ": ";
        text += &cause.to_string();
        source = cause.source();
    }
    text
}
