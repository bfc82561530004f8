//! The members that a subscription's row and a declared policy share: what is wanted, and why.

use super::members::ignored;
use crate::{Json, Muted, Predicate};

pub(super) const INCLUDE: &str = "include";
pub(super) const WHEN: &str = "when";
pub(super) const EXCLUDE: &str = "exclude";
pub(super) const DROP: &str = "drop";
pub(super) const IGNORE_SENDERS: &str = "ignoreSenders";
pub(super) const NOTE: &str = "note";

/// What such members say.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) include: Option<Predicate>,
    pub(crate) exclude: Option<Predicate>,
    /// Whether the exclude is the empty object: nothing is excluded, noise neither.
    pub(crate) is_exclude_empty: bool,
    pub(crate) muted: Vec<Muted>,
    pub(crate) note: Option<String>,
    /// What is odd, each with its effect.
    pub(crate) problems: Vec<String>,
}

impl Rules {
    /// The names of the members that are read here.
    pub(crate) const NAMES: [&str; 6] = [INCLUDE, WHEN, EXCLUDE, DROP, IGNORE_SENDERS, NOTE];

    /// Reads an object's members; the newer name of a rule wins.
    pub(crate) fn read(json: &Json) -> Self {
        let mut rules = Self::default();
        let problems = &mut rules.problems;
        let given = |name: &str| json.get(name).filter(|it| **it != Json::Null);
        if let Some(rule) = given(INCLUDE).or_else(|| given(WHEN)) {
            rules.include = Some(readable(rule, INCLUDE, "so nothing is wanted", problems));
        }
        if let Some(rule) = given(EXCLUDE).or_else(|| given(DROP)) {
            rules.is_exclude_empty = *rule == Json::Object(Vec::new());
            if !rules.is_exclude_empty {
                rules.exclude = Some(readable(rule, EXCLUDE, "so nothing is excluded", problems));
            }
        }
        match given(IGNORE_SENDERS) {
            None => {}
            Some(Json::List(items)) => {
                let texts = items.iter().filter_map(Json::as_text).filter(|it| !it.is_empty());
                rules.muted = texts.map(Muted::parse).collect();
                if rules.muted.len() < items.len() {
                    problems.push(format!("`{IGNORE_SENDERS}` holds what is no login"));
                }
            }
            Some(_) => problems.push(ignored(IGNORE_SENDERS, "no list of logins")),
        }
        match given(NOTE) {
            None => {}
            Some(Json::Text(note)) => rules.note = Some(note.clone()).filter(|it| !it.is_empty()),
            Some(_) => problems.push(ignored(NOTE, "no text")),
        }
        rules
    }
}

fn readable(rule: &Json, name: &str, effect: &str, problems: &mut Vec<String>) -> Predicate {
    if let Err(error) = Predicate::parse(rule) {
        problems.push(format!("`{name}` cannot be read, {effect}: {error}"));
    }
    Predicate::read(rule)
}
