//! Splitting argument words into options and positional words, as each CLI's table says.

use super::Refusal;

/// How an option takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// Exactly one.
    One,
    /// One unless the next word is an option.
    Maybe,
    /// All words up to the next option.
    Many,
}

/// The options of one CLI and how it refuses a word.
pub(super) struct Table {
    pub(super) takes: fn(&str) -> Option<Takes>,
    pub(super) unknown: fn(&str) -> Refusal,
    pub(super) missing: fn(&str) -> Refusal,
}

/// What was found, in order.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    options: Vec<(String, Option<String>)>,
    pub(super) positional: Vec<String>,
}

impl Table {
    pub(super) fn parse(&self, words: &[String]) -> Result<Parsed, Refusal> {
        let mut parsed = Parsed::default();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                parsed.positional.extend(words.cloned());
                break;
            }
            if !word.starts_with('-') || word == "-" {
                parsed.positional.push(word.clone());
                continue;
            }
            let (option, attached) = split(word);
            let Some(takes) = (self.takes)(option) else { return Err((self.unknown)(word)) };
            let mut put = |value: Option<String>| parsed.options.push((option.to_owned(), value));
            match (takes, attached) {
                (Takes::Nothing, _) => put(None),
                (Takes::One | Takes::Maybe, Some(value)) => put(Some(value.to_owned())),
                (Takes::One, None) => match words.next() {
                    Some(value) => put(Some(value.clone())),
                    None => return Err((self.missing)(option)),
                },
                (Takes::Maybe, None) => {
                    put(words.next_if(|next| !next.starts_with('-')).cloned());
                }
                (Takes::Many, attached) => {
                    if let Some(value) = attached {
                        put(Some(value.to_owned()));
                    }
                    while let Some(value) = words.next_if(|next| !next.starts_with('-')) {
                        put(Some(value.clone()));
                    }
                }
            }
        }
        Ok(parsed)
    }
}

/// `--option=value` and `-ovalue` hold their value in the same word.
fn split(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
    }
    match word.char_indices().nth(2) {
        Some((at, _)) => (&word[..at], Some(&word[at..])),
        None => (word, None),
    }
}

impl Parsed {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(option, _)| names.contains(&option.as_str()))
    }

    /// The last value given under any of these names.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        self.values(names).last().copied()
    }

    pub(super) fn values(&self, names: &[&str]) -> Vec<&str> {
        let given = self.options.iter().filter(|(option, _)| names.contains(&option.as_str()));
        given.filter_map(|(_, value)| value.as_deref()).collect()
    }
}
