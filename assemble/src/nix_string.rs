//! Text that becomes a Nix string: the only way from foreign bytes into the generated module.
//!
//! Two forms are written: `"…"` on one line, and `''…''` with the payload's own lines, indented
//! so that a diff of the module reads like a diff of the payload.

use thiserror::Error;

use crate::nix_text::NixText;

/// A text that Nix can hold as a string.
#[derive(Clone, Copy, Debug)]
pub struct NixString<'a>(&'a str);

/// The text cannot be a Nix string.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("a NUL byte at offset {offset}, which no Nix string can hold; take it out of the file")]
pub struct NixStringError {
    /// Where it stands.
    pub offset: usize,
}

/// One rule of the indented form, named so that the proof can leave each one out and fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// `''` would end the string.
    ApostrophePair,
    /// A single `'` would join the quotes that follow it.
    LoneApostrophe,
    /// `${` would begin an expression.
    Interpolation,
    /// Spaces that all lines begin with would be stripped.
    Anchor,
    /// A last line of spaces alone would be dropped.
    BlankTail,
    /// The quotes on a line of their own would add a line end.
    ClosingLine,
}

impl<'a> NixString<'a> {
    /// Accepts what Nix can hold.
    pub fn new(text: &'a str) -> Result<Self, NixStringError> {
        match text.find('\0') {
            Some(offset) => Err(NixStringError { offset }),
            None => Ok(Self(text)),
        }
    }

    /// The form on one line: `"…"`.
    pub fn quoted(self) -> NixText {
        let mut out = String::from("\"");
        let mut rest = self.0.chars().peekable();
        while let Some(letter) = rest.next() {
            match letter {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '$' if rest.peek() == Some(&'{') => out.push_str("\\$"),
                other => out.push(other),
            }
        }
        out.push('"');
        NixText::already_nix(out)
    }

    /// The form with lines, each indented by so many spaces: `''…''`.
    // INVARIANT: Nix reads back exactly the text. `every_short_string_is_read_back` proves it.
    pub fn indented(self, indent: usize) -> NixText {
        NixText::already_nix(indented(self.0, indent, None))
    }
}

/// The indented form by all rules but one.
fn indented(text: &str, indent: usize, without: Option<Rule>) -> String {
    let by = |rule| without != Some(rule);
    if text.is_empty() {
        return "\"\"".to_owned();
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let last = lines.len() - 1;
    let anchored = lines.iter().any(|line| line.starts_with(|letter| letter != ' '));
    let first_with_spaces = lines.iter().position(|line| !line.is_empty());
    let blank = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte == b' ');
    let mut out = String::from("''\n");
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if line.is_empty() {
            continue;
        }
        out.extend(std::iter::repeat_n(' ', indent));
        let anchor = !anchored && first_with_spaces == Some(number) && by(Rule::Anchor);
        let tail = number == last && blank(line) && by(Rule::BlankTail);
        if anchor || tail {
            out.push_str("''\\");
        }
        escape_line(line, number == last, without, &mut out);
    }
    if lines[last].is_empty() || !by(Rule::ClosingLine) {
        if !lines[last].is_empty() {
            out.push('\n');
        }
        out.extend(std::iter::repeat_n(' ', indent.saturating_sub(2)));
    }
    out.push_str("''");
    out
}

/// One line's text; `last` if the closing quotes follow it directly.
fn escape_line(line: &str, last: bool, without: Option<Rule>, out: &mut String) {
    let by = |rule| without != Some(rule);
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with("''") && by(Rule::ApostrophePair) {
            out.push_str("'''");
            rest = &rest[2..];
            continue;
        }
        let after = &rest[letter.len_utf8()..];
        match letter {
            // Beside quotes it would be read as part of them.
            '\'' if by(Rule::LoneApostrophe)
                && (after.starts_with("${")
                    || after.starts_with('\r')
                    || (after.is_empty() && last)) =>
            {
                out.push_str("''\\'");
            }
            '$' if after.starts_with('{') && by(Rule::Interpolation) => out.push_str("''$"),
            // A raw one is kept by Nix, but not by every tool that the module passes through.
            '\r' => out.push_str("''\\r"),
            other => out.push(other),
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests;
