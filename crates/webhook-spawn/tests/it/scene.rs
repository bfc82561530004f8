//! One box and the wrapper, called as the receiver calls it.
#![expect(clippy::unwrap_used, reason = "test support")]

use std::path::PathBuf;

use agent_box_event::contract::Request;
use agent_box_event::{BatchId, EventKey, Source};
use agent_box_session::paths::Paths;
use agent_box_session::{Agent, SessionId, SessionName, SessionSpec};
use agent_box_session_store::{Change, Store};
use agent_box_testkit::{AgentBox, Finished, TestBox};
use rustix::process::getuid;
use serde_json::Value;

/// The wrapper's program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_agent-box-webhook-spawn");
/// What the receiver drew for its inbox.
const INBOX: u64 = 0xab;

pub(crate) struct Scene {
    pub(crate) test_box: TestBox,
    pub(crate) store: Store,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(PROGRAM)
    }

    pub(crate) fn with(program: impl Into<PathBuf>) -> Self {
        let mut test_box = TestBox::new(program);
        // As a box in a unit test has it, whoever runs the test.
        test_box.set("USER", "alice");
        let uid = getuid().as_raw();
        let socket = Paths::socket_below(&test_box.home().join("run"), uid);
        let store = Store::open(Paths::new(test_box.home(), socket)).unwrap();
        Self { test_box, store }
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.test_box.set(key, value);
    }

    /// The wrapper as the receiver starts it, not started yet.
    pub(crate) fn wrapper(&self, request: &Request, events: impl Into<Vec<u8>>) -> AgentBox {
        let command = self.test_box.command(&[] as &[&str]).stdin(events);
        request.variables().into_iter().fold(command, |it, (key, value)| it.env(key, value))
    }

    pub(crate) fn spawn(&self, request: &Request, events: &str) -> Finished {
        self.wrapper(request, events).run()
    }

    /// Adds a session as the operator would.
    pub(crate) fn add(&self, name: &str, agent: Agent) -> SessionId {
        let change = Change::Operator { by: "test".to_owned(), summary: "add".to_owned() };
        let name = SessionName::parse(name).unwrap();
        let spec = SessionSpec::new(agent);
        self.store.transact(change, |tx| tx.add(name, spec, "test")).unwrap()
    }

    pub(crate) fn remove(&self, name: &str) {
        let change = Change::Operator { by: "test".to_owned(), summary: "rm".to_owned() };
        let name = SessionName::parse(name).unwrap();
        self.store.transact(change, |tx| tx.delist(&name, "test")).unwrap();
    }

    pub(crate) fn stop(&self, name: &str) {
        let change = Change::Operator { by: "test".to_owned(), summary: "stop".to_owned() };
        let name = SessionName::parse(name).unwrap();
        self.store.transact(change, |tx| tx.stop(&name, "test")).unwrap();
    }

    pub(crate) fn restart(&self, name: &str) {
        let change = Change::Operator { by: "test".to_owned(), summary: "restart".to_owned() };
        let name = SessionName::parse(name).unwrap();
        self.store.transact(change, |tx| tx.restart(&name)).unwrap();
    }

    /// The registry's file; an empty object on a fresh box.
    pub(crate) fn registry(&self) -> Value {
        let text = std::fs::read(self.test_box.registry()).unwrap_or_else(|_| b"{}".to_vec());
        serde_json::from_slice(&text).unwrap()
    }

    /// The hook sessions' names, in the order of the file.
    pub(crate) fn hooks(&self) -> Vec<String> {
        let registry = self.registry();
        let sessions = registry.get("sessions").and_then(Value::as_object);
        let names = sessions.into_iter().flatten().map(|(name, _)| name.clone());
        names.filter(|name| name.starts_with("hook-")).collect()
    }

    pub(crate) fn entry(&self, name: &str) -> Value {
        self.registry()["sessions"][name].clone()
    }

    pub(crate) fn prompt(&self, name: &str) -> String {
        self.entry(name)["initialPrompt"].as_str().expect("a prompt").to_owned()
    }

    /// The session named by the answer, checked to be the whole answer.
    pub(crate) fn answer(finished: &Finished) -> (String, String) {
        let answer: Value = serde_json::from_str(&finished.stdout).expect("an answer");
        assert_eq!(finished.stdout.lines().count(), 1);
        let text = |name: &str| answer[name].as_str().expect("a text").to_owned();
        (text("sessionId"), text("name"))
    }

    /// The filter files, by name.
    pub(crate) fn filters(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.webhook()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn webhook(&self) -> PathBuf {
        self.test_box.home().join(".local/state/local-webhook")
    }

    /// The user as the program sees it.
    pub(crate) fn user(&self) -> String {
        let place = agent_box_session_store::Place::find(getuid().as_raw(), &|name| {
            self.test_box.environment().get(std::ffi::OsStr::new(name)).cloned()
        });
        place.unwrap().user
    }
}

/// What the receiver asks for about a batch of GitHub events.
pub(crate) fn batch(number: u64) -> Request {
    Request {
        batch: Some(BatchId { inbox: INBOX, number }),
        lowest: Some(BatchId { inbox: INBOX, number: 1 }),
        source: Some(Source::parse("github").unwrap()),
        key: Some(EventKey::parse("defangdevs/agent-box").unwrap()),
        topic: Some("github:defangdevs/*".to_owned()),
        note: Some("watch the build".to_owned()),
        count: 1,
        is_assigned: false,
        objects: Vec::new(),
        asker: None,
    }
}
