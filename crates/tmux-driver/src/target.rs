//! Exact targets. tmux matches a bare `-t name` by prefix and by pattern; these do not.

use std::fmt;

use thiserror::Error;

/// Longest name and tag.
const WORD_LIMIT: usize = 150;

/// Letters, digits, `_` and `-`: the words that mean nothing to tmux's parsers and formats.
pub(crate) fn is_word(text: &str) -> bool {
    (1..=WORD_LIMIT).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// A text that is no session name or id of ours.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{text:?} is no tmux session; use 1 to 150 of A-Z a-z 0-9 _ - and no leading -")]
pub struct InvalidTarget {
    text: String,
}

/// A session name that tmux takes as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Checks `[A-Za-z0-9_-]{1,150}`, not starting with `-`.
    ///
    /// # Errors
    /// When `text` is anything else.
    pub fn new(text: &str) -> Result<Self, InvalidTarget> {
        if is_word(text) { Ok(Self(text.to_owned())) } else { Err(invalid(text)) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// tmux's own session id (`$3`): unique for the life of one server, survives a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TmuxId(u32);

impl TmuxId {
    /// Reads `$` and digits.
    ///
    /// # Errors
    /// When `text` is anything else.
    pub fn new(text: &str) -> Result<Self, InvalidTarget> {
        let digits = text.strip_prefix('$').filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|d| d.parse().ok()).map(Self).ok_or_else(|| invalid(text))
    }
}

impl fmt::Display for TmuxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

fn invalid(text: &str) -> InvalidTarget {
    InvalidTarget { text: text.to_owned() }
}

/// Which session a command is for; the only maker of a `-t`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionTarget {
    /// By tmux's id, within the life of one server.
    Id(TmuxId),
    /// By its whole name.
    Name(Name),
}

impl SessionTarget {
    /// The exact name `text`.
    ///
    /// # Errors
    /// When it is no [`Name`].
    pub fn name(text: &str) -> Result<Self, InvalidTarget> {
        Name::new(text).map(Self::Name)
    }

    /// The exact id `text` (`$3`).
    ///
    /// # Errors
    /// When it is no [`TmuxId`].
    pub fn id(text: &str) -> Result<Self, InvalidTarget> {
        TmuxId::new(text).map(Self::Id)
    }

    /// For commands that take a session.
    pub(crate) fn session(&self) -> [String; 2] {
        ["-t".into(), self.text()]
    }

    /// For commands that take a pane, window or option target: without the colon, tmux 3.3a
    /// fails or silently answers for nothing.
    pub(crate) fn pane(&self) -> [String; 2] {
        ["-t".into(), format!("{}:", self.text())]
    }

    /// The same as [`Self::session`] inside a command that tmux parses from text. Every character
    /// of it is inert there but `$`, which the quotes take care of.
    pub(crate) fn session_quoted(&self) -> String {
        format!("-t '{}'", self.text())
    }

    fn text(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Name(name) => format!("={name}"),
        }
    }
}

impl From<TmuxId> for SessionTarget {
    fn from(id: TmuxId) -> Self {
        Self::Id(id)
    }
}

impl From<Name> for SessionTarget {
    fn from(name: Name) -> Self {
        Self::Name(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_plain_words_are_names() {
        let long = "x".repeat(150);
        for good in ["a", "a-1", "_x", "9", long.as_str()] {
            assert!(Name::new(good).is_ok(), "{good}");
        }
        let long = "x".repeat(151);
        for bad in ["", "-a", "a.b", "a:b", "=a", "$1", "@1", "a*", "a b", "é", "a\n", &long] {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_dollar_and_digits_are_ids() {
        assert_eq!(TmuxId::new("$17").map(|id| id.to_string()), Ok("$17".to_owned()));
        for bad in ["", "$", "17", "$-1", "$+1", "$1:", "$1 ", "$99999999999"] {
            assert!(TmuxId::new(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_accepted_name_makes_an_exact_target(text in "\\PC{0,160}") {
            if let Ok(target) = SessionTarget::name(&text) {
                prop_assert_eq!(target.session(), ["-t".to_owned(), format!("={text}")]);
                prop_assert_eq!(target.pane(), ["-t".to_owned(), format!("={text}:")]);
            }
        }
    }
}
