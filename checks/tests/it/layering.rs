//! Who may depend on whom, by the table in ARCHITECTURE.md and the real dependency graph.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::sources::{none, root, sources, top};

/// May run an event loop; everybody else is synchronous.
const ASYNC: &[&str] = &["supervisor", "agent-box", "webhook", "web"];

/// Licences that may be linked into what is shipped or tested.
const LICENCES: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .expect("the dependency graph")
}

/// A package's folder name, as the table calls it.
fn short(package: &str) -> &str {
    match package {
        "agent-box" => package,
        _ => package.strip_prefix("agent-box-").unwrap_or(package),
    }
}

/// The crates that a package's own code names, by kind.
fn direct(package: &Package, kind: DependencyKind) -> BTreeSet<&str> {
    let mut of_kind: Vec<_> = package.dependencies.iter().collect();
    of_kind.retain(|dependency| dependency.kind == kind);
    of_kind.into_iter().map(|dependency| dependency.name.as_str()).collect()
}

/// Rows of the table that has a column `may depend on`: crate → what it may depend on.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = top("ARCHITECTURE.md");
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = text.lines().skip_while(|line| {
        !(line.starts_with('|') && cells(line).iter().any(|cell| cell.starts_with("may depend on")))
    });
    let header = cells(lines.next().expect("a table with a column `may depend on`"));
    let column = header.iter().position(|cell| cell.starts_with("may depend on")).unwrap();
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells = cells(row);
        let folder = cells[0].trim_matches('`').rsplit('/').next().unwrap().to_owned();
        let words = cells[column].split([',', ' ']).map(|word| word.trim_matches('`'));
        let named = words.filter(|word| !word.is_empty() && *word != "–");
        (folder, named.map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let metadata = metadata();
    let allowed = allowed();
    let ours: BTreeSet<&str> =
        metadata.workspace_packages().iter().map(|it| it.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = short(&package.name);
        let Some(may) = allowed.get(folder) else {
            findings.push(format!("`{folder}` has no row in ARCHITECTURE.md"));
            continue;
        };
        for dependency in direct(package, DependencyKind::Normal) {
            if ours.contains(dependency)
                && !may.contains(short(dependency))
                && !may.contains("anything")
            {
                findings.push(format!("`{folder}` must not depend on `{}`", short(dependency)));
            }
        }
    }
    let known: BTreeSet<&str> = ours.iter().map(|it| short(it)).collect();
    for (folder, may) in &allowed {
        for named in may.iter().chain([folder]) {
            if !known.contains(named.as_str()) && named != "anything" {
                findings.push(format!("the row of `{folder}` names `{named}`: no such crate"));
            }
        }
    }
    none("a new edge is a design change", &findings);
}

#[test]
fn what_serves_tests_is_in_no_shipped_crate() {
    let mut findings = Vec::new();
    for package in metadata().workspace_packages() {
        let named = direct(package, DependencyKind::Normal);
        for only in ["agent-box-testkit", "agent-box-checks"] {
            if named.contains(only) && package.name != "agent-box-checks" {
                findings.push(format!("{} depends on {only}", package.name));
            }
        }
    }
    none("for tests only", &findings);
}

#[test]
fn only_the_daemons_reach_the_event_loop() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().unwrap();
    let name = |id: &PackageId| metadata[id].name.to_string();
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = short(&package.name);
        // The checks call the supervisor's plan; what they link is never shipped.
        if ASYNC.contains(&folder) || folder == "checks" {
            continue;
        }
        let mut reached = BTreeSet::new();
        let mut left = vec![&package.id];
        while let Some(id) = left.pop() {
            let node = resolve.nodes.iter().find(|node| node.id == *id).unwrap();
            for dependency in &node.deps {
                let shipped =
                    dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
                if shipped && reached.insert(&dependency.pkg) {
                    left.push(&dependency.pkg);
                }
            }
        }
        if reached.iter().any(|id| name(id) == "tokio") {
            findings.push(format!("`{folder}` reaches tokio"));
        }
    }
    none("synchronous by design", &findings);
}

#[test]
fn licences_are_on_the_list() {
    let allowed = |one: &str| LICENCES.contains(&one.trim().trim_matches(['(', ')']));
    let mut findings = Vec::new();
    for package in &metadata().packages {
        let Some(expression) = &package.license else {
            findings.push(format!("{} says nothing", package.name));
            continue;
        };
        // The old spelling of OR is `/`. Every AND part needs one allowed alternative.
        let expression = expression.replace('/', " OR ");
        let ok = expression.split(" AND ").all(|part| part.split(" OR ").any(allowed));
        if !ok {
            findings.push(format!("{}: {expression}", package.name));
        }
    }
    none("licences that are not on the list", &findings);
}

#[test]
fn every_crate_takes_the_workspace_lints() {
    let manifests = sources("Cargo.toml");
    let without = manifests.iter().filter(|manifest| {
        manifest.path.contains('/') && !manifest.text.contains("[lints]\nworkspace = true")
    });
    none("add `[lints] workspace = true`", &without.map(|it| it.path.clone()).collect::<Vec<_>>());
}

#[test]
fn every_dependency_says_why_it_is_here() {
    let manifest = top("Cargo.toml");
    let section = manifest
        .split("\n[")
        .find(|section| section.starts_with("workspace.dependencies]"))
        .expect("the workspace's dependencies");
    let lines = section.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let silent: Vec<String> = lines
        .filter(|line| line.split_once('#').is_none_or(|(_, reason)| reason.trim().is_empty()))
        .map(str::to_owned)
        .collect();
    none("give the reason in a comment", &silent);
}
