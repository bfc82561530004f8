//! One tmux command list as argv: the escaping of `;` and the size limit.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::error::TmuxError;

/// What one message to the server can hold: its 16384 bytes less header and count
/// (pinned by `a_command_of_exactly_the_limit_is_taken`).
const ARGV_LIMIT: usize = 16364;

/// Commands that the server runs in one turn, each only if the one before it succeeded.
#[derive(Debug)]
pub(crate) struct Commands {
    name: &'static str,
    argv: Vec<OsString>,
}

impl Commands {
    /// A list that starts with `command` and goes by its name in errors.
    pub(crate) fn new(command: &'static str) -> Self {
        Self::named(command, command)
    }

    /// A list that starts with `command` but goes by another name in errors.
    pub(crate) fn named(name: &'static str, command: &'static str) -> Self {
        Self { name, argv: vec![command.into()] }
    }

    /// Appends a further command.
    pub(crate) fn then(&mut self, command: &'static str) -> &mut Self {
        self.argv.extend([";".into(), command.into()]);
        self
    }

    /// Appends one argument of the last command, which arrives as it is.
    pub(crate) fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.args([arg])
    }

    /// Appends arguments of the last command, which arrive as they are.
    pub(crate) fn args<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) -> &mut Self {
        self.argv.extend(args.into_iter().map(|arg| escape(arg.as_ref())));
        self
    }

    /// What errors call this list.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The argv to send.
    ///
    /// # Errors
    /// When tmux would not take it: too long, or with a NUL.
    pub(crate) fn argv(&self) -> Result<&[OsString], TmuxError> {
        let size = self.argv.iter().map(|arg| arg.len() + 1).sum();
        if size > ARGV_LIMIT {
            return Err(TmuxError::TooLong { command: self.name, size, limit: ARGV_LIMIT });
        }
        if let Some(arg) = self.argv.iter().find(|arg| arg.as_bytes().contains(&0)) {
            // A value may be secret, so only what stands before a `=` is shown.
            let shown = arg.to_string_lossy();
            let argument = shown.split('=').next().unwrap_or_default().to_owned();
            let reason = "it holds a NUL byte";
            return Err(TmuxError::Unfit { command: self.name, argument, reason });
        }
        Ok(&self.argv)
    }
}

/// tmux ends a command at an argument whose last byte is `;`, unless a backslash precedes it.
fn escape(arg: &OsStr) -> OsString {
    match arg.as_bytes().split_last() {
        Some((b';', rest)) => OsString::from_vec([rest, b"\\;"].concat()),
        _ => arg.to_owned(),
    }
}
