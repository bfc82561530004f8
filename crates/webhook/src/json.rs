//! Between the JSON that is parsed here and the JSON that decisions look at.

use agent_box_event::{Json, Number, Payload, Value};
use serde_json::Value as Raw;

/// A payload as it was parsed.
#[derive(Clone, Debug)]
pub struct Parsed(pub Raw);

impl Payload for Parsed {
    fn at(&self, path: &str) -> Option<Value<'_>> {
        walk(&self.0, path).and_then(value)
    }

    fn scalars(&self, most: usize) -> Vec<(&str, Value<'_>)> {
        let members = self.0.as_object().into_iter().flatten();
        let named = members.filter_map(|(name, it)| Some((name.as_str(), value(it)?)));
        named.filter(|(_, it)| it.is_scalar()).take(most).collect()
    }

    fn length(&self, list: &str) -> Option<usize> {
        walk(&self.0, list)?.as_array().map(Vec::len)
    }

    fn item(&self, list: &str, index: usize, path: &str) -> Option<Value<'_>> {
        let item = walk(&self.0, list)?.as_array()?.get(index)?;
        if path.is_empty() { value(item) } else { walk(item, path).and_then(value) }
    }
}

fn walk<'a>(raw: &'a Raw, path: &str) -> Option<&'a Raw> {
    path.split('.').try_fold(raw, |node, name| node.as_object()?.get(name))
}

fn value(raw: &Raw) -> Option<Value<'_>> {
    Some(match raw {
        Raw::Null => Value::Null,
        Raw::Bool(it) => Value::Bool(*it),
        Raw::Number(it) => Value::Number(number(it)?),
        Raw::String(it) => Value::Text(it),
        Raw::Array(_) | Raw::Object(_) => Value::Nested,
    })
}

fn number(raw: &serde_json::Number) -> Option<Number> {
    raw.as_i128().map(Number::integer).or_else(|| raw.as_f64().and_then(Number::float))
}

/// The tree that rules and contracts are read from.
pub fn to_event_json(raw: &Raw) -> Json {
    match raw {
        Raw::Null => Json::Null,
        Raw::Bool(it) => Json::Bool(*it),
        Raw::Number(it) => number(it).map_or(Json::Null, Json::Number),
        Raw::String(it) => Json::Text(it.clone()),
        Raw::Array(items) => Json::List(items.iter().map(to_event_json).collect()),
        Raw::Object(members) => Json::Object(
            members.iter().map(|(name, it)| (name.clone(), to_event_json(it))).collect(),
        ),
    }
}

/// The tree that is written.
pub fn from_event_json(json: &Json) -> Raw {
    match json {
        Json::Null => Raw::Null,
        Json::Bool(it) => Raw::Bool(*it),
        Json::Number(it) => it
            .as_integer()
            .and_then(serde_json::Number::from_i128)
            .or_else(|| serde_json::Number::from_f64(it.as_f64()))
            .map_or(Raw::Null, Raw::Number),
        Json::Text(it) => Raw::String(it.clone()),
        Json::List(items) => Raw::Array(items.iter().map(from_event_json).collect()),
        Json::Object(members) => Raw::Object(
            members.iter().map(|(name, it)| (name.clone(), from_event_json(it))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_keep_values_and_order() {
        let text =
            r#"{"z":[1,-2,2.5,true,null,"ü"],"a":{"b":{"c":1e3}},"big":18446744073709551615}"#;
        let raw: Raw = serde_json::from_str(text).unwrap();
        let json = to_event_json(&raw);
        let back = from_event_json(&json);
        assert_eq!(back["z"], raw["z"]);
        assert_eq!(back["big"], raw["big"]);
        assert_eq!(back["a"]["b"]["c"], 1000, "1e3 is a whole number");
        let names: Vec<&String> = back.as_object().unwrap().keys().collect();
        assert_eq!(names, ["z", "a", "big"]);
        let parsed = Parsed(raw);
        assert_eq!(parsed.at("a.b.c"), Some(Value::Number(Number::integer(1000))));
        assert_eq!(parsed.at("z"), Some(Value::Nested));
        assert_eq!(parsed.at("z.0"), None, "paths walk objects only");
        assert_eq!(parsed.at("a.x"), None);
        assert_eq!(parsed.length("z"), Some(6));
        assert_eq!(parsed.length("a"), None);
        assert_eq!(parsed.item("z", 5, ""), Some(Value::Text("ü")));
        assert_eq!(parsed.item("z", 6, ""), None);
        let big = Value::Number(Number::integer(u64::MAX));
        assert_eq!(parsed.scalars(6), [("big", big)]);
    }
}
