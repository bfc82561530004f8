//! Cargo's lock file, cut down to the packages that a part of the workspace reaches.
//!
//! `--locked` compares texts, so what is written must be what cargo itself would write.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thiserror::Error;
use toml_edit::{Document, Table, TomlError};

/// The lock file cannot be used.
#[derive(Debug, Error)]
pub enum LockFileError {
    /// It is not TOML.
    #[error("the lock file does not parse")]
    Parse(#[from] TomlError),
    /// It is not of the format that cargo writes today.
    #[error("the lock file's version is not {VERSION}")]
    Version,
    /// A package lacks a name or a version.
    #[error("a package of the lock file has no {0}")]
    Field(&'static str),
    /// A package is named but not described.
    #[error("the lock file does not describe `{0}`")]
    Unknown(String),
}

/// The format's version.
const VERSION: i64 = 4;

/// Dependencies that only features of test crates switch on: package → dependency.
///
/// A lock file does not say which feature asks for what, so these are found by
/// `the_embedded_workspace_builds_alone`, whose failure names the line to add.
pub const FOR_TESTS_ONLY: &[(&str, &str)] = &[("getrandom", "rand_core")];

/// A package and what distinguishes it from its namesakes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    name: String,
    /// The version's parts, before the text: cargo writes 0.9 before 0.10.
    numbers: Vec<u64>,
    version: String,
    source: Option<String>,
}

#[derive(Clone, Debug)]
struct Package {
    checksum: Option<String>,
    dependencies: Vec<String>,
}

/// The packages of a lock file.
#[derive(Clone, Debug)]
pub struct LockFile(BTreeMap<Identity, Package>);

impl LockFile {
    /// Reads what cargo wrote.
    pub fn parse(text: &str) -> Result<Self, LockFileError> {
        let document = Document::parse(text)?;
        if document.get("version").and_then(toml_edit::Item::as_integer) != Some(VERSION) {
            return Err(LockFileError::Version);
        }
        let tables = document.get("package").and_then(toml_edit::Item::as_array_of_tables);
        tables.into_iter().flatten().map(package).collect::<Result<_, _>>().map(Self)
    }

    /// What these packages reach, each with exactly the dependencies that are named for it.
    pub fn reduced_to(
        &self,
        roots: &BTreeMap<String, BTreeSet<String>>,
    ) -> Result<Self, LockFileError> {
        let mut kept: BTreeMap<Identity, (Option<String>, Vec<&Identity>)> = BTreeMap::new();
        let mut left = roots.keys().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
        while let Some(identity) = left.pop() {
            if kept.contains_key(identity) {
                continue;
            }
            let package = &self.0[identity];
            let mut needed = Vec::new();
            for dependency in &package.dependencies {
                let dependency = self.find(dependency)?;
                let root = identity.source.is_none().then(|| roots.get(&identity.name)).flatten();
                let edge = (identity.name.as_str(), dependency.name.as_str());
                let needed_by_root = root.is_none_or(|named| named.contains(&dependency.name));
                if needed_by_root && !FOR_TESTS_ONLY.contains(&edge) {
                    needed.push(dependency);
                }
            }
            left.extend(needed.iter().copied());
            kept.insert(identity.clone(), (package.checksum.clone(), needed));
        }
        let identities: Vec<&Identity> = kept.keys().collect();
        let written = |needed: &[&Identity]| {
            needed.iter().map(|identity| reference(identity, &identities)).collect()
        };
        let packages = kept.iter().map(|(identity, (checksum, needed))| {
            let package = Package { checksum: checksum.clone(), dependencies: written(needed) };
            (identity.clone(), package)
        });
        Ok(Self(packages.collect()))
    }

    /// The package that a dependency's text names: `name`, `name version` or with its source.
    fn find(&self, reference: &str) -> Result<&Identity, LockFileError> {
        let mut words = reference.splitn(3, ' ');
        let (name, version, source) = (words.next(), words.next(), words.next());
        let source = source.map(|text| text.trim_start_matches('(').trim_end_matches(')'));
        let fits = |identity: &&Identity| {
            Some(identity.name.as_str()) == name
                && version.is_none_or(|version| identity.version == version)
                && source.is_none_or(|source| identity.source.as_deref() == Some(source))
        };
        self.0.keys().find(fits).ok_or_else(|| LockFileError::Unknown(reference.to_owned()))
    }
}

fn package(table: &Table) -> Result<(Identity, Package), LockFileError> {
    let field = |name| table.get(name).and_then(|item| item.as_str()).map(str::to_owned);
    let dependencies = table.get("dependencies").and_then(toml_edit::Item::as_array);
    let dependencies = dependencies.into_iter().flatten();
    let version = field("version").ok_or(LockFileError::Field("version"))?;
    let numbers = version.split(['.', '-', '+']).map_while(|part| part.parse().ok());
    let identity = Identity {
        name: field("name").ok_or(LockFileError::Field("name"))?,
        numbers: numbers.take(3).collect(),
        version,
        source: field("source"),
    };
    let package = Package {
        checksum: field("checksum"),
        dependencies: dependencies.filter_map(|it| it.as_str()).map(str::to_owned).collect(),
    };
    Ok((identity, package))
}

/// The shortest text that names a package among these.
fn reference(identity: &Identity, among: &[&Identity]) -> String {
    let namesakes: Vec<&&Identity> =
        among.iter().filter(|other| other.name == identity.name).collect();
    let same_version = namesakes.iter().filter(|other| other.version == identity.version).count();
    match (namesakes.len(), same_version, &identity.source) {
        (1, ..) => identity.name.clone(),
        (_, 1, _) | (.., None) => format!("{} {}", identity.name, identity.version),
        (.., Some(source)) => format!("{} {} ({source})", identity.name, identity.version),
    }
}

impl fmt::Display for LockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("# This file is automatically @generated by Cargo.\n")?;
        write!(f, "# It is not intended for manual editing.\nversion = {VERSION}\n")?;
        for (identity, package) in &self.0 {
            write!(f, "\n[[package]]\nname = \"{}\"\n", identity.name)?;
            writeln!(f, "version = \"{}\"", identity.version)?;
            for (key, value) in [("source", &identity.source), ("checksum", &package.checksum)] {
                if let Some(value) = value {
                    writeln!(f, "{key} = \"{value}\"")?;
                }
            }
            if !package.dependencies.is_empty() {
                f.write_str("dependencies = [\n")?;
                for dependency in &package.dependencies {
                    writeln!(f, " \"{dependency}\",")?;
                }
                f.write_str("]\n")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FOR_TESTS_ONLY, LockFile};

    #[test]
    fn a_whole_lock_file_is_written_as_cargo_writes_it() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));
        let text = text.unwrap();
        assert!(LockFile::parse(&text).unwrap().to_string() == text);
    }

    #[test]
    fn every_dependency_left_to_tests_still_exists() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));
        let lock = LockFile::parse(&text.unwrap()).unwrap();
        for (package, dependency) in FOR_TESTS_ONLY {
            let packages = lock.0.iter().filter(|(identity, _)| identity.name == *package);
            let mut named = packages.flat_map(|(_, package)| &package.dependencies);
            assert!(
                named.any(|name| name.split(' ').next() == Some(*dependency)),
                "{package} does not depend on {dependency} any more: remove the line"
            );
        }
    }
}
