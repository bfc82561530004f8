//! Which agent a session runs.

use std::fmt;

use thiserror::Error;

/// The program kind that a session runs; the registry's `agent` field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// The user's login shell.
    Shell,
    /// Any other program that the box lists; started by the generic rules.
    Other(String),
}

/// The text cannot name an agent kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not an agent kind; use letters, digits, `_` and `-`")]
pub struct ParseAgentError(String);

impl Agent {
    /// Reads an agent kind as the registry and the command line spell it.
    pub fn parse(text: &str) -> Result<Self, ParseAgentError> {
        match text {
            "claude" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex),
            "shell" => Ok(Self::Shell),
            other
                if !other.is_empty()
                    && other.len() <= 64
                    && !other.starts_with('-')
                    && other
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') =>
            {
                Ok(Self::Other(other.to_owned()))
            }
            other => Err(ParseAgentError(other.chars().take(80).collect())),
        }
    }

    /// The kind as the registry spells it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Shell => "shell",
            Self::Other(kind) => kind,
        }
    }

    /// Whether the agent keeps transcripts that can prove a prompt arrived.
    ///
    /// The others get a prompt once as it is; after a death they are only reminded of it.
    pub fn keeps_transcripts(&self) -> bool {
        matches!(self, Self::Claude | Self::Codex)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
