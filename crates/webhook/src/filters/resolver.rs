//! Finding out what the box acts as: by asking `gh`, at most once per credentials.
//!
//! ```text
//! environment says it ─▶ that; nothing is remembered
//! remembered for these credentials ─▶ that
//! asked in vain within the hour, and the caller is patient ─▶ what was known last
//! `gh api user`, 8 s ─▶ that, and it is remembered
//! else ─▶ what was known last, and the attempt is noted
//! ```
//!
//! Credentials are the tokens in the environment and gh's `hosts.yml`, so a `gh auth login` as
//! somebody else is noticed. An app's token cannot ask for its user; it asks who is viewing.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use agent_box_event::Login;
use agent_box_session::{WebhookPaths, env};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::identity::Remembered;
use crate::cli::Context;
use crate::disk::{read, remove, replace};
use crate::engine::child::{Words, run};

/// How long gh may take.
const DEADLINE: Duration = Duration::from_secs(8);
/// How long a patient caller does not ask again after having asked in vain, in seconds.
const PATIENCE_S: u64 = 3600;
/// What gh gets of our environment; with it, it finds its configuration, and the network.
const HANDED_DOWN: [&str; 14] = [
    env::HOME,
    env::USER,
    env::LOGNAME,
    env::PATH,
    env::LANG,
    env::GH_TOKEN,
    env::GITHUB_TOKEN,
    env::GH_CONFIG_DIR,
    env::XDG_CONFIG_HOME,
    env::DBUS_SESSION_BUS_ADDRESS,
    env::HTTPS_PROXY,
    env::NIX_SSL_CERT_FILE,
    env::SSL_CERT_FILE,
    env::XDG_RUNTIME_DIR,
];

/// How it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    /// Even if the answer is remembered.
    pub refresh: bool,
    /// Not again within an hour of having asked in vain with the same credentials.
    pub throttled: bool,
}

/// What is known of the box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It acts as this.
    Login {
        /// The login.
        login: Login,
        /// What a person should know about the answer.
        note: Option<String>,
    },
    /// Nobody can say, and why.
    Unknown(String),
}

/// Somebody who can find out.
#[derive(Clone, Debug)]
pub struct Resolver {
    paths: WebhookPaths,
    given: Option<Login>,
    /// Whether the token is that of an app's installation.
    is_app: bool,
    fingerprint: String,
    environment: Vec<(OsString, OsString)>,
}

impl Resolver {
    /// Takes the credentials as they are now.
    pub fn new(context: &Context) -> Self {
        let handed = HANDED_DOWN
            .iter()
            .filter_map(|name| Some((OsString::from(name), context.variable(name)?.to_owned())));
        let quiet = [(OsString::from(env::GH_PROMPT_DISABLED), OsString::from("1"))];
        let token = |name| context.text(name).unwrap_or_default();
        let (first, second) = (token(env::GH_TOKEN), token(env::GITHUB_TOKEN));
        let mut credentials = format!("{first}\n{second}").into_bytes();
        if let Ok(hosts) = read(&hosts(context)) {
            credentials.push(b'\n');
            credentials.extend(hosts);
        }
        let token = if first.is_empty() { second } else { first };
        Self {
            paths: context.paths.clone(),
            given: context.text(env::WEBHOOK_SELF).and_then(|it| Login::parse(it).ok()),
            is_app: token.starts_with("ghs_"),
            fingerprint: fingerprint(&credentials),
            environment: handed.chain(quiet).collect(),
        }
    }

    /// Finds out; runs gh at most once.
    pub async fn resolve(&self, asking: Asking, now_ms: u64) -> Known {
        if let Some(login) = self.given.clone() {
            return Known::Login { login, note: None };
        }
        let text = read(&self.paths.identity()).ok();
        let remembered = text.and_then(|text| Remembered::parse(&String::from_utf8_lossy(&text)));
        if let Some(it) = &remembered
            && !asking.refresh
            && it.fingerprint.as_ref() == Some(&self.fingerprint)
        {
            return Known::Login { login: it.login.clone(), note: None };
        }
        let now = now_ms / 1000;
        let reason = if asking.throttled && self.has_failed_since(now.saturating_sub(PATIENCE_S)) {
            "gh was asked in vain within the hour; run `agent-box webhook self` to ask again"
                .to_owned()
        } else {
            match self.ask().await {
                Ok(login) => return self.remember(login),
                Err(reason) => {
                    let attempt = format!("{now} {}\n", self.fingerprint);
                    // Without the note it is asked once more, no worse.
                    let _ = replace(&self.paths.identity_attempt(), 0o600, attempt.as_bytes());
                    reason
                }
            }
        };
        match remembered {
            Some(Remembered { login, .. }) => {
                let note = format!("{reason}; this is the login that was known last");
                Known::Login { login, note: Some(note) }
            }
            None => Known::Unknown(reason),
        }
    }

    fn remember(&self, login: Login) -> Known {
        let fingerprint = Some(self.fingerprint.clone());
        let remembered = Remembered { fingerprint, login };
        let written = replace(&self.paths.identity(), 0o644, remembered.print().as_bytes());
        let written = written.and_then(|()| remove(&self.paths.identity_attempt()));
        let note = written.err().map(|error| crate::cli::print::chain(&error));
        Known::Login { login: remembered.login, note }
    }

    fn has_failed_since(&self, second: u64) -> bool {
        let Ok(text) = read(&self.paths.identity_attempt()) else { return false };
        let text = String::from_utf8_lossy(&text);
        let mut words = text.split_whitespace();
        let at = words.next().and_then(|word| word.parse::<u64>().ok());
        at.is_some_and(|at| at > second) && words.next() == Some(&self.fingerprint)
    }

    async fn ask(&self) -> Result<Login, String> {
        let arguments: &[&str] = if self.is_app {
            &["api", "graphql", "-f", "query=query { viewer { login } }"]
        } else {
            &["api", "user"]
        };
        let words = Words {
            program: "gh".into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: self.environment.clone(),
        };
        let ended = run(words, Vec::new(), DEADLINE).await;
        if ended.exit != Some(0) {
            return Err(format!("`gh {}` failed: {}", arguments[..2].join(" "), ended.reason));
        }
        login_of(&ended.stdout).ok_or_else(|| "gh named no login".to_owned())
    }
}

/// gh's JSON, or the bare login that a wrapper of somebody's prints.
fn login_of(stdout: &[u8]) -> Option<Login> {
    let text = String::from_utf8_lossy(stdout);
    let json: Option<Value> = serde_json::from_str(&text).ok();
    let login = json.as_ref().and_then(|json| {
        [&json["login"], &json["data"]["viewer"]["login"]].into_iter().find_map(Value::as_str)
    });
    Login::parse(login.unwrap_or(text.trim())).ok()
}

fn hosts(context: &Context) -> PathBuf {
    let directory = |name| context.variable(name).map(PathBuf::from);
    let config = directory(env::XDG_CONFIG_HOME).unwrap_or_else(|| context.home.join(".config"));
    directory(env::GH_CONFIG_DIR).unwrap_or_else(|| config.join("gh")).join("hosts.yml")
}

fn fingerprint(credentials: &[u8]) -> String {
    let mut text = String::new();
    for byte in &Sha256::digest(credentials)[..8] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_read_from_what_gh_prints() {
        let check = |text: &str, expected: Option<&str>| {
            let login = login_of(text.as_bytes());
            assert_eq!(login.as_ref().map(Login::as_str), expected, "{text}");
        };
        check(r#"{"login":"me","id":1}"#, Some("me"));
        check(r#"{"data":{"viewer":{"login":"my-app[bot]"}}}"#, Some("my-app[bot]"));
        check("me\n", Some("me"));
        check("", None);
        check(r#"{"message":"Bad credentials"}"#, None);
    }

    #[test]
    fn the_fingerprint_is_the_references_as_long_as_gh_has_no_hosts() {
        // printf 'tok\n' | sha256sum
        assert_eq!(fingerprint(b"tok\n"), fingerprint("tok\n".as_bytes()));
        let home = tempfile::tempdir().unwrap();
        let of = |token: &str| {
            let variables = [(OsString::from(env::GH_TOKEN), OsString::from(token))];
            Resolver::new(&Context::new(home.path(), "alice", variables)).fingerprint
        };
        assert_eq!(of("tok"), fingerprint(b"tok\n"));
        assert_ne!(of("tok"), of("kot"));
        let hosts = home.path().join(".config/gh/hosts.yml");
        replace(&hosts, 0o600, b"github.com:\n    user: a\n").unwrap();
        let first = of("tok");
        replace(&hosts, 0o600, b"github.com:\n    user: b\n").unwrap();
        assert!(first != fingerprint(b"tok\n") && first != of("tok"));
    }
}
