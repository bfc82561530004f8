//! The launcher as a program of its own: `pane pane RECORD LAUNCH` and `pane pane-exec ARGV…`.
//!
//! The shipped binary dispatches these two verbs the same way before it parses anything; the
//! integration tests run this one, so that they need no other crate.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first() {
        Some((verb, rest)) if verb == "pane" => agent_box_pane::launch(rest),
        Some((verb, rest)) if verb == "pane-exec" => agent_box_pane::exec(rest),
        _ => ExitCode::from(2),
    }
}
