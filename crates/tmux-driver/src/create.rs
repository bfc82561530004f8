//! Create-if-absent and tag, in one server turn.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Access, access};

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::tag::Tags;
use crate::target::{Name, SessionTarget, TmuxId};

/// What [`Tmux::create`] is asked for.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// The name, which must be free.
    pub name: &'a Name,
    /// Written in the same server turn, so that no session of ours is ever seen untagged.
    pub tags: &'a Tags,
    /// Where the program starts.
    pub directory: &'a Path,
    /// The program and its arguments; no shell reads them.
    pub command: &'a [OsString],
    /// Added to the server's environment for this session.
    pub environment: &'a [(OsString, OsString)],
    /// Columns and rows until somebody attaches.
    pub size: (u16, u16),
}

/// A session that now exists (its program may have ended already).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// tmux's id of the session.
    pub session: TmuxId,
    /// The process in its pane.
    pub pane_pid: u32,
}

impl Tmux {
    /// Creates and tags a session, or changes nothing.
    ///
    /// Success does not say that the program could be executed: tmux reports a missing program
    /// as a pane that ended with status 1.
    ///
    /// # Errors
    /// [`TmuxError::Duplicate`] when the name is taken; [`TmuxError::TimedOut`] when it is unknown
    /// whether the session exists or will; otherwise nothing was created.
    pub fn create(&self, new: &NewSession<'_>) -> Result<Created, TmuxError> {
        const NEW: &str = "new-session";
        let target = SessionTarget::Name(new.name.clone());
        let (columns, rows) = new.size;
        let mut commands = Commands::new(NEW);
        commands.args(["-d", "-s", new.name.as_str()]);
        commands.args(["-x", &columns.to_string(), "-y", &rows.to_string()]);
        commands.args(["-P", "-F", "#{session_id} #{pane_pid}"]);
        for (name, value) in new.environment {
            commands.args([OsStr::new("-e"), &assignment(NEW, name, value)?]);
        }
        commands.args(["--"]).args(direct(NEW, new.command)?);
        new.tags.set(&mut commands, &target)?;
        check_directory(new.directory)?;
        let answer = self.call_starting(&commands, new.directory).map_err(|error| {
            // The client's start also fails when its directory went away just now.
            match error {
                TmuxError::NotRunnable { .. } => {
                    check_directory(new.directory).err().unwrap_or(error)
                }
                error => error,
            }
        })?;
        parse(&answer).ok_or_else(|| TmuxError::Other {
            command: NEW,
            message: format!("unexpected answer {:?}", String::from_utf8_lossy(&answer)),
        })
    }
}

fn parse(answer: &[u8]) -> Option<Created> {
    let (session, pid) = std::str::from_utf8(answer).ok()?.trim_end().split_once(' ')?;
    Some(Created { session: TmuxId::new(session).ok()?, pane_pid: pid.parse().ok()? })
}

/// The directory goes to tmux as the client's own: the argument `-c` is expanded as a format,
/// which runs `#(command)`, and tmux silently starts elsewhere when it cannot enter it.
fn check_directory(directory: &Path) -> Result<(), TmuxError> {
    let enterable = || -> io::Result<()> {
        if !fs::metadata(directory)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(access(directory, Access::EXEC_OK)?)
    };
    enterable().map_err(|source| TmuxError::Directory { directory: directory.to_owned(), source })
}

/// `NAME=value`; tmux silently ignores an argument without `=`.
fn assignment(command: &'static str, name: &OsStr, value: &OsStr) -> Result<OsString, TmuxError> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        let argument = name.to_string_lossy().into_owned();
        let reason = "it is no name of a variable";
        return Err(TmuxError::Unfit { command, argument, reason });
    }
    let mut assignment = name.to_owned();
    assignment.push("=");
    assignment.push(value);
    Ok(assignment)
}

/// tmux executes two or more words itself but hands a single one to the user's shell.
fn direct(command: &'static str, words: &[OsString]) -> Result<Vec<OsString>, TmuxError> {
    match words {
        [] => Err(TmuxError::Unfit {
            command,
            argument: String::new(),
            reason: "there is no program to run",
        }),
        [program] if program.as_bytes().contains(&b'=') => Err(TmuxError::Unfit {
            command,
            argument: program.to_string_lossy().into_owned(),
            reason: "a lone program with = in its name needs an argument",
        }),
        [program] => Ok(vec!["/usr/bin/env".into(), "--".into(), program.clone()]),
        words => Ok(words.to_vec()),
    }
}
