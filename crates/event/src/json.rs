//! The little of JSON that decisions need: a tree for rules and contracts, and a way to look
//! into payloads that others have parsed.

use std::fmt;

/// A JSON value; objects keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

/// A number, so made that equal values are equal: `1.0` is `1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Integer(i128),
    Fraction(f64),
}

impl Number {
    /// Beyond this, floats skip integers, and are kept as they are.
    const EXACT: f64 = 9_007_199_254_740_992.0;

    /// A whole number.
    pub fn integer(value: impl Into<i128>) -> Self {
        Self(Kind::Integer(value.into()))
    }

    /// A number with a fraction or an exponent; `None` for what JSON cannot say.
    pub fn float(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        if value.fract() == 0.0 && value.abs() <= Self::EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
            return Some(Self::integer(value as i64));
        }
        Some(Self(Kind::Fraction(value)))
    }

    /// The whole number, if it is one that is not negative and fits.
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Kind::Integer(value) => u64::try_from(value).ok(),
            Kind::Fraction(_) => None,
        }
    }

    /// The number as a float, for those who convert to another JSON type.
    pub fn as_f64(self) -> f64 {
        match self.0 {
            #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
            Kind::Integer(value) => value as f64,
            Kind::Fraction(value) => value,
        }
    }

    /// The whole number, if it is one.
    pub fn as_integer(self) -> Option<i128> {
        match self.0 {
            Kind::Integer(value) => Some(value),
            Kind::Fraction(_) => None,
        }
    }
}

/// What a path leads to in a payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(&'a str),
    /// An array or an object.
    Nested,
}

/// A parsed payload, whoever parsed it.
pub trait Payload {
    /// What stands at a dotted path; paths walk objects only. `None` if nothing does.
    fn at(&self, path: &str) -> Option<Value<'_>>;

    /// The first strings, numbers and booleans of the top level with their names, in the order
    /// of the text.
    fn scalars(&self, most: usize) -> Vec<(&str, Value<'_>)>;

    /// How many items the array at a dotted path has; `None` if there is no array.
    fn length(&self, list: &str) -> Option<usize>;

    /// What stands at a dotted path in an item of the array at `list`; the item itself if the
    /// path is empty.
    fn item(&self, list: &str, index: usize, path: &str) -> Option<Value<'_>>;
}

impl Json {
    /// A string.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, it)| it),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number that is not negative, if it is one.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The view that rules compare with.
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(value) => Value::Number(*value),
            Self::Text(text) => Value::Text(text),
            Self::List(_) | Self::Object(_) => Value::Nested,
        }
    }
}

/// Compact JSON text, to show a value or to name one by.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => quote(text, f),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    quote(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

/// As JSON writes it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Integer(value) => write!(f, "{value}"),
            Kind::Fraction(value) => write!(f, "{value}"),
        }
    }
}

impl Json {
    fn walk(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, name| node.get(name))
    }

    fn list(&self, path: &str) -> Option<&[Self]> {
        match self.walk(path)? {
            Self::List(items) => Some(items),
            _ => None,
        }
    }
}

impl Payload for Json {
    fn at(&self, path: &str) -> Option<Value<'_>> {
        self.walk(path).map(Self::value)
    }

    fn scalars(&self, most: usize) -> Vec<(&str, Value<'_>)> {
        let Self::Object(members) = self else { return Vec::new() };
        let named = members.iter().map(|(name, it)| (name.as_str(), it.value()));
        named.filter(|(_, it)| it.is_scalar()).take(most).collect()
    }

    fn length(&self, list: &str) -> Option<usize> {
        self.list(list).map(<[Self]>::len)
    }

    fn item(&self, list: &str, index: usize, path: &str) -> Option<Value<'_>> {
        let item = self.list(list)?.get(index)?;
        let found = if path.is_empty() { Some(item) } else { item.walk(path) };
        found.map(Self::value)
    }
}

impl Value<'_> {
    /// Whether it is a string, a number or a boolean.
    pub fn is_scalar(self) -> bool {
        !matches!(self, Self::Null | Self::Nested)
    }
}

/// The text of an envelope's derived field: a scalar as JSON writes it, cut to 200 characters;
/// `None` for nothing, `null`, an array or an object.
pub fn derive_text(value: Option<Value<'_>>) -> Option<String> {
    let text = match value? {
        Value::Null | Value::Nested => return None,
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.chars().take(200).collect(),
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &[(&str, Json)]) -> Json {
        Json::Object(members.iter().map(|(key, it)| ((*key).to_owned(), it.clone())).collect())
    }

    #[test]
    fn paths_walk_objects_only() {
        let payload = object(&[
            ("a", object(&[("b", Json::text("x"))])),
            ("l", Json::List(vec![Json::Null])),
        ]);
        assert_eq!(payload.at("a.b"), Some(Value::Text("x")));
        assert_eq!(payload.at("a"), Some(Value::Nested));
        for absent in ["", ".", "a.c", "a.b.c", "l.0", "x"] {
            assert_eq!(payload.at(absent), None, "{absent:?}");
        }
    }

    #[test]
    fn lists_and_the_top_level_are_looked_into() {
        let person = |name: &str| object(&[("login", Json::text(name))]);
        let payload = object(&[
            ("none", Json::Null),
            ("a", Json::text("x")),
            ("deep", object(&[("l", Json::List(vec![person("joe"), Json::text("t")]))])),
            ("b", Json::Bool(true)),
            ("c", Json::text("y")),
        ]);
        let scalars = [("a", Value::Text("x")), ("b", Value::Bool(true))];
        assert_eq!(payload.scalars(2), scalars);
        assert_eq!(payload.scalars(9).len(), 3);
        assert_eq!(payload.length("deep.l"), Some(2));
        assert_eq!(payload.length("deep"), None);
        assert_eq!(payload.item("deep.l", 0, "login"), Some(Value::Text("joe")));
        assert_eq!(payload.item("deep.l", 0, ""), Some(Value::Nested));
        assert_eq!(payload.item("deep.l", 1, ""), Some(Value::Text("t")));
        assert_eq!(payload.item("deep.l", 1, "login"), None);
        assert_eq!(payload.item("deep.l", 2, ""), None);
        assert_eq!(payload.item("a", 0, ""), None);
        assert!(Json::Null.scalars(9).is_empty());
    }

    #[test]
    fn equal_numbers_are_equal_however_they_were_written() {
        assert_eq!(Number::float(1.0), Some(Number::integer(1)));
        assert_ne!(Number::float(1.5), Some(Number::integer(1)));
        assert_eq!(Number::float(f64::NAN), None);
        assert_eq!(Number::integer(u64::MAX).as_u64(), Some(u64::MAX));
        assert_eq!(Number::integer(-1).as_u64(), None);
    }

    #[test]
    fn json_prints_as_compact_text() {
        let json = object(&[
            ("a\"\n", Json::List(vec![Json::Null, Json::Bool(true), Json::text("\\ü\u{7f}")])),
            ("b", object(&[])),
            ("c", Json::Number(Number::float(-0.5).unwrap())),
        ]);
        let expected = r#"{"a\"\u000a":[null,true,"\\ü\u007f"],"b":{},"c":-0.5}"#;
        assert_eq!(json.to_string(), expected);
    }

    #[test]
    fn derived_texts_are_scalars_of_at_most_200_characters() {
        let check = |value, expected: Option<&str>| {
            assert_eq!(derive_text(Some(value)).as_deref(), expected);
        };
        check(Value::Null, None);
        check(Value::Nested, None);
        check(Value::Text(""), None);
        check(Value::Bool(true), Some("true"));
        check(Value::Number(Number::float(3.0).unwrap()), Some("3"));
        check(Value::Number(Number::float(0.5).unwrap()), Some("0.5"));
        check(Value::Text(&"ü".repeat(201)), Some(&"ü".repeat(200)));
        assert_eq!(derive_text(None), None);
    }
}
