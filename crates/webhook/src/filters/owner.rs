//! Whose a filter file is, by its name.

use std::path::PathBuf;

use agent_box_event::Audience;
use agent_box_session::WebhookPaths;

/// The key of the box's own file; no session can have it.
const BOX: &str = "dispatch";

/// For whom a filter file stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The box: each event that its filter wants starts a session.
    Box,
    /// All peers that have no key.
    Keyless,
    /// The session, or whoever else, with this key.
    Session(String),
}

impl Owner {
    /// The owner with a key; a key that would name the box's file is none.
    pub fn of_key(key: Option<&str>) -> Self {
        match key {
            None | Some("" | BOX) => Self::Keyless,
            Some(key) => Self::Session(key.to_owned()),
        }
    }

    /// Whose file has this name; `None` for what is no filter file.
    pub fn of_file_name(name: &str) -> Option<Self> {
        if name == "filter.json" {
            return Some(Self::Keyless);
        }
        let key = name.strip_prefix("filter.")?.strip_suffix(".json")?;
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        match key {
            "" => None,
            BOX => Some(Self::Box),
            key => key.chars().all(is_key).then(|| Self::Session(key.to_owned())),
        }
    }

    /// Its file.
    pub fn path(&self, paths: &WebhookPaths) -> PathBuf {
        match self {
            Self::Box => paths.dispatch_filter(),
            Self::Keyless => paths.filter(None),
            Self::Session(key) => paths.filter(Some(key)),
        }
    }

    /// How its rows are judged.
    pub fn audience(&self) -> Audience {
        if *self == Self::Box { Audience::Standing } else { Audience::Session }
    }

    /// The key, which the box and the keyless have not.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Session(key) => Some(key),
            Self::Box | Self::Keyless => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_owners_name_each_other() {
        let paths = WebhookPaths::new("/s");
        let session = |key: &str| Owner::Session(key.to_owned());
        for owner in [Owner::Box, Owner::Keyless, session("alice-main"), session("a.b_c-d")] {
            let path = owner.path(&paths);
            let name = path.file_name().unwrap().to_str().unwrap();
            assert_eq!(Owner::of_file_name(name), Some(owner));
        }
        for other in [
            "filters.lock",
            "filter..json",
            "filter.a b.json",
            "filter.alice-main.json.damaged-20261201T113117Z",
            ".agent-box-7-filter.alice-main.json.x",
            "receiver.json",
        ] {
            assert_eq!(Owner::of_file_name(other), None, "{other}");
        }
        assert_eq!(Owner::of_key(Some("dispatch")), Owner::Keyless, "no session owns the watches");
        assert_eq!(Owner::of_key(Some("")), Owner::Keyless);
    }
}
