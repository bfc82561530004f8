//! `assemble`: writes the generated NixOS module, or says how the committed one differs.
#![expect(clippy::print_stderr, reason = "what the program has done is told to people")]

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use agent_box_assemble::{COMMAND, MODULE, Sources, difference, render};
use anyhow::{Context as _, Result};
use clap::Parser;

/// Render nixos/agent-box.nix from crates/, nixos/templates/ and nixos/payload/.
#[derive(Parser)]
#[command(name = "assemble", version)]
struct Arguments {
    /// Write nothing; print how the committed file differs, and fail if it does.
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Write the module to standard output instead of its place.
    #[arg(long)]
    stdout: bool,
    /// The top of the repository.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
}

fn main() -> ExitCode {
    run(&Arguments::parse()).unwrap_or_else(|error| {
        eprintln!("assemble: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let rendered = render(&Sources::read(&arguments.repo)?)?;
    if arguments.stdout {
        io::stdout().write_all(rendered.as_bytes()).context("cannot write to standard output")?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = arguments.repo.join(MODULE);
    let committed = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {MODULE}")),
    };
    let Some(diff) = difference::unified(MODULE, &committed, &rendered) else {
        eprintln!("{MODULE} is up to date");
        return Ok(ExitCode::SUCCESS);
    };
    if arguments.check {
        // A closed pipe (`| head`) is no reason to hide the verdict.
        let _ = io::stdout().write_all(diff.as_bytes());
        eprintln!("{MODULE} is not what its sources make; run `{COMMAND}` and commit it");
        return Ok(ExitCode::FAILURE);
    }
    write(&path, &rendered).with_context(|| format!("cannot write {MODULE}"))?;
    eprintln!("wrote {MODULE}");
    Ok(ExitCode::SUCCESS)
}

#[expect(
    clippy::disallowed_methods,
    reason = "durability is version control's here, and the next run writes the same bytes"
)]
fn write(path: &PathBuf, text: &str) -> io::Result<()> {
    fs::write(path, text)
}
