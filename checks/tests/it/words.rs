//! One word for one thing: the right column of STYLE.md's table is not used in public names.

use std::collections::BTreeSet;

use crate::sources::{none, sources, top};

/// Words that are other people's: the kernel's, the file system's, git's.
const ALLOWED: &[&str] = &["boot", "sync", "zombie", "model", "instance", "actual", "repository"];

/// The words not to say.
fn unwanted() -> BTreeSet<String> {
    let style = top("STYLE.md");
    let rows = style.lines().skip_while(|line| !line.starts_with("| say |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim().trim_matches('|').rsplit('|').next());
    let words = cells.flat_map(|cell| cell.split(','));
    let words = words.map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty() && !ALLOWED.contains(&word.as_str())).collect()
}

#[test]
fn items_are_called_by_our_words() {
    let unwanted = unwanted();
    assert!(unwanted.contains("tenant"), "the table in STYLE.md was not found");
    let mut findings = Vec::new();
    for source in sources(".rs").iter().filter(|source| !source.is_test()) {
        for (number, line) in source.lines() {
            let line = line.trim();
            let line =
                line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
            let mut words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let kind = words.next().unwrap_or_default();
            let item = ["fn", "struct", "enum", "mod", "trait", "type", "const"].contains(&kind);
            let Some(name) = words.next().filter(|_| item) else { continue };
            for word in words_of(name) {
                if unwanted.contains(&word) {
                    findings.push(format!("{}:{number}: `{name}` says \"{word}\"", source.path));
                }
            }
        }
    }
    none("STYLE.md has another word for it", &findings);
}

/// The lower-case words of a `snake_case` or `CamelCase` name.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        if letter == '_' || (letter.is_ascii_uppercase() && before.is_ascii_lowercase()) {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().unwrap().push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    words
}
