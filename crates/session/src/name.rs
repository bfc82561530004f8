//! Session names: labels for people, reusable, never an identity.

use std::fmt;

use thiserror::Error;

use crate::Agent;

/// A legal session name: one or more of `A-Z a-z 0-9 _ -`.
///
/// Safe in tmux targets, URLs and file names. The length limit holds on creation only
/// ([`SessionName::for_creation`]), so that a longer name made by hand can still be removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

/// Why a text cannot be a session name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseNameError {
    /// Nothing was given.
    #[error("a session name cannot be empty; use letters, digits, `_` and `-`")]
    Empty,
    /// A character outside the set.
    #[error("`{name}` cannot be a session name: {character:?} is not a letter, digit, `_` or `-`")]
    Character {
        /// The text, shortened.
        name: String,
        /// The first offender.
        character: char,
    },
    /// Too long to be created.
    #[error("a session name has at most 150 characters, this one has {length}; pick a shorter one")]
    TooLong {
        /// Its length in characters.
        length: usize,
    },
    /// It would read as a command-line option.
    #[error("`{0}` cannot be a session name: it starts with `-` and would read as an option")]
    LeadingDash(String),
    /// The web sign-in flow names its own tmux sessions so.
    #[error(
        "`{0}` cannot be a session name: names starting with `_connect-` are the sign-in flow's"
    )]
    Reserved(String),
}

impl SessionName {
    /// The longest name that can be created, in characters:
    /// `hook-` + a GitHub owner (39) + `-` + a repository (100) + `-` + 4 hex digits.
    pub const MAX_LENGTH: usize = 150;

    /// Accepts any name that an existing entry may have.
    pub fn parse(text: &str) -> Result<Self, ParseNameError> {
        if text.is_empty() {
            return Err(ParseNameError::Empty);
        }
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        match text.chars().find(|c| !legal(*c)) {
            Some(character) => {
                Err(ParseNameError::Character { name: text.chars().take(80).collect(), character })
            }
            None => Ok(Self(text.to_owned())),
        }
    }

    /// Accepts only names that may be created: at most 150 characters, no leading `-`, and not
    /// one of the sign-in flow's.
    pub fn for_creation(text: &str) -> Result<Self, ParseNameError> {
        let name = Self::parse(text)?;
        if name.0.len() > Self::MAX_LENGTH {
            return Err(ParseNameError::TooLong { length: name.0.len() });
        }
        if name.0.starts_with('-') {
            return Err(ParseNameError::LeadingDash(name.0));
        }
        if name.0.starts_with("_connect-") {
            return Err(ParseNameError::Reserved(name.0));
        }
        Ok(name)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Picks a name for a session that was added without one.
///
/// The agent kind itself if free; else the directory's last component (when a directory other
/// than the home was given), alone or with `-2` … `-9`; else the kind with four hex digits from
/// `random`, asked again until free. `taken` says whether a name is in use.
pub fn derive_name(
    agent: &Agent,
    directory: Option<&str>,
    taken: &dyn Fn(&str) -> bool,
    random: &mut dyn FnMut() -> u16,
) -> SessionName {
    let kind = agent.as_str();
    if !taken(kind) && SessionName::for_creation(kind).is_ok() {
        return SessionName(kind.to_owned());
    }
    if let Some(base) = directory.and_then(directory_base) {
        let numbered = (2..=9).map(|n| format!("{base}-{n}"));
        if let Some(free) = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name))
            && let Ok(name) = SessionName::for_creation(&free)
        {
            return name;
        }
    }
    loop {
        let name = format!("{kind}-{:04x}", random());
        if !taken(&name) {
            return SessionName(name);
        }
    }
}

/// The last component of a directory as the stem of a name; `None` if nothing legal is left.
fn directory_base(directory: &str) -> Option<String> {
    let last = directory.trim_end_matches('/').rsplit('/').next()?;
    let legal: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let base = legal.trim_matches('-');
    // Two characters stay free for `-2` … `-9`.
    (!base.is_empty()
        && base.len() <= SessionName::MAX_LENGTH - 2
        && !base.starts_with("_connect-"))
    .then(|| base.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_character_set_and_a_limit_on_creation_only() {
        for good in ["a", "main", "A_b-9", "-x", &"x".repeat(200)] {
            assert!(SessionName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a.b", "a:b", "ä", "a\n", "../x", "$1"] {
            assert!(SessionName::parse(bad).is_err(), "{bad:?}");
        }
        assert!(SessionName::for_creation(&"x".repeat(150)).is_ok());
        let error = SessionName::for_creation(&"x".repeat(151)).unwrap_err().to_string();
        assert!(error.contains("at most 150 characters"), "{error}");
        assert!(SessionName::for_creation("-x").is_err());
        assert!(SessionName::for_creation("_connect-1").is_err());
    }

    fn derived(agent: &str, directory: Option<&str>, taken: &[&str]) -> String {
        let mut n = 0xab;
        derive_name(
            &Agent::parse(agent).unwrap(),
            directory,
            &|name| taken.contains(&name),
            &mut || {
                n += 1;
                n
            },
        )
        .to_string()
    }

    #[test]
    fn derived_names_follow_kind_then_directory_then_random() {
        assert_eq!(derived("codex", None, &[]), "codex");
        assert_eq!(derived("codex", None, &["codex"]), "codex-00ac");
        assert_eq!(derived("codex", None, &["codex", "codex-00ac"]), "codex-00ad");
        let repo = Some("/home/a/src/repo/");
        assert_eq!(derived("claude", repo, &["claude"]), "repo");
        assert_eq!(derived("claude", repo, &["claude", "repo"]), "repo-2");
        assert_eq!(derived("claude", Some("/h/--odd.dir--"), &["claude"]), "odd-dir");
        assert_eq!(derived("claude", Some("/h/..."), &["claude"]), "claude-00ac");
        let many: Vec<String> = std::iter::once("repo".to_owned())
            .chain((2..=9).map(|n| format!("repo-{n}")))
            .chain(["claude".to_owned()])
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(derived("claude", repo, &many), "claude-00ac");
    }
}
