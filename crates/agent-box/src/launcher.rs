//! The launcher as a program of its own: what stays resident in every pane.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.split_first() {
        Some((verb, rest)) if verb == "pane" => agent_box_pane::launch(rest),
        Some((verb, rest)) if verb == "pane-exec" => agent_box_pane::exec(rest),
        _ => ExitCode::from(2),
    }
}
