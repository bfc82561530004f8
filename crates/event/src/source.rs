//! Who sends, and who acts: the configured name of a sender, and an account at it.

use std::fmt;

use thiserror::Error;

/// The configured name of a sender: `A-Z a-z 0-9 . _ -`, compared exactly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(String);

/// Why a text cannot name a source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{}` cannot name a source; use at most 64 letters, digits, `.`, `_` and `-`",
    .0.escape_debug()
)]
pub struct ParseSourceError(String);

impl Source {
    /// Accepts what may stand before the colon of a topic.
    pub fn parse(text: &str) -> Result<Self, ParseSourceError> {
        let legal = !text.is_empty() && text.len() <= 64 && text.bytes().all(is_name_byte);
        if legal { Ok(Self(text.to_owned())) } else { Err(ParseSourceError(shortened(text))) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// An account's login, the box's own above all; compared without regard to case.
///
/// A GitHub App acts as `name[bot]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Login(String);

/// Why a text cannot be a login.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{}` cannot be a login; use letters, digits, `.`, `_` and `-`, or an app's `name[bot]`",
    .0.escape_debug()
)]
pub struct ParseLoginError(String);

impl Login {
    /// Accepts an account's or an app's login.
    pub fn parse(text: &str) -> Result<Self, ParseLoginError> {
        let name = text.strip_suffix("[bot]").unwrap_or(text);
        let legal = !name.is_empty() && name.len() <= 200 && name.bytes().all(is_name_byte);
        if legal { Ok(Self(text.to_owned())) } else { Err(ParseLoginError(shortened(text))) }
    }

    /// Whether a sender of an event is this account.
    pub fn is(&self, sender: &str) -> bool {
        self.0.eq_ignore_ascii_case(sender)
    }

    /// The login as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The bytes of a source's name, and of an account's.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// As much of a refused text as an error message shows.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_a_plain_name() {
        for good in ["github", "GitHub", "my.box_2-x", &"x".repeat(64)] {
            assert_eq!(Source::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a:b", "a/b", "ü", "a\n", &"x".repeat(65)] {
            let error = Source::parse(bad).unwrap_err().to_string();
            assert!(error.contains("cannot name a source") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_login_may_be_an_app_and_has_no_case() {
        let app = Login::parse("my-app[bot]").unwrap();
        assert!(app.is("My-App[bot]"));
        assert!(!app.is("my-app"));
        for bad in ["", "[bot]", "a[bot]b", "a b", "@a", "a\n"] {
            assert!(Login::parse(bad).is_err(), "{bad:?}");
        }
    }
}
