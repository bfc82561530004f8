//! Which source a request is for, by its path.

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Addressed {
    /// The bare address: the default source.
    Default,
    /// A source by name, which may not exist.
    Source(String),
    /// Nothing that could be a source.
    Nothing,
}

/// Reads `/`, `/<source>` and `/<source>/`; everything else is nothing, `//github` too.
pub(crate) fn addressed(path: &str) -> Addressed {
    let Some(rest) = path.strip_prefix('/') else { return Addressed::Nothing };
    if rest.is_empty() {
        return Addressed::Default;
    }
    let name = rest.strip_suffix('/').unwrap_or(rest);
    match decoded(name) {
        Some(name) if !name.is_empty() && !name.contains('/') => Addressed::Source(name),
        _ => Addressed::Nothing,
    }
}

/// Without percent-encoding; `None` for what is no text then.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (pair, after) = rest.split_at_checked(2)?;
        let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
        bytes.push(digit(pair[0])? << 4 | digit(pair[1])?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_exact() {
        let check = |path: &str, expected: Option<&str>| {
            let expected = match expected {
                None => Addressed::Nothing,
                Some("") => Addressed::Default,
                Some(name) => Addressed::Source(name.to_owned()),
            };
            assert_eq!(addressed(path), expected, "{path}");
        };
        check("/", Some(""));
        check("/github", Some("github"));
        check("/github/", Some("github"));
        check("/%67ithub", Some("github"));
        check("/%67%69thub/", Some("github"));
        check("/GitHub", Some("GitHub"));
        for nothing in [
            "",
            "*",
            "//",
            "//github",
            "//github/",
            "/github//",
            "/github/x",
            "/github%2Fx",
            "/%2Fgithub",
            "/%2f",
            "/%",
            "/%6",
            "/%zz",
            "/%ff",
            "github",
        ] {
            check(nothing, None);
        }
    }
}
