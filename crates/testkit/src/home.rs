//! A temporary home, and the end of everything that runs in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::supervisor::eprint;
use crate::{clock, files, process};

/// A directory under `/tmp` that processes are given as `HOME`.
///
/// Dropping it kills each of them and removes it; after a panic it stays and its path is printed.
#[derive(Debug)]
pub(crate) struct Home {
    directory: Option<TempDir>,
    path: PathBuf,
}

impl Home {
    /// A new one with these directories in it.
    pub(crate) fn new(directories: &[&str]) -> Self {
        // Short, since a socket's path has at most 107 bytes.
        let home = tempfile::Builder::new().prefix("ab-").tempdir_in("/tmp");
        let home = home.expect("make a temporary home");
        for directory in directories {
            std::fs::create_dir(home.path().join(directory)).expect("make a directory of the home");
        }
        Self { path: home.path().to_path_buf(), directory: Some(home) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces a file, by its path below the home.
    #[track_caller]
    pub(crate) fn put(&self, path: impl AsRef<Path>, content: &str) {
        files::put(&self.path.join(path), content).expect("write a file of the home");
    }

    /// Every living process whose environment names this home.
    pub(crate) fn processes(&self) -> Vec<i32> {
        process::with_variable("HOME", &self.path.to_string_lossy())
    }

    fn kill_all(&self) {
        // A process can fork between the look and the kill, so look until nothing is left.
        for _ in 0..400 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            for pid in left {
                process::send(pid, Signal::KILL);
            }
            clock::pause(Duration::from_millis(5));
        }
        eprint(&format!("processes of {} do not die", self.path.display()));
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.kill_all();
        if std::thread::panicking()
            && let Some(directory) = self.directory.take()
        {
            eprint(&format!("the home is kept: {}", directory.keep().display()));
        }
    }
}
