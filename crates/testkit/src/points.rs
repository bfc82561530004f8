//! Steering the named points of a program under test, by files in one directory.
//!
//! The protocol is that of the crate `testpoint`, built with its feature `enabled`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files;
use crate::wait::within;

/// The directory that steers the points of every program of a box.
#[derive(Clone, Debug)]
pub struct TestPoints {
    directory: PathBuf,
}

impl TestPoints {
    /// The variable that names the directory to the programs.
    pub const VARIABLE: &'static str = "AGENT_BOX_TESTPOINTS";

    /// A directory of its own, for the one command whose [`TestPoints::VARIABLE`] names it.
    pub fn new(directory: PathBuf) -> Self {
        fs::create_dir_all(&directory).expect("make the directory of the test points");
        Self { directory }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Arms a point: `pause`, `kill`, `fail`, `count`, `pause-once` or `kill-once`.
    pub fn arm(&self, point: &str, command: &str) {
        files::put(&self.directory.join(point), command).expect("arm a test point");
    }

    /// Lets a paused process go on and later ones pass.
    pub fn release(&self, point: &str) {
        let _ = fs::remove_file(self.directory.join(point));
        for pid in self.waiting(point) {
            let _ = fs::remove_file(self.directory.join(format!("{point}.at.{pid}")));
        }
    }

    /// Waits until a process is paused at the point, and returns its pid.
    #[track_caller]
    pub fn wait_reached(&self, point: &str) -> i32 {
        within(15).for_some(&format!("a process paused at {point}"), || {
            self.waiting(point).first().copied()
        })
    }

    /// Waits until the command of a `-once` point was taken.
    #[track_caller]
    pub fn wait_taken(&self, point: &str) {
        let armed = self.directory.join(point);
        within(15).until(&format!("{point} taken"), || !armed.exists());
    }

    /// The living processes that are paused at a point.
    pub fn waiting(&self, point: &str) -> Vec<i32> {
        let prefix = format!("{point}.at.");
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name());
        let pids = names.filter_map(|name| name.to_str()?.strip_prefix(&prefix)?.parse().ok());
        pids.filter(|&pid| crate::process::is_alive(pid)).collect()
    }

    /// How often a point armed with `count` was passed.
    pub fn count(&self, point: &str) -> usize {
        let log = fs::read_to_string(self.directory.join(format!("{point}.log")));
        log.unwrap_or_default().lines().count()
    }

    /// From now on the names of passed points are collected.
    pub fn collect(&self) {
        files::put(&self.directory.join("seen"), "").expect("make the list of seen points");
    }

    /// The names collected so far, each once.
    pub fn collected(&self) -> Vec<String> {
        let seen = fs::read_to_string(self.directory.join("seen")).unwrap_or_default();
        let mut names: Vec<String> = seen.lines().map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}
