//! What people and programs read: tables, sentences, JSON, and the exit codes.
#![expect(clippy::print_stderr, reason = "this module is the program's voice")]

mod table;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use agent_box_session_store::{Damage, Event, ReadError};
use agent_box_supervisor::operator::{AddError, ExplainError, UndoFault, VerbError};
use rustix::termios::tcgetwinsize;
use serde_json::{Value, json};

use table::Table;

/// Done.
pub(crate) const DONE: u8 = 0;
/// The world failed.
pub(crate) const FAULT: u8 = 1;
/// An expected no, or a misuse.
pub(crate) const REFUSED: u8 = 2;
/// The session store is damaged.
pub(crate) const DAMAGED: u8 = 3;

/// One line for people.
pub(crate) fn line(text: &str) {
    put(&inert(text));
}

fn put(text: &str) {
    // A closed pipe (`| head`) is no reason to panic.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// One line of warning.
pub(crate) fn warn(text: &str) {
    eprintln!("agent-box: {}", inert(text));
}

/// One JSON document.
pub(crate) fn json(value: &Value) {
    put(&json_text(value));
}

/// JSON leaves DEL and the upper control characters as they are; they occur inside texts only.
fn json_text(value: &Value) -> String {
    spell_out(&value.to_string(), |c| format!("\\u{:04x}", u32::from(c)))
}

/// A text as one line that a terminal only shows.
///
/// UNTRUSTED: names, directories and an agent's last words come from files that anybody wrote;
/// they must not steer the terminal, nor look like another line of ours
/// (`nothing_printed_steers_a_terminal_or_begins_a_line`).
fn inert(text: &str) -> String {
    spell_out(text, |c| c.escape_default().to_string())
}

fn spell_out(text: &str, spelling: impl Fn(char) -> String) -> String {
    // Beside control characters those that reorder what stands around them.
    let acts =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) { out.push_str(&spelling(c)) } else { out.push(c) }
    }
    out
}

/// A table with a header, columns as wide as their longest cell; where the terminal is too narrow
/// for that, as [`Table`] lays it out.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) {
    let stdout = std::io::stdout();
    let size = tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    let columns = size.filter(|columns| *columns > 0).unwrap_or(usize::MAX);
    // Before they are measured.
    let rows = rows.iter().map(|row| row.iter().map(|cell| inert(cell)).collect()).collect();
    let text = Table::new(header, rows).lay_out(columns);
    // The whole table in one write: a hundred sessions are no hundred system calls.
    let _ = stdout.lock().write_all(text.as_bytes());
}

/// Says what went wrong, with its causes, and picks the exit code.
pub(crate) fn fault(error: &anyhow::Error) -> ExitCode {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // Transparent wrappers repeat their source.
        if !text.ends_with(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    warn(&text);
    ExitCode::from(if is_damage(error) { DAMAGED } else { FAULT })
}

/// Whether the registry's damage is what went wrong. Each operation has its own error type.
fn is_damage(error: &anyhow::Error) -> bool {
    let is = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<Damage>()
            || matches!(cause.downcast_ref(), Some(AddError::Damaged(_)))
            || matches!(cause.downcast_ref(), Some(VerbError::Damaged(_)))
            || matches!(cause.downcast_ref(), Some(ReadError::Damaged(_)))
            || matches!(cause.downcast_ref(), Some(ExplainError::Read(ReadError::Damaged(_))))
            || matches!(
                cause.downcast_ref(),
                Some(UndoFault::Undo(agent_box_session_store::TransactError::Damaged(_)))
            )
    };
    error.chain().any(is)
}

/// Says no.
pub(crate) fn refuse(text: &str) -> ExitCode {
    warn(text);
    ExitCode::from(REFUSED)
}

/// Asks a yes-or-no question on the terminal; without one the answer is no.
pub(crate) fn confirm(question: &str) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// An event as a line for people.
pub(crate) fn event_line(event: &Event) -> String {
    use std::fmt::Write as _;

    let name = event.name.as_ref().map_or("-", |name| name.as_str());
    let mut text = format!("{}  {:<10}  {name:<20}  {}", event.at, event.kind.as_str(), event.text);
    for (key, value) in &event.details {
        let _ = write!(text, "  {key}={value}");
    }
    if let Some(by) = &event.by {
        let _ = write!(text, "  (by {by})");
    }
    text
}

/// An event for programs.
pub(crate) fn event_json(event: &Event) -> Value {
    let details: serde_json::Map<String, Value> =
        event.details.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({
        "at": event.at.to_string(),
        "event": event.kind.as_str(),
        "name": event.name.as_ref().map(ToString::to_string),
        "id": event.session.map(|id| id.to_string()),
        "launch": event.launch.map(|id| id.to_string()),
        "by": event.by,
        "text": event.text,
        "details": details,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;x\u{7}\nmain\rb\u{9b}31m\u{7f}\u{202e}협업 é";

    #[test]
    fn nothing_printed_steers_a_terminal_or_begins_a_line() {
        assert_eq!(inert(HOSTILE), r"a\u{1b}]0;x\u{7}\nmain\rb\u{9b}31m\u{7f}\u{202e}협업 é");
    }

    #[test]
    fn json_has_no_control_character_and_means_the_same() {
        let text = json_text(&json!([HOSTILE]));
        assert!(!text.contains(char::is_control), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([HOSTILE]));
    }
}
