//! The session's directory: checked before anything is written for a launch.
//!
//! The pane checks once more when it starts (the directory can go at any time); this check
//! exists so that a person reads what is wrong instead of finding the agent elsewhere.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::PrepareError;

/// Where the agent will run.
#[derive(Debug)]
pub(crate) struct Directory {
    /// As the entry spells it.
    pub(crate) text: String,
    /// As the agent sees it: without symlinks.
    pub(crate) real: PathBuf,
}

impl Directory {
    /// Checks the entry's directory; without one it is the home.
    pub(crate) fn check(wanted: Option<&str>, home: &Path) -> Result<Self, PrepareError> {
        let text = match wanted {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => home.to_string_lossy().into_owned(),
        };
        let path = PathBuf::from(&text);
        let bad = |reason, source| {
            Err(PrepareError::BadDirectory { directory: path.clone(), reason, source })
        };
        if !path.is_absolute() {
            return bad("is not absolute; give the whole path", None);
        }
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(source) => return bad(reason(&source), Some(source)),
        };
        match real.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return bad("is not a directory; give one", None),
            Err(source) => return bad(reason(&source), Some(source)),
        }
        if let Err(errno) = access(&real, Access::EXEC_OK) {
            return bad(
                "cannot be entered; change its mode or give another one",
                Some(errno.into()),
            );
        }
        Ok(Self { text, real })
    }
}

fn reason(error: &io::Error) -> &'static str {
    let is = |errno: rustix::io::Errno| error.raw_os_error() == Some(errno.raw_os_error());
    if is(rustix::io::Errno::NOENT) {
        "does not exist; make it or give another one"
    } else if is(rustix::io::Errno::LOOP) {
        "is a loop of symlinks; mend the link or give another one"
    } else if is(rustix::io::Errno::NOTDIR) {
        "is not a directory; give one"
    } else if is(rustix::io::Errno::ACCESS) {
        "cannot be entered; change its mode or give another one"
    } else {
        "cannot be looked at; give another one"
    }
}
