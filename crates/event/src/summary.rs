//! What an event says, in one line, and its fields for programs.
//!
//! Every kind of GitHub's has a template. The names of the fields are proven by real payloads in
//! the receiver's tests; those of kinds without an example were compared with GitHub's schema, as
//! npm's `@octokit/openapi-webhooks` 12.1.0 has it. Nothing is decided from a line: decisions read
//! the payload.

mod automation;
mod code;
mod people;
mod security;
mod talk;
mod template;
mod words;

use crate::{
    Cut, DeliveryId, Event, Line, Payload, Source, Untrusted, Value, derive_text, sanitize,
};

/// Where something happened, from the closest to the widest.
const REPO: &str = "repository.full_name|organization.login|installation.account.login|\
                    enterprise.slug";

/// Kinds without a template, those of later years above all.
const ANY: &str = "{kind}[.{word action}][ on {repo}][ by {sender}]";

/// So many fields of an unknown sender's payload are shown.
const GENERIC_FIELDS: usize = 6;

/// The tables, each a family of kinds. A name is `kind.action`, or `kind` for all other actions.
const TABLES: [&[(&str, &str)]; 5] =
    [code::LINES, talk::LINES, automation::LINES, security::LINES, people::LINES];

/// Whether a kind of GitHub's has a line of its own.
pub fn is_known(kind: &str) -> bool {
    template(kind).is_some()
}

fn template(name: &str) -> Option<&'static str> {
    TABLES.iter().flat_map(|table| table.iter()).find(|row| row.0 == name).map(|row| row.1)
}

/// The line of an event in GitHub's format.
pub fn github(event: &Event<'_>, source: &Source) -> Line {
    let action = event.text("action").unwrap_or_default();
    let own = template(&format!("{}.{action}", event.kind)).or_else(|| template(event.kind));
    template::fill(Line::new(source), own.unwrap_or(ANY), event)
}

/// The line of an event in a format that is not known: what it is, and the first plain fields.
pub fn generic(event: &Event<'_>, source: &Source) -> Line {
    let line = Line::new(source);
    let mut line = match event.kind {
        "" => line.say("delivery"),
        kind => line.show(&Untrusted::new(kind)),
    };
    if let Some(topic) = event.topic {
        line = line.say(" for ").show(&Untrusted::new(topic.key().as_str()));
    }
    for (index, (name, value)) in event.scalars(GENERIC_FIELDS).into_iter().enumerate() {
        let text = shown(value);
        line = line.say(if index == 0 { ": " } else { " " });
        line = line.show(&Untrusted::new(name)).say("=").show(&Untrusted::new(text));
    }
    line
}

/// The fields of an event in GitHub's format, for programs that read them beside the line.
pub fn github_meta(
    event: &Event<'_>,
    source: &Source,
    delivery: Option<&DeliveryId>,
) -> Vec<(&'static str, String)> {
    let first = |paths: &str| paths.split('|').find_map(|path| derive_text(event.at(path)));
    let mut meta = meta(event, source, delivery);
    let reference = event.text("ref").map(|it| it.strip_prefix("refs/heads/").unwrap_or(it));
    let given = [
        ("repo", first(REPO)),
        ("sender", event.sender.map(str::to_owned).or_else(|| first("sender.login"))),
        ("action", first("action")),
        ("number", first("pull_request.number|issue.number|discussion.number|alert.number")),
        ("ref", reference.map(str::to_owned)),
        ("commits", event.length("commits").map(|it| it.to_string())),
        ("state", first("review.state|deployment_status.state|state")),
        ("status", first(&of_run("status"))),
        ("conclusion", first(&of_run("conclusion"))),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, clean(&value?))));
    meta.extend(given.filter(|(_, value)| !value.is_empty()));
    meta
}

/// The fields of an event in a format that is not known.
pub fn generic_meta(
    event: &Event<'_>,
    source: &Source,
    delivery: Option<&DeliveryId>,
) -> Vec<(&'static str, String)> {
    let mut meta = meta(event, source, delivery);
    meta.extend(event.topic.map(|topic| ("key", clean(topic.key().as_str()))));
    meta
}

fn meta(
    event: &Event<'_>,
    source: &Source,
    delivery: Option<&DeliveryId>,
) -> Vec<(&'static str, String)> {
    let mut meta = vec![("event", clean(event.kind)), ("source", clean(source.as_str()))];
    meta.extend(delivery.map(|id| ("delivery", clean(id.as_str()))));
    meta
}

fn of_run(field: &str) -> String {
    let runs = ["workflow_run", "workflow_job", "check_run", "check_suite"];
    runs.map(|run| format!("{run}.{field}")).join("|")
}

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Nested => String::new(),
    }
}

fn clean(text: &str) -> String {
    sanitize(text, Cut::VALUE)
}

#[cfg(test)]
mod tests;
