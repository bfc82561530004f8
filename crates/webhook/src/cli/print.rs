//! What people and programs read of the webhook verbs, and the exit codes.
#![expect(clippy::print_stderr, reason = "this module is the verbs' voice")]

use std::error::Error;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use agent_box_event::{Cut, Line, sanitize};
use serde_json::Value;

/// Done.
pub(crate) const DONE: u8 = 0;
/// The world failed, or what was asked is refused.
pub(crate) const FAILED: u8 = 1;
/// The call is wrong: a flag, a value, a missing word.
pub(crate) const MISUSED: u8 = 2;

/// One line for people; whatever is in it, it steers no terminal and stays one line.
pub(crate) fn line(text: &str) {
    put(&sanitize(text, Cut::NONE));
}

/// One line about an event. Its marks are ours and stay, which no text that is given to
/// [`line`] can say of itself.
pub(crate) fn event(before: &str, line: &Line) {
    put(&format!("{}{}", sanitize(before, Cut::NONE), line.as_str()));
}

/// One line of warning, on stderr.
pub(crate) fn warn(text: &str) {
    eprintln!("agent-box: {}", sanitize(text, Cut::NONE));
}

/// Says no.
pub(crate) fn refuse(code: u8, text: &str) -> u8 {
    warn(text);
    code
}

/// What went wrong, with its causes.
pub(crate) fn fault(error: &dyn Error) -> u8 {
    refuse(FAILED, &chain(error))
}

/// An error and its causes as one fragment.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        text = format!("{text}: {it}");
        cause = it.source();
    }
    text
}

/// One JSON document, indented as people read it, too.
pub(crate) fn json(value: &Value) {
    put(&json_text(value));
}

/// Whether stdout is read by a person.
pub(crate) fn is_for_people() -> bool {
    std::io::stdout().is_terminal()
}

fn put(text: &str) {
    // A closed pipe (`| head`) is no reason to panic.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// JSON leaves DEL, the upper control characters and those that reorder as they are; they occur
/// inside texts only, where they can be spelled.
fn json_text(value: &Value) -> String {
    let acts = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let text = format!("{value:#}");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A table with a header, columns as wide as their longest cell.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) {
    let clean = |cell: &String| sanitize(cell, Cut::NONE);
    // Before they are measured.
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(clean).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count());
        cells.chain([header[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let print = |cells: &[&str]| {
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', 2 + width.saturating_sub(cell.chars().count())));
        }
        put(text.trim_end());
    };
    print(header);
    for row in &rows {
        print(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_has_no_character_that_acts_and_means_the_same() {
        let hostile = "a\u{1b}]0;x\u{7}\nb\u{9b}31m\u{7f}\u{202e}협업";
        let text = json_text(&json!([hostile]));
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([hostile]));
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = std::io::Error::other(crate::cli::print::tests::Outer(cause));
        assert_eq!(chain(&error), "outer: entity not found");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);
}
