//! JSON objects whose values stay text: what nobody changes is written back byte for byte,
//! whatever numbers, escapes and spacing another program used.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// An object's members in file order, repeated keys included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawObject {
    members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    /// The key; a key that is no legal text (a lone surrogate) stands here as it is spelled.
    key: String,
    /// The key as the file spells it, with quotes.
    spelled: String,
    /// The value as the file spells it.
    value: String,
}

impl RawObject {
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|member| (member.key.as_str(), member.value.as_str()))
    }

    /// The value of `key`; of repeated keys the last one counts, as for every JSON reader here.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.members.iter().rfind(|member| member.key == key).map(|member| member.value.as_str())
    }

    /// Sets `key` in its place, or at the end if it is new.
    pub(crate) fn set(&mut self, key: &str, value: String) {
        match self.members.iter_mut().rfind(|member| member.key == key) {
            Some(member) => member.value = value,
            None => self.members.push(Member { key: key.to_owned(), spelled: quote(key), value }),
        }
    }

    /// Removes every occurrence of `key`.
    pub(crate) fn remove(&mut self, key: &str) {
        self.members.retain(|member| member.key != key);
    }

    /// Keeps the members whose key passes.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.members.retain(|member| keep(&member.key));
    }

    /// Gives the member `from` another key, in its place.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        for member in self.members.iter_mut().filter(|member| member.key == from) {
            to.clone_into(&mut member.key);
            member.spelled = quote(to);
        }
    }

    /// The object as text, for a place `depth` levels inside a document of two-space indentation.
    pub(crate) fn print(&self, depth: usize) -> String {
        if self.members.is_empty() {
            return "{}".to_owned();
        }
        let (outer, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
        let members: Vec<String> = self
            .members
            .iter()
            .map(|Member { spelled, value, .. }| format!("{inner}{spelled}: {value}"))
            .collect();
        format!("{{\n{}\n{outer}}}", members.join(",\n"))
    }
}

/// A new value as text, for a place `depth` levels inside a document.
pub(crate) fn print_value(value: &Value, depth: usize) -> String {
    format!("{value:#}").replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Box<RawValue>, Box<RawValue>>()? {
                    let spelled = key.get().to_owned();
                    let key = serde_json::from_str(&spelled).unwrap_or_else(|_| spelled.clone());
                    members.push(Member { key, spelled, value: value.get().to_owned() });
                }
                Ok(RawObject { members })
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_keys_come_back_as_they_were_spelled() {
        let text = "{\n  \"a\\u0062\": 1.0,\n  \"n\": 1e999,\n  \"a\\u0062\": [1,\n 2],\n  \"\\ud800\": {}\n}";
        let object = RawObject::parse(text).unwrap();
        assert_eq!(object.print(0), text);
        assert_eq!(object.get("ab"), Some("[1,\n 2]"));
        assert_eq!(RawObject::default().print(3), "{}");
    }

    #[test]
    fn edits_keep_the_place_and_the_rest() {
        let mut object = RawObject::parse(r#"{"a":1,"b":2.50,"c":3}"#).unwrap();
        object.set("a", "9".to_owned());
        object.rename("b", "B");
        object.remove("c");
        object.set("d", print_value(&serde_json::json!(["x"]), 1));
        assert_eq!(
            object.print(0),
            "{\n  \"a\": 9,\n  \"B\": 2.50,\n  \"d\": [\n    \"x\"\n  ]\n}"
        );
    }
}
