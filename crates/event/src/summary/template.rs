//! How a line is made from a template and an event.
//!
//! ```text
//! issue #{issue.number} {word action} on {repo}[, assignee {assignee.login}]: {issue.title}
//! ```
//!
//! Words outside braces are ours. A field in braces is a path, or several with `|` between them,
//! of which the first that has a value counts; a filter may stand before it:
//!
//! | filter | shows |
//! |---|---|
//! | – | the value: text wrapped, numbers plain |
//! | `word` | the value; plain if it is one of the words that this program knows |
//! | `long` | the value, cut later than others |
//! | `first` | the first line of the text |
//! | `branch` | the text without `refs/heads/` |
//! | `url` | the text, if it is an https address |
//! | `count P noun` | the number of items of a list, and the noun in its number |
//! | `list P:F` | the field of the first items of a list, or the items themselves |
//! | `failed P:F` | the same of those items whose conclusion says that they broke |
//! | `if P:words` | the words, if the value is neither absent nor false nor null |
//! | `choose P:a/b` | `a` if so, `b` if not |
//!
//! A part in brackets is left out unless all its fields have values; elsewhere a field without
//! one shows as unknown. `repo`, `sender` and `kind` are the event's own.

use super::words;
use crate::ci::is_failing_value;
use crate::{Cut, Event, Line, Payload, Untrusted, Value};

/// Stands for a value that the payload does not have.
pub(super) const UNKNOWN: &str = "(unknown)";

/// Of a text that people wrote to be read.
const LONG: Cut = Cut { chars: 500, bytes: 2000 };
/// Of a list, so many items are named.
const ITEMS: usize = 5;
/// And so many looked at.
const LOOKED_AT: usize = 200;

/// A field's value, ready to be added to a line.
enum Shown<'a> {
    Words(&'static str),
    Number(u64),
    Count(usize, &'static str),
    Value(Untrusted<&'a str>, Cut),
    Odd(Untrusted<String>),
    Items { shown: Vec<Untrusted<&'a str>>, more: usize },
}

/// Adds what a template says about an event to a line.
pub(super) fn fill(mut line: Line, template: &'static str, event: &Event<'_>) -> Line {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('[') {
        let (optional, after) = after.split_once(']').expect("BUG: a bracket is not closed");
        line = fill_part(line, before, event);
        if fields(optional).all(|field| shown(field, event).is_some()) {
            line = fill_part(line, optional, event);
        }
        rest = after;
    }
    fill_part(line, rest, event)
}

fn fill_part(mut line: Line, mut part: &'static str, event: &Event<'_>) -> Line {
    while let Some((words, after)) = part.split_once('{') {
        let (field, after) = after.split_once('}').expect("BUG: a brace is not closed");
        line = line.say(words);
        line = shown(field, event).unwrap_or(Shown::Words(UNKNOWN)).add_to(line);
        part = after;
    }
    line.say(part)
}

/// The fields of a part of a template.
pub(super) fn fields(part: &'static str) -> impl Iterator<Item = &'static str> {
    part.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

fn shown<'a>(field: &'static str, event: &'a Event<'_>) -> Option<Shown<'a>> {
    let (filter, operand) = field.split_once(' ').unwrap_or(("", field));
    let text = || as_text(find(operand, event)?);
    match filter {
        "" => Some(Shown::of(find(operand, event)?)),
        "word" => match find(operand, event)? {
            Value::Text(text) if words::known(text).is_some() => {
                words::known(text).map(Shown::Words)
            }
            other => Some(Shown::of(other)),
        },
        "long" => Some(Shown::Value(Untrusted::new(text()?), LONG)),
        "first" => {
            let first = text()?.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some(Shown::of(Value::Text(first)))
        }
        "branch" => {
            let text = text()?;
            Some(Shown::of(Value::Text(text.strip_prefix("refs/heads/").unwrap_or(text))))
        }
        "url" => operand.split('|').find_map(|path| {
            let text = as_text(find(path, event)?)?;
            text.starts_with("https://").then(|| Shown::of(Value::Text(text)))
        }),
        "count" => {
            let (list, noun) = operand.split_once(' ')?;
            Some(Shown::Count(event.length(list)?, noun))
        }
        "list" => items(operand, event, |_| true),
        "failed" => items(
            operand,
            event,
            |conclusion| matches!(conclusion, Some(Value::Text(text)) if is_failing_value(text)),
        ),
        "if" => {
            let (path, words) = operand.split_once(':')?;
            is_true(event.at(path)).then_some(Shown::Words(words))
        }
        "choose" => {
            let (path, words) = operand.split_once(':')?;
            let (yes, no) = words.split_once('/')?;
            Some(Shown::Words(if is_true(event.at(path)) { yes } else { no }))
        }
        _ => None,
    }
}

/// The first of several paths that leads to a value with something in it.
fn find<'a>(paths: &'static str, event: &'a Event<'_>) -> Option<Value<'a>> {
    paths.split('|').find_map(|path| {
        let found = match path {
            "kind" => Some(Value::Text(event.kind)),
            "sender" => event.sender.map(Value::Text).or_else(|| event.at("sender.login")),
            "repo" => find(super::REPO, event),
            path => event.at(path),
        };
        found.filter(|it| it.is_scalar() && *it != Value::Text(""))
    })
}

fn as_text(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn is_true(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|it| it != Value::Null && it != Value::Bool(false))
}

/// The named field of a list's items, of those whose conclusion is wanted.
fn items<'a>(
    operand: &'static str,
    event: &'a Event<'_>,
    is_wanted: impl Fn(Option<Value<'_>>) -> bool,
) -> Option<Shown<'a>> {
    let (list, field) = operand.split_once(':').unwrap_or((operand, ""));
    let length = event.length(list)?;
    let wanted = (0..length.min(LOOKED_AT))
        .filter(|index| is_wanted(event.item(list, *index, "conclusion")))
        .filter_map(|index| as_text(event.item(list, index, field)?));
    let mut shown: Vec<Untrusted<&str>> = wanted.map(Untrusted::new).collect();
    let more = shown.len().saturating_sub(ITEMS) + length.saturating_sub(LOOKED_AT);
    shown.truncate(ITEMS);
    (!shown.is_empty()).then_some(Shown::Items { shown, more })
}

impl<'a> Shown<'a> {
    fn of(value: Value<'a>) -> Self {
        match value {
            Value::Text(text) => Self::Value(Untrusted::new(text), Cut::VALUE),
            Value::Bool(true) => Self::Words("true"),
            Value::Bool(false) => Self::Words("false"),
            Value::Number(number) => number
                .as_u64()
                .map_or_else(|| Self::Odd(Untrusted::new(number.to_string())), Self::Number),
            Value::Null | Value::Nested => Self::Words(UNKNOWN),
        }
    }

    fn add_to(self, line: Line) -> Line {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        match self {
            Self::Words(words) => line.say(words),
            Self::Number(number) => line.number(number),
            Self::Count(count, noun) => {
                let line = line.number(number(count)).say(" ").say(noun);
                if count == 1 { line } else { line.say("s") }
            }
            Self::Value(value, cut) => line.show_up_to(&value, cut),
            Self::Odd(value) => line.show(&value),
            Self::Items { shown, more } => {
                let mut line = line;
                for (index, item) in shown.iter().enumerate() {
                    line = line.say(if index == 0 { "" } else { ", " }).show(item);
                }
                if more == 0 { line } else { line.say(" and ").number(number(more)).say(" more") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::event::tests::payload;

    #[test]
    fn a_part_in_brackets_needs_all_its_fields() {
        let check = |fields: &[(&str, &str)], expected: &str| {
            let payload = payload(fields);
            let event = Event { topic: None, kind: "k", sender: None, payload: &payload };
            let line = Line::new(&Source::parse("s").unwrap());
            let start = line.as_str().to_owned();
            let line = fill(line, "begin[, {a} of {b}], {kind} {c|d}", &event);
            let text = line.as_str().strip_prefix(&start).unwrap().replace("⟪UNTRUSTED:", "<");
            assert_eq!(text.replace('⟫', ">"), expected);
        };
        check(&[("a", "1"), ("b", "x"), ("c", "y")], "begin, 1 of <x>, <k> <y>");
        check(&[("a", "1"), ("d", "z")], "begin, <k> <z>");
        check(&[("b", "x"), ("c", ""), ("d", "z")], "begin, <k> <z>");
        check(&[("a", "{}"), ("b", "x")], "begin, <k> (unknown)");
    }
}
