//! Development commands: `bench` prints the budgets of the architecture as measured here.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program's output is its purpose"
)]

mod bench;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    if arguments.first().map(String::as_str) != Some("bench") || flag("--help") {
        eprintln!(
            "usage: agent-box-checks bench [--quick] [--json]\n\n\
             Measures the release build against the budgets (a quiet machine, a few minutes).\n\
             --quick  fewer repetitions, ten idle seconds instead of sixty\n\
             --json   one JSON document instead of a table"
        );
        return ExitCode::from(2);
    }
    match bench::run(flag("--quick"), flag("--json")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
