//! Text that is Nix already: the only thing that a template can print.

use std::fmt;

use minijinja::value::{Object, ObjectRepr};

use crate::nix_string::NixString;

/// Words that cannot be attribute names without quotes.
const KEYWORDS: &[&str] =
    &["assert", "else", "if", "in", "inherit", "let", "or", "rec", "then", "with"];

/// A piece of Nix, made by this crate's own constructors only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NixText(String);

impl NixText {
    /// Takes text that the caller has just made as Nix.
    pub(crate) fn already_nix(text: String) -> Self {
        Self(text)
    }

    /// The elements between brackets.
    pub fn list(elements: impl IntoIterator<Item = Self>) -> Self {
        let elements: Vec<String> = elements.into_iter().map(|element| element.0).collect();
        Self(format!("[ {} ]", elements.join(" ")))
    }

    /// `name = value;` lines at this indentation: the inside of a set's braces.
    ///
    /// The first line begins without spaces and the last one ends without a line end, so that
    /// the template decides where they stand.
    pub fn bindings<'a>(
        indent: usize,
        bindings: impl IntoIterator<Item = (NixString<'a>, Self)>,
    ) -> Self {
        let lines = bindings.into_iter().map(|(name, value)| {
            let name = name.quoted().0;
            let bare = name[1..name.len() - 1].to_owned();
            let name = if is_identifier(&bare) { bare } else { name };
            format!("{name} = {value};")
        });
        let lines: Vec<String> = lines.collect();
        Self(lines.join(&format!("\n{}", " ".repeat(indent))))
    }

    /// The bindings in braces, whose closing one stands at this indentation.
    pub fn set<'a>(
        indent: usize,
        bindings: impl IntoIterator<Item = (NixString<'a>, Self)>,
    ) -> Self {
        let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 2));
        Self(format!("{{\n{inner}{}\n{outer}}}", Self::bindings(indent + 2, bindings)))
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !KEYWORDS.contains(&name)
}

impl fmt::Display for NixText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Object for NixText {
    /// Nothing to look into, iterate or call.
    fn repr(self: &std::sync::Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}
