//! What the box acts as, `@self`: the file that remembers it, and the daemon's view of it.
//!
//! The file is an environment file, as the reference's, so that units and scripts can read it:
//!
//! ```text
//! # fp=9f86d081884c7d65      of the credentials that it was asked with
//! LOCAL_WEBHOOK_SELF=my-login
//! ```

use agent_box_event::Login;
use agent_box_session::{WebhookPaths, env};

use crate::disk::Cached;

/// What the file remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remembered {
    /// Of the credentials; `None` in a file that somebody wrote by hand.
    pub(super) fingerprint: Option<String>,
    pub(super) login: Login,
}

const FINGERPRINT: &str = "# fp=";

impl Remembered {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut fingerprint = None;
        let mut login = None;
        for line in text.lines().map(str::trim) {
            if let Some(value) = line.strip_prefix(FINGERPRINT) {
                fingerprint = Some(value.trim().to_owned());
            } else if let Some((name, value)) = line.split_once('=')
                && name == env::WEBHOOK_SELF
            {
                let value = value.trim_matches(['"', '\'']);
                login = Login::parse(value).ok();
            }
        }
        Some(Self { fingerprint, login: login? })
    }

    pub(super) fn print(&self) -> String {
        let fingerprint = self.fingerprint.as_deref().unwrap_or_default();
        format!(
            "# What this box acts as at GitHub; `agent-box webhook self` keeps it.\n\
             {FINGERPRINT}{fingerprint}\n{}={}\n",
            env::WEBHOOK_SELF,
            self.login.as_str()
        )
    }
}

/// What the box acts as, followed while it changes.
#[derive(Debug)]
pub struct Identity {
    fixed: Option<Login>,
    cached: Cached<Option<Login>>,
}

impl Identity {
    /// `given` is the login of the environment. Units that load the file at their start hand
    /// down what it said then; so a login that equals the file's is no decision of anybody, and
    /// the file is followed.
    pub fn new(given: Option<&str>, paths: &WebhookPaths, now_ms: u64) -> Self {
        let mut identity = Self { fixed: None, cached: Cached::new(paths.identity()) };
        let remembered = identity.current(now_ms);
        identity.fixed = given.and_then(|it| Login::parse(it).ok());
        if identity.fixed == remembered {
            identity.fixed = None;
        }
        identity
    }

    /// The login, if it is known.
    pub fn current(&mut self, now_ms: u64) -> Option<Login> {
        if self.fixed.is_some() {
            return self.fixed.clone();
        }
        let understand = |bytes: std::io::Result<Vec<u8>>, before: Option<Option<Login>>| {
            let login = match bytes {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                // A file that cannot be read does not make the box nobody.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return before.flatten();
                }
                Err(_) => String::new(),
            };
            Remembered::parse(&login).map(|it| it.login)
        };
        self.cached.get(now_ms, understand).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::replace;

    #[test]
    fn the_file_reads_what_it_prints_and_what_the_reference_wrote() {
        let check = |text: &str, expected: Option<(Option<&str>, &str)>| {
            let read = Remembered::parse(text);
            let read = read.as_ref().map(|it| (it.fingerprint.as_deref(), it.login.as_str()));
            assert_eq!(read, expected, "{text:?}");
        };
        check("# a\n# fp=0123\nLOCAL_WEBHOOK_SELF=me\n", Some((Some("0123"), "me")));
        check("LOCAL_WEBHOOK_SELF=\"me\"", Some((None, "me")));
        check("LOCAL_WEBHOOK_SELF=a b\n", None);
        check("# fp=0123\nOTHER=me\n", None);
        let login = Login::parse("my-app[bot]").unwrap();
        let remembered = Remembered { fingerprint: Some("ab".to_owned()), login };
        assert_eq!(Remembered::parse(&remembered.print()), Some(remembered));
    }

    #[test]
    fn a_changed_login_is_noticed_unless_another_was_decided_on() {
        let directory = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::new(directory.path());
        let later = crate::now_ms() + 3_600_000;
        let put = |login: &str| {
            let text = format!("LOCAL_WEBHOOK_SELF={login}\n");
            replace(&paths.identity(), 0o644, text.as_bytes()).unwrap();
        };
        let name = |it: &mut Identity| it.current(later).map(|it| it.as_str().to_owned());
        let mut unknown = Identity::new(None, &paths, later);
        assert_eq!(name(&mut unknown), None);
        put("old");
        let mut handed_down = Identity::new(Some("old"), &paths, later);
        let mut decided = Identity::new(Some("my-app[bot]"), &paths, later);
        put("new");
        assert_eq!(name(&mut unknown).as_deref(), Some("new"));
        assert_eq!(name(&mut handed_down).as_deref(), Some("new"));
        assert_eq!(name(&mut decided).as_deref(), Some("my-app[bot]"));
        std::fs::remove_file(paths.identity()).unwrap();
        assert_eq!(name(&mut unknown), None);
    }
}
