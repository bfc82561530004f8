//! Looks at a few paths of a JSON document and at the soundness of all of it, building nothing.
//!
//! A body of 25 MB would take ten times that as a tree. What is accepted here is exactly what
//! parsing into a tree accepts: every string is decoded, every number read, the depth bounded.

use std::fmt;

use agent_box_event::{Json, Number};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What stands at each path; an array or an object is an empty one here.
pub(crate) fn probe(
    document: &[u8],
    paths: &[&str],
) -> Result<Vec<Option<Json>>, serde_json::Error> {
    let mut found = vec![None; paths.len()];
    let wanted: Vec<Wanted<'_>> =
        paths.iter().enumerate().map(|(index, path)| Wanted { index, rest: Some(path) }).collect();
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    Node { wanted: &wanted, found: &mut found }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}

/// What is looked for below a value; no rest is the value itself.
#[derive(Clone, Copy)]
struct Wanted<'p> {
    index: usize,
    rest: Option<&'p str>,
}

struct Node<'a, 'p> {
    wanted: &'a [Wanted<'p>],
    found: &'a mut Vec<Option<Json>>,
}

impl Node<'_, '_> {
    fn is(self, value: impl FnOnce() -> Option<Json>) {
        let mut here = self.wanted.iter().filter(|it| it.rest.is_none());
        if let Some(first) = here.next() {
            let value = value();
            for other in here {
                self.found[other.index].clone_from(&value);
            }
            self.found[first.index] = value;
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.is(|| Some(Json::Null));
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.is(|| Some(Json::Bool(value)));
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.is(|| Some(Json::Number(Number::integer(value))));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.is(|| Some(Json::Number(Number::integer(value))));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.is(|| Number::float(value).map(Json::Number));
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.is(|| Some(Json::text(value)));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Node { wanted: &[], found: &mut *self.found })?.is_some() {}
        self.is(|| Some(Json::List(Vec::new())));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(below) = members.next_key_seed(Name { wanted: self.wanted })? {
            // A name that stands twice has its last value.
            for it in &below {
                self.found[it.index] = None;
            }
            members.next_value_seed(Node { wanted: &below, found: &mut *self.found })?;
        }
        self.is(|| Some(Json::Object(Vec::new())));
        Ok(())
    }
}

/// Reads a member's name and says what is looked for below it.
struct Name<'a, 'p> {
    wanted: &'a [Wanted<'p>],
}

impl<'de, 'p> DeserializeSeed<'de> for Name<'_, 'p> {
    type Value = Vec<Wanted<'p>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'p> Visitor<'_> for Name<'_, 'p> {
    type Value = Vec<Wanted<'p>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        if name.contains('.') {
            return Ok(Vec::new());
        }
        let below = self.wanted.iter().filter_map(|it| {
            let rest = it.rest?.strip_prefix(name)?;
            let rest = if rest.is_empty() { None } else { Some(rest.strip_prefix('.')?) };
            Some(Wanted { index: it.index, rest })
        });
        Ok(below.collect())
    }
}

#[cfg(test)]
mod tests {
    use agent_box_event::Payload as _;
    use proptest::prelude::*;

    use super::*;
    use crate::Parsed;

    const PATHS: &[&str] = &["a", "a.b", "b", "a.b.c", "", "c.a", "repository.full_name"];

    fn agrees(document: &[u8]) {
        let tree = serde_json::from_slice::<serde_json::Value>(document);
        let probed = probe(document, PATHS);
        match (tree, probed) {
            (Ok(tree), Ok(found)) => {
                let tree = Parsed(tree);
                for (path, found) in PATHS.iter().zip(found) {
                    let found = found.as_ref().map(Json::value);
                    assert_eq!(found, tree.at(path), "{path} of {document:?}");
                }
            }
            (Err(_), Err(_)) => {}
            (tree, probed) => panic!("{tree:?} but {probed:?} of {document:?}"),
        }
    }

    #[test]
    fn it_finds_and_refuses_what_a_tree_does() {
        let deep = |depth| [vec![b'['; depth], vec![b']'; depth]].concat();
        let cases: &[&[u8]] = &[
            br#"{"a":{"b":{"c":1}},"b":[{"a":2}],"":true,"c":{"a":"x"}}"#,
            br#"{"a":{"b":1},"a":2}"#,
            br#"{"a":2,"a":{"b":null}}"#,
            br#"{"a":{"b":"\ud800"}}"#,
            br#"{"z":"\ud800"}"#,
            br#"{"z":["\udc00\ud800"]}"#,
            br#"{"z\ud800":1}"#,
            br#"{"z":1e999}"#,
            br#"{"z":NaN}"#,
            br#"{"z":Infinity}"#,
            b"{\"z\":\"\xff\"}",
            b"\xef\xbb\xbf{}",
            b"{} x",
            b"",
            b" ",
            b"null",
            b"1.0",
            b"18446744073709551616",
            b"\"\n\"",
            br#"{"a":1,}"#,
            br#"{"a.b":7,"a":{"b":8}}"#,
            &deep(100),
            &deep(127),
            &deep(128),
            &deep(100_000),
        ];
        for case in cases {
            agrees(case);
        }
    }

    #[test]
    fn it_agrees_with_a_tree_on_the_fuzzers_corpus() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/body");
        let mut count = 0;
        for body in std::fs::read_dir(folder).unwrap() {
            agrees(&std::fs::read(body.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 20, "{count} bodies in {folder}");
    }

    #[test]
    fn a_name_with_a_dot_is_no_path() {
        let found = probe(br#"{"a.b":7}"#, &["a.b"]).unwrap();
        assert_eq!(found, [None]);
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("1".to_owned()),
            Just("-0".to_owned()),
            Just("1e5".to_owned()),
            Just("null".to_owned()),
            Just("true".to_owned()),
            "\"[a-c\\\\u{}d8]{0,6}\"",
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("a.b")];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|it| format!("[{}]", it.join(","))),
                prop::collection::vec((name, inner), 0..4).prop_map(|it| {
                    let members = it.iter().map(|(name, value)| format!("{name:?}:{value}"));
                    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_tree(document in json(), cut in 0_usize..80) {
            agrees(document.as_bytes());
            agrees(&document.as_bytes()[..cut.min(document.len())]);
        }
    }
}
