//! A box with a receiver: signed deliveries go in at its socket, what became of them is read from
//! its inbox and the registry.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use agent_box_event::contract::Answer;
use agent_box_session::WebhookPaths;
use agent_box_session_store::Place;
use agent_box_testkit::{Supervisor, TestBox, within};
use agent_box_webhook::inbox::{Criteria, Delivery, MessageState, ReadOnly, Reference};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A home with a registry, stub agents and webhook files.
pub(crate) struct WebhookBox {
    pub(crate) scene: TestBox,
    pub(crate) paths: WebhookPaths,
}

impl WebhookBox {
    /// One whose batches follow each other at once, and which knows the source `github`.
    pub(crate) fn new(program: &str) -> Self {
        build_wrapper(Path::new(program));
        let mut scene = TestBox::new(program);
        let paths = WebhookPaths::of_home(scene.home());
        scene.set("AGENT_BOX_GRACE_MS", "400");
        scene.set("AGENT_BOX_DEFAULT_AGENT", "claude");
        scene.set("LOCAL_WEBHOOK_SPAWN_WINDOW", "0");
        let state = ".local/state/local-webhook";
        scene.put(format!("{state}/github.secret"), SECRET);
        scene.put(
            format!("{state}/sources.json"),
            r#"{"sources":{"github":{"secretFile":"github.secret"}}}"#,
        );
        for file in [paths.secret("github"), paths.sources()] {
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        fs::set_permissions(paths.state(), fs::Permissions::from_mode(0o700)).unwrap();
        Self { scene, paths }
    }

    /// Starts the receiver and waits until it takes deliveries.
    #[track_caller]
    pub(crate) fn serve(&mut self) -> Supervisor {
        let mut receiver = self.scene.supervise(&["webhook", "serve"]);
        receiver.wait_ready();
        receiver
    }

    /// Adds the standing watch of all tests.
    #[track_caller]
    pub(crate) fn watch(&self) {
        let words = ["webhook", "subscribe", "o/*", "--deliver-to", "subagent", "--note", "look"];
        self.scene.run(&words).expect_success();
    }

    /// The key of a session's subscriptions.
    pub(crate) fn key(&self, session: &str) -> String {
        let home = self.scene.home().as_os_str().to_owned();
        let variable = |name: &str| (name == "HOME").then(|| home.clone());
        let place = Place::find(rustix::process::getuid().as_raw(), &variable).unwrap();
        format!("{}-{session}", place.user)
    }

    /// Sends a signed delivery; the status, or `None` if the receiver was gone before it answered.
    pub(crate) fn send(&self, kind: &str, id: &str, payload: &Value) -> Option<u16> {
        self.send_bytes(kind, id, payload.to_string().as_bytes())
    }

    pub(crate) fn send_bytes(&self, kind: &str, id: &str, body: &[u8]) -> Option<u16> {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body);
        let mut signature = String::new();
        for byte in mac.finalize().into_bytes() {
            write!(signature, "{byte:02x}").unwrap();
        }
        let head = format!(
            "POST /github HTTP/1.1\r\nhost: box\r\nconnection: close\r\nx-github-event: {kind}\r\n\
             x-github-delivery: {id}\r\nx-hub-signature-256: sha256={signature}\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = UnixStream::connect(self.paths.ingress()).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split(' ').nth(1)?.parse().ok()
    }

    /// Looks into the inbox.
    pub(crate) fn inbox(&self) -> ReadOnly {
        ReadOnly::open(&self.paths.inbox()).unwrap().expect("there is an inbox")
    }

    /// The delivery with this id; the test's ids are each given once.
    pub(crate) fn delivery(&self, id: &str) -> Option<Delivery> {
        let reference = Reference::parse(&format!("github/{id}")).unwrap();
        let found = self.inbox().look(|look| look.find(&reference)).unwrap();
        assert!(found.len() < 2, "{id}: {found:?}");
        found.into_iter().next()
    }

    /// Every delivery.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.inbox().look(|look| look.list(&Criteria::default(), usize::MAX >> 1)).unwrap()
    }

    /// The word of a delivery's state; empty if it is not stored.
    pub(crate) fn state(&self, id: &str) -> String {
        self.delivery(id).map(|it| it.state.as_str().to_owned()).unwrap_or_default()
    }

    /// Waits until a delivery is in this state.
    #[track_caller]
    pub(crate) fn wait_state(&self, id: &str, word: &str) {
        within(25).until(&format!("{id} is {word}"), || self.state(id) == word);
    }

    /// Waits until a delivery waits for a session to take it.
    #[track_caller]
    pub(crate) fn wait_queued(&self, id: &str) {
        within(25).until(&format!("{id} waits for a session"), || {
            let told = self
                .delivery(id)
                .map(|it| self.inbox().look(|look| look.messages_of(it.sequence)).unwrap());
            told.is_some_and(|told| told.iter().any(|it| it.state == MessageState::Waiting))
        });
    }

    /// The sessions that batches were answered with.
    pub(crate) fn answers(&self) -> Vec<Answer> {
        use agent_box_webhook::inbox::BatchState;

        let inbox = self.inbox();
        let batches = (1..).map_while(|number| {
            inbox.look(|look| look.batch(number)).unwrap().map(|batch| batch.state)
        });
        batches
            .filter_map(|state| match state {
                BatchState::Settled(answer) => Some(answer),
                _ => None,
            })
            .collect()
    }

    /// The hook sessions that are listed, with their kickoff prompts.
    pub(crate) fn hooks(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.scene.registry()).unwrap_or_default();
        let registry: Value = serde_json::from_str(&text).unwrap_or_default();
        let sessions = registry["sessions"].as_object().cloned().unwrap_or_default();
        let hooks = sessions.into_iter().filter(|(name, _)| name.starts_with("hook-"));
        hooks
            .map(|(name, entry)| (name, entry["initialPrompt"].as_str().unwrap_or("").to_owned()))
            .collect()
    }
}

/// An issue that somebody opened, told apart by its number.
pub(crate) fn issue(repository: &str, number: u64) -> Value {
    json!({
        "action": "opened",
        "issue": {
            "number": number,
            "title": format!("marker-{number}-end"),
            "html_url": format!("https://github.com/{repository}/issues/{number}"),
            "user": { "login": "joe" },
        },
        "repository": { "full_name": repository },
        "sender": { "login": "joe" },
    })
}

/// What the title of [`issue`] says.
pub(crate) fn marker(number: u64) -> String {
    format!("marker-{number}-end")
}

/// Builds the spawn wrapper beside the program, where the receiver looks for it: Cargo builds the
/// programs of other packages for nobody's tests.
fn build_wrapper(program: &Path) {
    let built = program.with_file_name("agent-box-webhook-spawn");
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../webhook-spawn");
    let when = modified(&built);
    let parts = ["webhook-spawn", "event", "disk", "session", "session-store", "tmux-driver"];
    let parts = parts.iter().map(|it| newest(&package.join("..").join(it).join("src")));
    if when.is_some() && when >= parts.max().flatten() {
        return;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = program.parent().expect("a program is in a directory");
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "agent-box-webhook-spawn", "--bins"]);
    command.args(["--features", "testpoints", "--target-dir"]);
    command.arg(profile.parent().expect("a profile is in the target"));
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let status = command.current_dir(package).status().expect("run cargo");
    assert!(status.success(), "the spawn wrapper does not build");
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn newest(directory: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    entries
        .filter_map(|path: PathBuf| if path.is_dir() { newest(&path) } else { modified(&path) })
        .max()
}
