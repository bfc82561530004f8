//! A receiver on a thread of its own, with a wrapper whose answers a test writes.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use agent_box_session::WebhookPaths;
use agent_box_testkit::within;
use agent_box_webhook::engine::{Parts, Wrapper};
use agent_box_webhook::inbox::{InboxLimits, Look, ReadOnly, Reference, Retention};
use agent_box_webhook::ingress::Limits;
use agent_box_webhook::serve::{Door, ServeError, Settings, run};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;
use tokio::sync::watch;

/// Below the home.
pub(crate) const SOURCES: &str = ".local/state/local-webhook/sources.json";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Notes each run, and answers what the files beside it say.
const WRAPPER: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$1" in
status) cat "$here/status" ;;
deliver)
    { echo "== $3"; cat; } >> "$here/delivered"
    cat "$here/told" ;;
*)
    cat > "$here/text.$AGENT_BOX_BATCH_ID"
    echo "$AGENT_BOX_BATCH_ID" >> "$here/runs"
    code=$(cat "$here/code")
    [ "$code" = 0 ] && echo "{\"sessionId\":\"s-$AGENT_BOX_BATCH_ID\",\"name\":\"hook-$AGENT_BOX_BATCH_ID\"}"
    exit "$code" ;;
esac
"#;

/// What a receiver leaves: its settings, and how it ended.
type Ended = (Settings, Result<(), ServeError>);

/// A home with webhook files, the wrapper, and a receiver that can be ended and started again.
pub(crate) struct Receiver {
    home: TempDir,
    pub(crate) paths: WebhookPaths,
    /// The batches that the session list knows, as the wrapper's `status` says.
    pub(crate) claimed: RefCell<Vec<String>>,
    settings: Option<Settings>,
    running: Option<(watch::Sender<bool>, JoinHandle<Ended>)>,
}

impl Receiver {
    /// A receiver that runs, with sessions `main` (id `i1`) and `two` (id `i2`) of user `alice`.
    pub(crate) fn new() -> Self {
        let mut receiver = Self::stopped();
        receiver.start();
        receiver
    }

    pub(crate) fn stopped() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = WebhookPaths::of_home(home.path());
        fs::create_dir_all(paths.state()).unwrap();
        fs::create_dir_all(home.path().join(".config/agent-box")).unwrap();
        let program = home.path().join("wrapper");
        let settings = Settings {
            parts: Parts {
                home: home.path().to_owned(),
                user: "alice".to_owned(),
                paths: paths.clone(),
                me: None,
                policy: None,
                wrapper: Wrapper {
                    program: program.clone(),
                    command: None,
                    environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
                    deadline: Duration::from_secs(20),
                },
                window: Duration::ZERO,
                retention: Retention::default(),
            },
            door: Door::Port(0),
            ingress: Limits::default(),
            inbox: InboxLimits::default(),
        };
        let claimed = RefCell::default();
        let receiver = Self { home, paths, claimed, settings: Some(settings), running: None };
        receiver.put("wrapper", WRAPPER);
        fs::set_permissions(program, fs::Permissions::from_mode(0o700)).unwrap();
        receiver.put("code", "0");
        receiver.put("told", r#"{"told":"waiting","reason":"later"}"#);
        receiver.sessions(0, &[("i1", "main"), ("i2", "two")]);
        receiver.put(".local/state/local-webhook/github.secret", SECRET);
        receiver.dispatch(&json!({}));
        for file in [receiver.paths.secret("github"), receiver.paths.sources()] {
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        receiver
    }

    /// A stopped one for the same files.
    pub(crate) fn beside(other: &Self) -> Self {
        let mut receiver = Self::stopped();
        receiver.paths = other.paths.clone();
        let settings = receiver.settings.as_mut().expect("it is stopped");
        settings.parts.paths = other.paths.clone();
        receiver
    }

    /// Sets the port where deliveries come in; it is stopped.
    pub(crate) fn set_port(&mut self, port: u16) {
        self.settings.as_mut().expect("it is stopped").door = Door::Port(port);
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Replaces a file below the home in one step.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        let mut temp = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
        temp.write_all(text.as_bytes()).unwrap();
        temp.persist(path).unwrap();
    }

    /// What the wrapper wrote; empty if nothing.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.home.path().join(path)).unwrap_or_default()
    }

    /// Sets what the wrapper's `status` says, and touches the registry as a change would.
    pub(crate) fn sessions(&self, live: u64, sessions: &[(&str, &str)]) {
        let sessions: Vec<Value> = sessions
            .iter()
            .map(|(id, name)| {
                json!({"sessionId": id, "name": name, "agent": "shell", "active": true})
            })
            .collect();
        let claimed = self.claimed.borrow();
        let hooks = json!({"live": live, "max": 4});
        let status = json!({"hookSessions": hooks, "sessions": sessions, "claimedUpTo": *claimed});
        self.put("status", &status.to_string());
        self.put(".config/agent-box/sessions.json", "{}");
    }

    /// Sets what limits the dispatch.
    pub(crate) fn dispatch(&self, limits: &Value) {
        let sources = json!({"github": {"secretFile": "github.secret"}});
        self.put(SOURCES, &json!({"sources": sources, "dispatch": limits}).to_string());
        fs::set_permissions(self.paths.sources(), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Sets a filter of topics without rules.
    pub(crate) fn subscribe(&self, key: Option<&str>, topics: &[&str]) {
        let path = self.paths.filter(key);
        let name = path.file_name().unwrap().to_str().unwrap();
        let filter = json!({"enabled": true, "ttlHours": 0, "topics": topics});
        self.put(&format!(".local/state/local-webhook/{name}"), &filter.to_string());
    }

    pub(crate) fn start(&mut self) {
        let settings = self.settings.take().expect("it is stopped");
        let (over, shutdown) = watch::channel(false);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let done = run(&settings, shutdown, || ready.send(()).unwrap());
            (settings, done)
        });
        let _ = is_ready.recv_timeout(Duration::from_secs(20));
        self.running = Some((over, thread));
    }

    /// Ends it as SIGTERM would.
    pub(crate) fn stop(&mut self) -> Result<(), ServeError> {
        let (over, thread) = self.running.take().expect("it runs");
        over.send_replace(true);
        let (settings, done) = thread.join().unwrap();
        self.settings = Some(settings);
        done
    }

    /// Sends a signed issue that somebody opened.
    pub(crate) fn send(&self, id: &str, repository: &str, number: u64) -> u16 {
        let payload = json!({
            "action": "opened",
            "issue": {"number": number, "title": format!("marker-{number}-end")},
            "repository": {"full_name": repository},
            "sender": {"login": "joe"},
        });
        let body = payload.to_string().into_bytes();
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(&body);
        let mut signature = String::new();
        for byte in mac.finalize().into_bytes() {
            write!(signature, "{byte:02x}").unwrap();
        }
        let head = format!(
            "POST / HTTP/1.1\r\nhost: box\r\nconnection: close\r\nx-github-event: issues\r\n\
             x-github-delivery: {id}\r\nx-hub-signature-256: sha256={signature}\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = UnixStream::connect(self.paths.ingress()).unwrap();
        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Looks into the inbox.
    pub(crate) fn look<T>(
        &self,
        look: impl FnOnce(&Look) -> Result<T, agent_box_webhook::inbox::InboxError>,
    ) -> T {
        ReadOnly::open(&self.paths.inbox()).unwrap().unwrap().look(look).unwrap()
    }

    /// A delivery's state as it is shown.
    pub(crate) fn state(&self, id: &str) -> String {
        let reference = Reference::parse(&format!("github/{id}")).unwrap();
        let found = self.look(|look| look.find(&reference));
        found.last().map(|it| it.state.to_string()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn wait_state(&self, id: &str, prefix: &str) {
        within(20).until(&format!("{id} is {prefix}"), || self.state(id).starts_with(prefix));
    }

    /// The batches that the wrapper was run for, each as often as it was.
    pub(crate) fn runs(&self) -> Vec<String> {
        self.read("runs").lines().map(str::to_owned).collect()
    }

    /// Where peers of the older kind put their sockets.
    pub(crate) fn instances(&self) -> PathBuf {
        let directory = self.paths.instances();
        fs::create_dir_all(&directory).unwrap();
        directory
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.running.take() {
            over.send_replace(true);
            let _ = thread.join();
        }
    }
}

/// An empty file.
pub(crate) fn touch(path: &Path) {
    File::create(path).unwrap();
}
