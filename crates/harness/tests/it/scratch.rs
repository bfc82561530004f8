//! A temporary home with agent programs, and requests for launches in it.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agent_box_harness::{Harness, PrepareError, Prepared, Request, Surroundings};
use agent_box_session::paths::Paths;
use agent_box_session::{
    Agent, Ending, Entry, Exit, LaunchId, LaunchRecord, LaunchState, ProcessRef, SessionId,
    SessionName, SessionSpec, Timestamp, WebhookPaths,
};
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

/// Conversations of the tests, by letter.
pub(crate) const A: &str = "0193b2c0-0000-4000-8000-00000000000a";
pub(crate) const B: &str = "0193b2c0-0000-4000-8000-00000000000b";
pub(crate) const C: &str = "0193b2c0-0000-4000-8000-00000000000c";

pub(crate) struct Scratch {
    directory: TempDir,
    pub(crate) surroundings: Surroundings,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("abh-").tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap().join("h");
        for folder in ["w", "w2", "bin"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for program in ["claude", "codex", "other", "shell"] {
            let path = home.join("bin").join(program);
            File::create(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        let program = |name: &str| home.join("bin").join(name);
        let surroundings = Surroundings {
            paths: Paths::new(&home, home.join("socket")),
            webhook: WebhookPaths::of_home(&home),
            user: "ann".to_owned(),
            host: Some("box".to_owned()),
            program: program("agent-box"),
            agents: vec![
                (Agent::Claude, program("claude")),
                (Agent::Codex, program("codex")),
                (Agent::Other("other".to_owned()), program("other")),
            ],
            search_path: home.join("bin").into(),
            shell: program("shell"),
            root: false,
            sandbox: false,
            codex_full_access: false,
            agents_pointer: None,
            claude_guide_target: None,
            inherited: Vec::new(),
            inherit: Vec::new(),
        };
        Self { directory, surroundings }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.surroundings.paths.home().to_owned()
    }

    pub(crate) fn work(&self) -> String {
        self.home().join("w").to_str().unwrap().to_owned()
    }

    pub(crate) fn harness(&self) -> Harness {
        Harness::new(self.surroundings.clone())
    }

    /// A session of this agent in the work directory.
    pub(crate) fn ask(&self, agent: &str) -> Ask {
        let mut spec = SessionSpec::new(Agent::parse(agent).unwrap());
        spec.working_directory = Some(self.work());
        Ask {
            session: SessionId::from_uuid(Uuid::now_v7()),
            launch: LaunchId::from_uuid(Uuid::now_v7()),
            entry: Entry::new(SessionId::from_uuid(Uuid::now_v7()), spec),
            record: None,
            rotations: Vec::new(),
            others: Vec::new(),
            variables: Vec::new(),
        }
    }

    pub(crate) fn try_prepare(&self, ask: &Ask) -> Result<Prepared, PrepareError> {
        let rotation = |id: &str| {
            ask.rotations.iter().find(|(from, _)| *from == id).map(|(_, to)| (*to).to_owned())
        };
        prepare_with(&self.harness(), ask, &rotation)
    }

    pub(crate) fn prepare(&self, ask: &Ask) -> Prepared {
        self.try_prepare(ask).unwrap()
    }

    /// A text with this home's path replaced by `~` and generated ids by `NEW`.
    pub(crate) fn plain(&self, text: &str, ask: &Ask, prepared: &Prepared) -> String {
        let id = prepared.conversation.as_deref().unwrap();
        let known = [A, B, C].contains(&id);
        let text = text.replace(self.home().to_str().unwrap(), "~");
        let text = if known { text } else { text.replace(id, "NEW") };
        let text = text.replace(&ask.launch.to_string(), "LAUNCH");
        let session = ask.entry.id.map(|id| id.to_string()).unwrap_or_default();
        let text = if session.is_empty() { text } else { text.replace(&session, "SESSION") };
        text.replace(A, "AAA").replace(B, "BBB").replace(C, "CCC")
    }

    /// The command line, a word a line.
    pub(crate) fn argv(&self, ask: &Ask) -> String {
        let prepared = self.prepare(ask);
        self.plain(&prepared.argv.join("\n"), ask, &prepared)
    }

    /// Writes claude's transcript of `id` for a directory, as claude 2.1.332 does.
    pub(crate) fn transcript(&self, id: &str, directory: &str, messages: &[&str]) -> PathBuf {
        let folder: String =
            directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = self.home().join(".claude/projects").join(folder).join(format!("{id}.jsonl"));
        let mut lines = vec![
            json!({"type": "mode", "mode": "normal"}),
            json!({"type": "file-history-snapshot", "snapshot": {"user": "no message"}}),
        ];
        for text in messages {
            lines.push(json!({
                "parentUuid": null, "isSidechain": false, "type": "user",
                "message": {"role": "user", "content": text}, "cwd": directory, "sessionId": id,
            }));
            lines.push(json!({
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "PONG"}]},
            }));
        }
        put_lines(&path, &lines);
        path
    }

    /// Writes codex's rollout `id` with these messages by these roles, as codex 0.171.0 does.
    pub(crate) fn rollout(&self, day: &str, id: &str, messages: &[(&str, &str)]) -> PathBuf {
        let path = self
            .home()
            .join(".codex/sessions")
            .join(day)
            .join(format!("rollout-{}T08-18-32-{id}.jsonl", day.replace('/', "-")));
        let mut lines = vec![json!({
            "type": "session_meta",
            "payload": {"id": id, "cwd": self.work(), "source": "cli", "originator": "codex-tui",
                "base_instructions": {"text": "x".repeat(20_000)}},
        })];
        let context = "<environment_context>\n</environment_context>";
        for (role, text) in [("user", context)].iter().chain(messages) {
            lines.push(json!({
                "type": "response_item",
                "payload": {"type": "message", "role": role,
                    "content": [{"type": "input_text", "text": text}]},
            }));
        }
        put_lines(&path, &lines);
        path
    }

    /// Keeps the home's path valid until here.
    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }
}

/// What a supervisor would ask for.
pub(crate) struct Ask {
    session: SessionId,
    pub(crate) launch: LaunchId,
    pub(crate) entry: Entry,
    pub(crate) record: Option<LaunchRecord>,
    pub(crate) rotations: Vec<(&'static str, &'static str)>,
    pub(crate) others: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
}

impl Ask {
    pub(crate) fn prompt(mut self, text: &str) -> Self {
        self.entry.spec.initial_prompt = Some(text.to_owned());
        self
    }

    pub(crate) fn conversation(mut self, id: &str) -> Self {
        self.entry.conversation = Some(id.to_owned());
        self
    }

    /// The agent was started as prepared (or not, if its exec failed) and has ended; the registry
    /// mirrors that, and the next launch is asked for.
    pub(crate) fn after(mut self, prepared: Prepared, handed_over: bool) -> Self {
        let agent = self.entry.spec.agent.clone().unwrap();
        let name = SessionName::parse("main").unwrap();
        let now = Timestamp::from_millis(1);
        let mut record = LaunchRecord::blank(self.session, name, self.launch, agent, 1, now);
        record.argv = prepared.argv;
        record.environment = prepared.environment;
        record.directory = prepared.directory;
        record.carries_prompt = prepared.carries_prompt;
        record.prompt = prepared.prompt;
        record.prompt_proven = prepared.prompt_proven;
        record.prompt_handed =
            prepared.prompt_handed + u32::from(handed_over && prepared.carries_prompt);
        record.conversation = prepared.conversation;
        let launcher = ProcessRef { pid: 1, start_time: 1, boot_id: String::new() };
        record.state = LaunchState::Starting { launcher, at: now, agent: None, suspended: false };
        if self.entry.spec.initial_prompt == record.prompt {
            self.entry.spec.initial_prompt = None;
        }
        self.entry.conversation.clone_from(&record.conversation);
        self.entry.has_run = true;
        self.record = Some(record);
        self.launch = LaunchId::from_uuid(Uuid::now_v7());
        self
    }

    /// Its launcher saw the end.
    pub(crate) fn ended(mut self, ending: Ending) -> Self {
        let at = Timestamp::from_millis(1);
        let exit = Exit::Code(0);
        let record = self.record.as_mut().unwrap();
        record.state = LaunchState::Ended { started: at, at, exit, ending, needs_login: false };
        self
    }
}

pub(crate) fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn put_lines(path: &Path, lines: &[serde_json::Value]) {
    let text: Vec<String> = lines.iter().map(serde_json::Value::to_string).collect();
    put(path, &(text.join("\n") + "\n"));
}

pub(crate) fn prepare_with(
    harness: &Harness,
    ask: &Ask,
    rotation: &dyn Fn(&str) -> Option<String>,
) -> Result<Prepared, PrepareError> {
    harness.prepare(&Request {
        name: &SessionName::parse("main").unwrap(),
        launch: ask.launch,
        entry: &ask.entry,
        record: ask.record.as_ref(),
        rotation,
        others: &ask.others,
        variables: &ask.variables,
    })
}
