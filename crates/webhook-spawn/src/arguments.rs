//! Further arguments of hook sessions' agents: the system configuration's, or the user's own.

use std::path::Path;

use agent_box_session::env;
use agent_box_session_store::{EnvFile, ReadEnvError};
use serde_json::Value;

/// Who says what the arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user, in the env file.
    EnvFile,
    /// The system configuration.
    Module,
    /// Nobody.
    Nobody,
}

/// The arguments, where they are from, and what is wrong with what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) words: Vec<String>,
    pub(crate) origin: Origin,
    pub(crate) complaint: Option<String>,
}

/// Resolves them. What cannot be read counts as none, and never as something else's value.
pub(crate) fn resolve(
    module: Option<&str>,
    env_file: &Result<EnvFile, ReadEnvError>,
    path: &Path,
) -> Arguments {
    let key = env::HOOK_SESSION_ARGS;
    let (given, origin) = match env_file {
        Ok(file) => match (file.get(key), module) {
            (Some(text), _) => (Some(text), Origin::EnvFile),
            (None, Some(text)) => (Some(text), Origin::Module),
            (None, None) => (None, Origin::Nobody),
        },
        Err(error) => {
            let complaint = Some(format!("{error}; hook sessions start without further arguments"));
            return Arguments { words: Vec::new(), origin: Origin::EnvFile, complaint };
        }
    };
    // Set to nothing is the short way to say that there are none.
    let given = given.filter(|text| !text.trim().is_empty());
    match given.map_or(Ok(Vec::new()), parse) {
        Ok(words) => Arguments { words, origin, complaint: None },
        Err(reason) => {
            let place = match origin {
                Origin::EnvFile => format!("{key} in {}", path.display()),
                Origin::Module | Origin::Nobody => key.to_owned(),
            };
            let complaint = Some(format!(
                "{place} {reason}; it is ignored, and hook sessions start without further arguments"
            ));
            Arguments { words: Vec::new(), origin, complaint }
        }
    }
}

/// A JSON array of strings, each one argument, and nothing else.
fn parse(text: &str) -> Result<Vec<String>, String> {
    let Ok(Value::Array(items)) = serde_json::from_str(text) else {
        return Err(r#"is not a JSON array of strings, such as ["--model", "haiku"]"#.to_owned());
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::String(word) if !word.contains('\0') => Ok(word),
            Value::String(_) => Err("holds a NUL byte, which no argument can".to_owned()),
            other => Err(format!("holds {other}, which is not a string")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(module: Option<&str>, env_file: &str) -> Arguments {
        resolve(module, &Ok(EnvFile::parse(env_file)), Path::new("/h/env"))
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_env_file_overrides_the_module() {
        let check = |module, env_file: &str, words: &[&str], origin| {
            let found = of(module, env_file);
            assert_eq!((found.words, found.origin, found.complaint), (owned(words), origin, None));
        };
        let key = env::HOOK_SESSION_ARGS;
        check(None, "", &[], Origin::Nobody);
        check(Some(r#"["-m"]"#), "X=1\n", &["-m"], Origin::Module);
        let both = format!("{key}='[\"--model\",\"haiku\"]'\n");
        check(Some(r#"["-m"]"#), &both, &["--model", "haiku"], Origin::EnvFile);
        check(Some(r#"["-m"]"#), &format!("{key}=\n"), &[], Origin::EnvFile);
        let kept = r#"["a\nb", "", "$(id)", ""]"#;
        check(Some(kept), "", &["a\nb", "", "$(id)", ""], Origin::Module);
    }

    #[test]
    fn what_is_no_array_of_strings_is_ignored_and_said_so() {
        for bad in [
            r#"{"a":"b"}"#,
            r#"["a",1]"#,
            r#"["a",["b"]]"#,
            "[",
            "--model haiku",
            r#""a""#,
            r#"["\u0000"]"#,
        ] {
            let found = of(Some(bad), "");
            assert_eq!(found.words, [] as [String; 0], "{bad}");
            assert!(found.complaint.unwrap().contains("it is ignored"), "{bad}");
        }
        let file = format!("{}=nonsense\n", env::HOOK_SESSION_ARGS);
        let found = of(Some(r#"["-m"]"#), &file);
        assert_eq!(found.words, [] as [String; 0], "a broken override is not the module's value");
        assert!(found.complaint.unwrap().contains("/h/env"));
    }
}
