//! What an event is about, and the patterns that subscriptions name.
//!
//! A pattern is `source:key` or `source:prefix/*`; there is no catch-all. `owner/name` and
//! `owner/*` are short for GitHub's. Matching and identity ignore ASCII case on both halves,
//! because senders do.

use std::fmt;

use thiserror::Error;

use crate::source::{is_name_byte, shortened};
use crate::{ParseSourceError, Source};

/// The routing key that a payload names: 1 to 200 printable ASCII characters, no blanks.
///
/// An event whose key is anything else has no key, and an event without a key reaches nobody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey(String);

/// Why a text cannot be a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{}` cannot be a key; use 1 to 200 printable ASCII characters without blanks",
    .0.escape_debug()
)]
pub struct ParseKeyError(String);

impl EventKey {
    /// The longest key, in characters.
    pub const MAX_LENGTH: usize = 200;

    /// Accepts a whole key.
    pub fn parse(text: &str) -> Result<Self, ParseKeyError> {
        let legal = !text.is_empty()
            && text.len() <= Self::MAX_LENGTH
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if legal { Ok(Self(text.to_owned())) } else { Err(ParseKeyError(shortened(text))) }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `source:key`, what one event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic {
    source: Source,
    key: EventKey,
}

impl Topic {
    /// The topic of an event that has a key.
    pub fn new(source: Source, key: EventKey) -> Self {
        Self { source, key }
    }

    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Result<Self, ParsePatternError> {
        let (source, key) = halves(text)?;
        Ok(Self { source, key: EventKey::parse(key)? })
    }

    /// Who sent it.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What it is about.
    pub fn key(&self) -> &EventKey {
        &self.key
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.key.0)
    }
}

/// The topics that a subscription is interested in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicPattern {
    source: Source,
    /// With the star, if it has one.
    key: String,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParsePatternError {
    /// There is no colon, and it is not the short form for GitHub.
    #[error("`{}` is no topic; write `source:key`, `owner/name` or `owner/*`", .0.escape_debug())]
    NoSource(String),
    /// The part before the colon.
    #[error(transparent)]
    Source(#[from] ParseSourceError),
    /// The part after the colon.
    #[error(transparent)]
    Key(#[from] ParseKeyError),
    /// It would match everything a source sends.
    #[error("`{0}` would match everything; name a key, or an owner as in `source:owner/*`")]
    CatchAll(String),
    /// A star that is not the whole last part would never match.
    #[error("`{0}` has a `*` that never matches; a star stands only at the end, after a `/`")]
    Star(String),
}

impl TopicPattern {
    /// Accepts a pattern, or the short form of one of GitHub's.
    pub fn parse(text: &str) -> Result<Self, ParsePatternError> {
        if text == "*" {
            return Err(ParsePatternError::CatchAll(text.to_owned()));
        }
        let long = if is_short_form(text) { format!("github:{text}") } else { text.to_owned() };
        let (source, key) = halves(&long)?;
        let key = EventKey::parse(key)?.0;
        let prefix = key.strip_suffix("/*");
        if key == "*" || prefix == Some("") {
            return Err(ParsePatternError::CatchAll(long));
        }
        if prefix.unwrap_or(&key).contains('*') {
            return Err(ParsePatternError::Star(long));
        }
        Ok(Self { source, key })
    }

    /// The pattern that matches one topic only, unless its key has a star.
    pub fn exactly(topic: &Topic) -> Result<Self, ParsePatternError> {
        Self::parse(&topic.to_string())
    }

    /// Whether an event about `topic` is meant.
    pub fn matches(&self, topic: &Topic) -> bool {
        let key = topic.key.0.as_bytes();
        let key_matches = match self.key.strip_suffix('*') {
            Some(prefix) => {
                key.len() > prefix.len()
                    && key[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
            }
            None => key.eq_ignore_ascii_case(self.key.as_bytes()),
        };
        key_matches && self.source.as_str().eq_ignore_ascii_case(topic.source.as_str())
    }

    /// Whether both are the same pattern to a person: case does not count.
    pub fn is_same(&self, other: &Self) -> bool {
        self.source.as_str().eq_ignore_ascii_case(other.source.as_str())
            && self.key.eq_ignore_ascii_case(&other.key)
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.key)
    }
}

/// `owner/name` or `owner/*`.
fn is_short_form(text: &str) -> bool {
    let name = |part: &str| !part.is_empty() && part.bytes().all(is_name_byte);
    text.split_once('/').is_some_and(|(owner, rest)| name(owner) && (rest == "*" || name(rest)))
}

fn halves(text: &str) -> Result<(Source, &str), ParsePatternError> {
    let (source, key) =
        text.split_once(':').ok_or_else(|| ParsePatternError::NoSource(shortened(text)))?;
    Ok((Source::parse(source)?, key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn topic(text: &str) -> Topic {
        Topic::parse(text).unwrap()
    }

    #[test]
    fn patterns_match_whole_keys_or_whole_path_parts() {
        let check = |pattern: &str, key: &str, expected: bool| {
            let matched = TopicPattern::parse(pattern).unwrap().matches(&topic(key));
            assert_eq!(matched, expected, "{pattern} against {key}");
        };
        check("github:o/r", "github:o/r", true);
        check("GitHub:O/R", "github:o/r", true);
        check("o/r", "github:o/r", true);
        check("o/*", "github:O/r", true);
        check("github:o/*", "github:ox/r", false);
        check("github:o/*", "github:o", false);
        check("github:o/*", "github:o/", false);
        check("github:o/r", "gitea:o/r", false);
        check("github:o/r", "github:o/r2", false);
        check("alerts:disk:full", "alerts:disk:full", true);
    }

    #[test]
    fn what_could_never_match_or_always_would_is_refused() {
        let check = |pattern: &str, expected: &str| {
            let error = TopicPattern::parse(pattern).unwrap_err().to_string();
            assert!(error.contains(expected), "{pattern:?}: {error}");
        };
        check("*", "would match everything");
        check("github:*", "would match everything");
        check("github:/*", "would match everything");
        check("github:pre*", "never matches");
        check("github:*/r", "never matches");
        check("", "is no topic");
        check("main", "is no topic");
        check("github:", "cannot be a key");
        check("github:a b", "cannot be a key");
        check("git hub:a", "cannot name a source");
        check("github:a\nb", "cannot be a key");
    }

    #[test]
    fn keys_are_short_printable_and_without_blanks() {
        assert!(EventKey::parse(&"k".repeat(200)).is_ok());
        for bad in ["", "a b", "a\0b", "a\u{202e}b", "ä", &"k".repeat(201)] {
            assert!(EventKey::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn topics_read_what_they_print(text in "[A-Za-z0-9._-]{1,9}:[!-~]{1,30}") {
            let topic = Topic::parse(&text).unwrap();
            prop_assert_eq!(topic.to_string(), text);
            prop_assert_eq!(Topic::parse(&topic.to_string()).unwrap(), topic);
        }

        #[test]
        fn patterns_read_what_they_print(text in "([a-z]{1,3}:)?[!-~]{1,4}(/[*a-z]{1,2})?") {
            if let Ok(pattern) = TopicPattern::parse(&text) {
                prop_assert_eq!(&TopicPattern::parse(&pattern.to_string()).unwrap(), &pattern);
                prop_assert!(pattern.is_same(&pattern));
            }
        }

        #[test]
        fn a_topic_without_a_star_is_matched_by_its_own_pattern(text in "[a-z]{1,3}:[!-)+-~]{1,9}") {
            let topic = topic(&text);
            prop_assert!(TopicPattern::exactly(&topic).unwrap().matches(&topic));
        }

        #[test]
        fn no_text_breaks_the_parsers(text in "\\PC{0,20}") {
            let _ = (Topic::parse(&text), TopicPattern::parse(&text), EventKey::parse(&text));
        }
    }
}
