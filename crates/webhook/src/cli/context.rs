//! For whom a verb runs, and what the environment told the program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use agent_box_event::Login;
use agent_box_session::{WebhookPaths, env};

use crate::filters::{Identity, Listing, Owner, PolicyFile};

/// What every verb starts from; the program that was called makes one.
#[derive(Clone, Debug)]
pub struct Context {
    /// The user's home.
    pub home: PathBuf,
    /// The user's name.
    pub user: String,
    /// The webhook files.
    pub paths: WebhookPaths,
    variables: BTreeMap<String, OsString>,
}

impl Context {
    /// Of the variables only those in [`env::TABLE`] are kept; an empty one is as good as none.
    pub fn new(
        home: impl Into<PathBuf>,
        user: impl Into<String>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let known = |name: &str| env::TABLE.iter().any(|variable| variable.name == name);
        let variables: BTreeMap<String, OsString> = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, value)| known(name) && !value.is_empty())
            .collect();
        let home = home.into();
        let state = variables.get(env::WEBHOOK_STATE_DIR);
        let paths = state.map_or_else(|| WebhookPaths::of_home(&home), WebhookPaths::new);
        Self { home, user: user.into(), paths, variables }
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    /// A variable as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variable(name)?.to_str()
    }

    /// The key of this caller's subscriptions: its session, else what the box acts as, reduced to
    /// what a file name holds. Without either, the filter shared by all that have none.
    pub fn key(&self) -> Option<String> {
        let names = [env::WEBHOOK_SESSION, env::WEBHOOK_SELF];
        names.into_iter().filter_map(|name| self.text(name)).map(reduced).find(|it| !it.is_empty())
    }

    /// The policy file that the system configuration names.
    pub fn policy(&self) -> PolicyFile {
        let given = self.variable(env::WEBHOOK_POLICY).map(PathBuf::from);
        PolicyFile::new(given, &self.paths)
    }

    /// What the box acts as, as far as that is known.
    pub(crate) fn acts_as(&self, now_ms: u64) -> Option<Login> {
        Identity::new(self.text(env::WEBHOOK_SELF), &self.paths, now_ms).current(now_ms)
    }

    /// What is subscribed.
    pub(crate) fn listing(&self, owner: &Owner, now_ms: u64) -> Listing {
        let me = self.acts_as(now_ms);
        Listing::new(&self.paths, owner, me, self.policy().current(now_ms), now_ms)
    }
}

/// The characters of a key among those of a text.
pub(crate) fn reduced(text: &str) -> String {
    let keeps = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.chars().filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(variables: &[(&str, &str)]) -> Context {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Context::new("/home/alice", "alice", variables)
    }

    #[test]
    fn a_caller_is_known_by_its_session_else_by_what_the_box_acts_as() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(context(variables).key().as_deref(), expected, "{variables:?}");
        };
        check(&[], None);
        check(&[("LOCAL_WEBHOOK_SESSION", "alice-main")], Some("alice-main"));
        check(&[("LOCAL_WEBHOOK_SELF", "my-app[bot]")], Some("my-appbot"));
        check(&[("LOCAL_WEBHOOK_SESSION", "a/../b"), ("LOCAL_WEBHOOK_SELF", "me")], Some("a..b"));
        check(&[("LOCAL_WEBHOOK_SESSION", "/"), ("LOCAL_WEBHOOK_SELF", "me")], Some("me"));
        check(&[("LOCAL_WEBHOOK_SESSION", "")], None);
    }

    #[test]
    fn files_are_below_the_home_unless_told_otherwise() {
        let state = |variables| context(variables).paths.state().to_owned();
        assert_eq!(state(&[]), PathBuf::from("/home/alice/.local/state/local-webhook"));
        assert_eq!(state(&[("LOCAL_WEBHOOK_STATE_DIR", "/x")]), PathBuf::from("/x"));
        assert_eq!(context(&[("EDITOR", "vi")]).variable("EDITOR"), None, "not in the table");
    }
}
