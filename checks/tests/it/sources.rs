//! The repository's text files as the checks read them.

use std::fs;
use std::path::{Path, PathBuf};

/// One text file.
pub(crate) struct Source {
    /// Relative to the repository, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

impl Source {
    /// Whether it holds tests or serves them only.
    pub(crate) fn is_test(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.contains(&"tests")
            || parts.contains(&"benches")
            || self.path.ends_with("/tests.rs")
            || self.path.starts_with("crates/testkit/")
            || self.path.starts_with("checks/")
    }

    /// Its lines with numbers from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A file at the top of the repository.
pub(crate) fn top(name: &str) -> String {
    let path = root().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files of the workspace's crates, and the single files at the top, that end so.
pub(crate) fn sources(ending: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["crates", "checks", "assemble"] {
        let folder = root().join(folder);
        if folder.is_dir() {
            collect(&folder, ending, &mut found);
        }
    }
    for entry in fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.to_str().unwrap().ends_with(ending) {
            found.push(source(&path));
        }
    }
    assert!(!found.is_empty(), "no file ends with {ending}");
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["target", "fixtures", "golden"].contains(&name) {
            collect(&path, ending, found);
        } else if path.is_file() && name.ends_with(ending) {
            found.push(source(&path));
        }
    }
}

fn source(path: &Path) -> Source {
    let relative = path.strip_prefix(root()).unwrap();
    Source {
        path: relative.to_str().unwrap().to_owned(),
        text: fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    }
}

/// Fails with every finding at once.
pub(crate) fn none(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}
