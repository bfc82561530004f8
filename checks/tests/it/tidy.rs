//! Habits that a machine can look after.

use std::collections::BTreeSet;

use agent_box_session::env::TABLE;

use crate::sources::{Source, none, sources};

/// Reads of the environment whose variable stands in a loop or an argument; the last one is the C
/// library's own.
const READERS: &[&str] = &[
    "crates/agent-box/src/surroundings.rs",
    "crates/pane/src/environment.rs",
    "crates/pane/src/footing.rs",
    "crates/webhook-spawn/src/main.rs",
];

#[test]
fn every_file_opens_with_what_it_is_for() {
    let silent = sources(".rs").into_iter().filter(|source| !source.text.starts_with("//!"));
    none("no `//!` at the top", &silent.map(|it| it.path).collect::<Vec<_>>());
}

#[test]
fn modules_are_named_after_what_they_hold() {
    let vague = ["mod.rs", "utils.rs", "helpers.rs", "common.rs", "manager.rs", "misc.rs"];
    let named = |path: &str| vague.contains(&path.rsplit('/').next().unwrap());
    let found = sources(".rs").into_iter().filter(|source| named(&source.path));
    none("a name that says nothing", &found.map(|it| it.path).collect::<Vec<_>>());
}

#[test]
fn no_line_ends_in_blanks() {
    let mut findings = Vec::new();
    for source in [".rs", ".toml", ".md"].into_iter().flat_map(sources) {
        for (number, line) in source.lines() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(format!("{}:{number}", source.path));
            }
        }
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            findings.push(format!("{}: no line end at the end", source.path));
        }
    }
    none("blanks at the end", &findings);
}

#[test]
fn files_are_short_enough_to_be_read() {
    let mut findings = Vec::new();
    for source in sources(".rs") {
        let most = if source.is_test() { 800 } else { 500 };
        let lines = source.text.lines().count();
        if lines > most {
            findings.push(format!("{}: {lines} lines, at most {most}", source.path));
        }
    }
    none("split them", &findings);
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let sources = sources(".rs");
    let tests = tests_of(&sources);
    let mut findings = Vec::new();
    for source in &sources {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            if !line.starts_with("// INVARIANT:") && !line.starts_with("// RACE:") {
                continue;
            }
            let comment: Vec<&str> =
                lines[index..].iter().copied().take_while(|it| it.starts_with("//")).collect();
            let comment = comment.join(" ");
            let mut words = comment.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            if !words.any(|word| tests.contains(word)) {
                findings.push(format!("{}:{}: {line}", source.path, index + 1));
            }
        }
    }
    none("name the test", &findings);
}

fn tests_of(sources: &[Source]) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for source in sources {
        let mut announced = false;
        for line in source.text.lines().map(str::trim) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                announced = true;
            } else if let Some(rest) =
                line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "))
                && announced
            {
                announced = false;
                tests.extend(rest.split('(').next().map(str::to_owned));
            }
        }
    }
    tests
}

#[test]
fn the_environment_is_read_by_the_table() {
    let known: BTreeSet<&str> = TABLE.iter().map(|variable| variable.name).collect();
    let mut findings = Vec::new();
    for source in sources(".rs").iter().filter(|source| !source.is_test()) {
        for (number, line) in source.lines() {
            for call in ["env::var(", "env::var_os("] {
                let Some((_, rest)) = line.split_once(call) else { continue };
                let variable = rest.split([')', ',']).next().unwrap().trim();
                let by_table = match variable.strip_prefix('"') {
                    Some(literal) => known.contains(literal.trim_end_matches('"')),
                    // The table's own constants.
                    None => variable.starts_with("env::"),
                };
                if !by_table && !READERS.contains(&source.path.as_str()) {
                    findings.push(format!("{}:{number}: {}", source.path, line.trim()));
                }
            }
        }
    }
    none("a variable that is not in the table", &findings);
}

#[test]
fn tmux_targets_are_built_in_one_crate() {
    let mut findings = Vec::new();
    let elsewhere =
        |source: &Source| !source.is_test() && !source.path.starts_with("crates/tmux-driver/");
    for source in sources(".rs").iter().filter(|source| elsewhere(source)) {
        for (number, line) in source.lines() {
            if line.contains("\"-t\"") || line.contains("\"-t=") {
                findings.push(format!("{}:{number}", source.path));
            }
        }
    }
    none("use a typed target of the tmux driver", &findings);
}

#[test]
fn no_test_is_switched_off() {
    // Spelled in two parts, so that this file is not a finding.
    let off = [concat!("#[ig", "nore"), concat!("#[should", "_panic")];
    let mut findings = Vec::new();
    for source in sources(".rs") {
        for (number, line) in source.lines() {
            if off.iter().any(|mark| line.contains(mark)) {
                findings.push(format!("{}:{number}", source.path));
            }
        }
    }
    none("a test that does not run proves nothing", &findings);
}
