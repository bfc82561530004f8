//! The files of the repository that the generated module is made of, read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

/// Where the generated module lies in the repository.
pub const MODULE: &str = "nixos/agent-box.nix";

/// Texts by their path in the repository, with `/` between the parts.
#[derive(Clone, Debug, Default)]
pub struct Sources(BTreeMap<String, String>);

/// A file or directory could not be read.
#[derive(Debug, Error)]
#[error("cannot read {}; run this at the top of a clone, or name one by --repo", path.display())]
pub struct ReadError {
    path: PathBuf,
    source: io::Error,
}

impl Sources {
    /// Reads a repository.
    pub fn read(repo: &Path) -> Result<Self, ReadError> {
        let mut sources = Self::default();
        for name in ["Cargo.lock", "Cargo.toml"] {
            sources.read_file(&repo.join(name), name)?;
        }
        for name in ["crates", "nixos/payload", "nixos/templates"] {
            sources.read_directory(&repo.join(name), name)?;
        }
        Ok(sources)
    }

    /// The text at exactly this path.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The files below a directory: path below it and text, sorted.
    pub fn below(&self, directory: &str) -> impl Iterator<Item = (&str, &str)> {
        let prefix = format!("{directory}/");
        self.0.iter().filter_map(move |(path, text)| {
            path.strip_prefix(&prefix).map(|below| (below, text.as_str()))
        })
    }

    /// Replaces or adds one text.
    pub fn set(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), text.to_owned());
    }

    fn read_directory(&mut self, path: &Path, name: &str) -> Result<(), ReadError> {
        let failed = |source| ReadError { path: path.to_owned(), source };
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(file) = entry.file_name().into_string() else {
                return Err(failed(io::Error::from(io::ErrorKind::InvalidFilename)));
            };
            // What editors and version control leave beside the sources.
            if file.starts_with('.') || file.ends_with('~') {
                continue;
            }
            let name = format!("{name}/{file}");
            if entry.file_type().map_err(failed)?.is_dir() {
                if !is_test_directory(&name) {
                    self.read_directory(&entry.path(), &name)?;
                }
            } else {
                self.read_file(&entry.path(), &name)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path, name: &str) -> Result<(), ReadError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ReadError { path: path.to_owned(), source })?;
        self.0.insert(name.to_owned(), text);
        Ok(())
    }
}

/// Directories of a crate that no shipped program needs: `crates/NAME/tests` and the like.
fn is_test_directory(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    matches!(parts[..], ["crates", _, "tests" | "examples" | "benches" | "fuzz" | "target"])
}
