//! Which part of the workspace the module carries: exactly what the shipped programs are built
//! from, as a workspace of its own that `cargo build --locked` accepts.
//!
//! Tests, examples, and the crates that serve only them stay out, and with them their
//! dependencies: manifests and lock file are cut down to what is left.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use toml_edit::{Array, DocumentMut, TableLike, TomlError};

use crate::lock_file::{LockFile, LockFileError};
use crate::sources::Sources;

/// The packages whose programs are shipped.
const SHIPPED: &[&str] = &["agent-box", "agent-box-webhook-spawn"];

/// The workspace cannot be cut down.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// A manifest does not parse.
    #[error("{path} is not a manifest")]
    Manifest {
        /// The manifest.
        path: String,
        /// What is wrong with it.
        source: TomlError,
    },
    /// A file or an entry that must exist does not.
    #[error("{path} has no {what}")]
    Missing {
        /// The file.
        path: String,
        /// What it lacks.
        what: String,
    },
    /// The lock file does not fit the manifests.
    #[error("Cargo.lock cannot be cut down; run `cargo check` to renew it")]
    LockFile(#[from] LockFileError),
}

/// The embedded workspace.
#[derive(Debug)]
pub struct Embedded {
    /// Its files by path.
    pub files: BTreeMap<String, String>,
    /// The version of every package.
    pub version: String,
    /// The oldest compiler that builds it.
    pub rust_version: String,
}

/// One crate of the workspace.
struct Member {
    directory: String,
    manifest: DocumentMut,
}

/// Cuts the workspace down to the shipped programs.
pub fn embedded(sources: &Sources) -> Result<Embedded, EmbedError> {
    let mut members = members(sources)?;
    let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut left: Vec<String> = SHIPPED.iter().map(|&name| name.to_owned()).collect();
    while let Some(name) = left.pop() {
        let Some(member) = members.get(&name).filter(|_| !kept.contains_key(&name)) else {
            continue;
        };
        let needed = needed(&member.manifest);
        left.extend(needed.iter().cloned());
        kept.insert(name, needed);
    }
    if let Some(absent) = SHIPPED.iter().find(|&&name| !kept.contains_key(name)) {
        return Err(missing("crates", &format!("package {absent}")));
    }
    members.retain(|name, _| kept.contains_key(name));

    let mut files = BTreeMap::new();
    for member in members.values_mut() {
        let directory = &member.directory;
        for (below, text) in sources.below(directory) {
            if is_shipped_source(below) {
                files.insert(format!("{directory}/{below}"), text.to_owned());
            }
        }
        trim_member(&mut member.manifest);
        files.insert(format!("{directory}/Cargo.toml"), member.manifest.to_string());
    }

    let mut root = parse(sources, "Cargo.toml")?;
    trim_root(&mut root, &members, &kept);
    let package = |key| {
        root.get("workspace")
            .and_then(|workspace| workspace.get("package")?.get(key)?.as_str())
            .map(str::to_owned)
            .ok_or_else(|| missing("Cargo.toml", &format!("workspace.package.{key}")))
    };
    let (version, rust_version) = (package("version")?, package("rust-version")?);
    files.insert("Cargo.toml".to_owned(), root.to_string());
    let lock = LockFile::parse(text(sources, "Cargo.lock")?)?;
    files.insert("Cargo.lock".to_owned(), lock.reduced_to(&kept)?.to_string());
    Ok(Embedded { files, version, rust_version })
}

fn missing(path: &str, what: &str) -> EmbedError {
    EmbedError::Missing { path: path.to_owned(), what: what.to_owned() }
}

fn text<'a>(sources: &'a Sources, path: &str) -> Result<&'a str, EmbedError> {
    sources.get(path).ok_or_else(|| missing(path, "text"))
}

fn parse(sources: &Sources, path: &str) -> Result<DocumentMut, EmbedError> {
    text(sources, path)?
        .parse()
        .map_err(|source| EmbedError::Manifest { path: path.to_owned(), source })
}

/// Every crate below `crates/`, by package name.
fn members(sources: &Sources) -> Result<BTreeMap<String, Member>, EmbedError> {
    let mut members = BTreeMap::new();
    for (below, _) in sources.below("crates") {
        let Some(folder) = below.strip_suffix("/Cargo.toml").filter(|it| !it.contains('/')) else {
            continue;
        };
        let directory = format!("crates/{folder}");
        let path = format!("{directory}/Cargo.toml");
        let manifest = parse(sources, &path)?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name")?.as_str())
            .ok_or_else(|| missing(&path, "package.name"))?
            .to_owned();
        members.insert(name, Member { directory, manifest });
    }
    Ok(members)
}

/// What a shipped build of this crate depends on.
fn needed(manifest: &DocumentMut) -> BTreeSet<String> {
    let tables = ["dependencies", "build-dependencies"].into_iter();
    let tables = tables.filter_map(|name| manifest.get(name)?.as_table_like());
    tables.flat_map(TableLike::iter).map(|(name, _)| name.to_owned()).collect()
}

/// Sources but for modules that exist in test builds only.
fn is_shipped_source(below: &str) -> bool {
    let test = below.ends_with("/tests.rs") || below.contains("/tests/");
    below == "build.rs" || (below.starts_with("src/") && !test)
}

fn trim_member(manifest: &mut DocumentMut) {
    for table in ["bench", "dev-dependencies", "example", "test"] {
        manifest.remove(table);
    }
}

fn trim_root(
    root: &mut DocumentMut,
    members: &BTreeMap<String, Member>,
    kept: &BTreeMap<String, BTreeSet<String>>,
) {
    let directories: BTreeSet<&str> =
        members.values().map(|member| member.directory.as_str()).collect();
    root["workspace"]["members"] = directories.into_iter().collect::<Array>().into();
    let used = |name: &str| kept.values().any(|needed| needed.contains(name));
    if let Some(dependencies) = root["workspace"]["dependencies"].as_table_like_mut() {
        let names: Vec<String> = dependencies.iter().map(|(name, _)| name.to_owned()).collect();
        for name in names.iter().filter(|name| !used(name)) {
            dependencies.remove(name);
        }
    }
    // Names packages that are not here, and shapes builds that nobody ships.
    if let Some(profiles) = root.get_mut("profile").and_then(|it| it.as_table_like_mut()) {
        profiles.remove("dev");
    }
}
