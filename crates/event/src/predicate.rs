//! The rule language of `include` and `exclude`: `any`, `all` and leaves that test one field.
//!
//! No regular expressions, by design: a rule cannot be made slow by a payload. Two comparisons
//! know what they compare, because the plain ones were wrong there: a field named `login` is
//! compared without regard to case, and a needle that is a mention (`@name`) is found only where
//! it stands as one, not in `joe@name.com` or `@name-two`.

use thiserror::Error;

use crate::{Json, Payload, Value};

/// A rule over a payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// At least one matches; an empty list never does.
    Any(Vec<Predicate>),
    /// Every one matches; an empty list always does.
    All(Vec<Predicate>),
    /// The field at a dotted path passes the test.
    Leaf(String, Test),
    /// A node that nobody can read, kept as it was: it matches nothing, so that as an include it
    /// mutes and as an exclude it lets through.
    Malformed(Json),
}

/// What is asked of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It equals one of these scalars; `null` also equals an absent field.
    In(Vec<Json>),
    /// It equals none of these.
    NotIn(Vec<Json>),
    /// It is a string in which one of these occurs, whatever the case.
    Contains(Vec<String>),
    /// None of these occurs in it; in what is no string nothing does.
    NotContains(Vec<String>),
}

/// Why a rule is refused when somebody subscribes with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{node} is no rule; write {{\"any\": […]}}, {{\"all\": […]}} or {{\"path\": \"a.b\", OP: […]}} \
     with one OP of `in`, `notIn` (scalars), `contains`, `notContains` (non-empty strings)"
)]
pub struct PredicateError {
    /// Where it stands, from the outermost node inwards.
    node: String,
}

/// Field names of the rule language, in the order in which they are looked for.
const ANY: &str = "any";
const ALL: &str = "all";
const PATH: &str = "path";
const IN: &str = "in";
const NOT_IN: &str = "notIn";
const CONTAINS: &str = "contains";
const NOT_CONTAINS: &str = "notContains";

impl Predicate {
    /// Reads a rule from a file: what cannot be read becomes a node that matches nothing.
    pub fn read(node: &Json) -> Self {
        Self::read_node(node).unwrap_or_else(|| Self::Malformed(node.clone()))
    }

    /// Reads a rule that somebody just gave, and refuses what cannot be read.
    pub fn parse(node: &Json) -> Result<Self, PredicateError> {
        let predicate = Self::read(node);
        predicate.check("the rule")?;
        Ok(predicate)
    }

    fn read_node(node: &Json) -> Option<Self> {
        let nodes = |list: &Json| match list {
            Json::List(nodes) => Some(nodes.iter().map(Self::read).collect()),
            _ => None,
        };
        if let Some(list) = node.get(ANY) {
            return nodes(list).map(Self::Any);
        }
        if let Some(list) = node.get(ALL) {
            return nodes(list).map(Self::All);
        }
        let path = node.get(PATH)?.as_text()?;
        if path.split('.').any(str::is_empty) {
            return None;
        }
        let Json::Object(members) = node else { return None };
        let operators = [IN, NOT_IN, CONTAINS, NOT_CONTAINS];
        let mut tests = members.iter().filter(|(name, _)| operators.contains(&name.as_str()));
        let (Some((operator, Json::List(operands))), None) = (tests.next(), tests.next()) else {
            return None;
        };
        let scalars = || {
            let all = operands.iter().all(|it| it.value() != Value::Nested);
            all.then(|| operands.clone())
        };
        let needles = || {
            let texts = operands.iter().map(|it| it.as_text().filter(|text| !text.is_empty()));
            texts.map(|text| text.map(str::to_owned)).collect::<Option<Vec<_>>>()
        };
        let test = match operator.as_str() {
            IN => Test::In(scalars()?),
            NOT_IN => Test::NotIn(scalars()?),
            CONTAINS => Test::Contains(needles()?),
            _ => Test::NotContains(needles()?),
        };
        Some(Self::Leaf(path.to_owned(), test))
    }

    fn check(&self, node: &str) -> Result<(), PredicateError> {
        let (name, children) = match self {
            Self::Any(children) => (ANY, children),
            Self::All(children) => (ALL, children),
            Self::Leaf(..) => return Ok(()),
            Self::Malformed(_) => return Err(PredicateError { node: node.to_owned() }),
        };
        let mut numbered = children.iter().enumerate();
        numbered.try_for_each(|(index, child)| child.check(&format!("{node}.{name}[{index}]")))
    }

    /// The rule as it stands in a file.
    pub fn to_json(&self) -> Json {
        let object = |members: Vec<(&str, Json)>| {
            Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
        };
        let nodes = |children: &[Self]| Json::List(children.iter().map(Self::to_json).collect());
        let texts = |needles: &[String]| Json::List(needles.iter().map(Json::text).collect());
        match self {
            Self::Any(children) => object(vec![(ANY, nodes(children))]),
            Self::All(children) => object(vec![(ALL, nodes(children))]),
            Self::Malformed(node) => node.clone(),
            Self::Leaf(path, test) => {
                let (operator, operands) = match test {
                    Test::In(scalars) => (IN, Json::List(scalars.clone())),
                    Test::NotIn(scalars) => (NOT_IN, Json::List(scalars.clone())),
                    Test::Contains(needles) => (CONTAINS, texts(needles)),
                    Test::NotContains(needles) => (NOT_CONTAINS, texts(needles)),
                };
                object(vec![(PATH, Json::text(path)), (operator, operands)])
            }
        }
    }

    /// Whether the payload is one that the rule describes.
    pub fn matches(&self, payload: &dyn Payload) -> bool {
        match self {
            Self::Any(children) => children.iter().any(|it| it.matches(payload)),
            Self::All(children) => children.iter().all(|it| it.matches(payload)),
            Self::Leaf(path, test) => test.passes(path, payload.at(path).unwrap_or(Value::Null)),
            Self::Malformed(_) => false,
        }
    }
}

impl Test {
    fn passes(&self, path: &str, value: Value<'_>) -> bool {
        let equals_one = |scalars: &[Json]| scalars.iter().any(|it| equal(path, it.value(), value));
        let holds_one = |needles: &[String]| match value {
            Value::Text(text) => needles.iter().any(|needle| occurs(needle, text)),
            _ => false,
        };
        match self {
            Self::In(scalars) => equals_one(scalars),
            Self::NotIn(scalars) => !equals_one(scalars),
            Self::Contains(needles) => holds_one(needles),
            Self::NotContains(needles) => !holds_one(needles),
        }
    }
}

fn equal(path: &str, wanted: Value<'_>, value: Value<'_>) -> bool {
    match (wanted, value) {
        // Operands are never nested, so two nested values do not meet here.
        (Value::Text(wanted), Value::Text(text)) if path.rsplit('.').next() == Some("login") => {
            wanted.eq_ignore_ascii_case(text)
        }
        (wanted, value) => wanted == value,
    }
}

fn occurs(needle: &str, text: &str) -> bool {
    let (needle, text) = (needle.to_lowercase(), text.to_lowercase());
    let name = needle.strip_prefix('@').unwrap_or_default();
    let is_mention = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/'));
    if !is_mention {
        return text.contains(&needle);
    }
    text.match_indices(&needle).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let mut after = text[start + found.len()..].chars();
        let ends = match after.next() {
            // `@name.com` and `@name/team` are somebody else; `@name.` ends a sentence.
            Some('.' | '/') => !after.next().is_some_and(char::is_alphanumeric),
            Some(c) => !(c.is_alphanumeric() || matches!(c, '-' | '_')),
            None => true,
        };
        ends && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests;
