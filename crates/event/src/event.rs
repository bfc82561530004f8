//! One delivery as the decisions see it.

use crate::{Payload, Topic, Value};

/// What a delivery says, borrowed from whoever parsed it.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// What it is about; without a topic it reaches nobody.
    pub topic: Option<&'a Topic>,
    /// The sender's name for the kind of event: `push`, `workflow_run`.
    pub kind: &'a str,
    /// Who acted.
    pub sender: Option<&'a str>,
    /// The body.
    pub payload: &'a dyn Payload,
}

impl Event<'_> {
    /// The string at a path.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.payload.at(path) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The whole number at a path.
    pub fn number(&self, path: &str) -> Option<u64> {
        match self.payload.at(path) {
            Some(Value::Number(number)) => number.as_u64(),
            _ => None,
        }
    }
}

/// Rules see the payload with the kind as `event`, unless the payload has a field of that name.
impl Payload for Event<'_> {
    fn at(&self, path: &str) -> Option<Value<'_>> {
        let own = self.payload.at(path);
        if own.is_none() && path == "event" { Some(Value::Text(self.kind)) } else { own }
    }

    fn scalars(&self, most: usize) -> Vec<(&str, Value<'_>)> {
        self.payload.scalars(most)
    }

    fn length(&self, list: &str) -> Option<usize> {
        self.payload.length(list)
    }

    fn item(&self, list: &str, index: usize, path: &str) -> Option<Value<'_>> {
        self.payload.item(list, index, path)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Json, Number};

    /// A payload from `path = value` pairs; digits are numbers, `{}` is an object.
    pub(crate) fn payload(fields: &[(&str, &str)]) -> Json {
        let mut root = Json::Object(Vec::new());
        for (path, value) in fields {
            let leaf = match value.parse::<u64>() {
                Ok(number) => Json::Number(Number::integer(number)),
                Err(_) if *value == "{}" => Json::Object(Vec::new()),
                Err(_) => Json::text(*value),
            };
            insert(&mut root, path, leaf);
        }
        root
    }

    fn insert(node: &mut Json, path: &str, leaf: Json) {
        let Json::Object(members) = node else { panic!("{path}: not an object") };
        let (name, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
        let Some(rest) = rest else { return members.push((name.to_owned(), leaf)) };
        if !members.iter().any(|(key, _)| key == name) {
            members.push((name.to_owned(), Json::Object(Vec::new())));
        }
        let child = members.iter_mut().find(|(key, _)| key == name);
        insert(&mut child.expect("BUG: just added").1, rest, leaf);
    }

    #[test]
    fn the_kind_stands_in_for_a_missing_event_field_only() {
        let with = payload(&[("event", "schedule")]);
        let without = payload(&[]);
        let event = |payload| Event { topic: None, kind: "push", sender: None, payload };
        assert_eq!(event(&with).at("event"), Some(Value::Text("schedule")));
        assert_eq!(event(&without).at("event"), Some(Value::Text("push")));
        assert_eq!(event(&without).at("event.x"), None);
    }
}
