//! Identities: who is meant, whatever the name says.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

/// The text is not a lower-case hyphenated UUID.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not an id (a lower-case UUID with hyphens)")]
pub struct ParseIdError {
    /// What was given, shortened to 80 characters.
    pub text: String,
}

fn parse(text: &str) -> Result<Uuid, ParseIdError> {
    // One spelling per id: other spellings of the same UUID would be other file names.
    match Uuid::try_parse(text) {
        Ok(uuid) if uuid.hyphenated().to_string() == text => Ok(uuid),
        _ => Err(ParseIdError { text: text.chars().take(80).collect() }),
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a freshly minted UUID (version 7, so that ids sort by age).
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID itself.
            pub const fn as_uuid(&self) -> &Uuid {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text).map(Self)
            }
        }
    };
}

id! {
    /// One session's identity: minted once by `add` (or by the supervisor for an entry without
    /// one) and never reused.
    SessionId
}
id! {
    /// One start of a session, minted by the supervisor; every kill names one of these.
    LaunchId
}
id! {
    /// One state directory. Only tmux sessions that carry our own store id are ever reaped.
    StoreId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_spelling_of_an_id_is_accepted() {
        let good = "0193b2c0-0000-7000-8000-00000000000a";
        assert_eq!(good.parse::<SessionId>().unwrap().to_string(), good);
        for bad in ["", "x", &good.to_uppercase(), &good.replace('-', ""), &format!("{{{good}}}")] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
