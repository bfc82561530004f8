//! The test's side of the stub agents: plans for them, and what they noted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use crate::{files, process};

/// The stub agents of one box.
#[derive(Clone, Debug)]
pub struct Stubs {
    state: PathBuf,
    programs: PathBuf,
}

/// One launch, as the agent saw it. The fields are those of its line in `launches.jsonl`.
#[derive(Clone, Debug)]
pub struct Launch(Value);

impl Stubs {
    /// The names under which the stub agent is installed.
    pub const KINDS: [&'static str; 3] = ["claude", "codex", "generic"];

    /// Installs the programs as links to `program` in the directory `programs`.
    pub(crate) fn install(program: &Path, state: PathBuf, programs: PathBuf) -> Self {
        for directory in [&state, &programs] {
            fs::create_dir_all(directory).expect("make a directory of the stub agents");
        }
        for kind in Self::KINDS {
            std::os::unix::fs::symlink(program, programs.join(kind)).expect("link a stub agent");
        }
        Self { state, programs }
    }

    /// The program of a kind.
    pub fn program(&self, kind: &str) -> PathBuf {
        self.programs.join(kind)
    }

    /// Where the plan is read and the notes are written.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Sets the whole plan: a list of steps, or an object from session names to lists or steps.
    pub fn plan(&self, plan: &str) {
        let _: Value = serde_json::from_str(plan).expect("a plan is JSON");
        files::put(&self.state.join("plan.json"), plan).expect("write the plan");
    }

    /// Sets one step for every launch of every session.
    pub fn plan_every(&self, step: &str) {
        self.plan(&format!(r#"{{"*": {step}}}"#));
    }

    /// Every launch so far, in order.
    pub fn launches(&self) -> Vec<Launch> {
        self.lines("launches.jsonl").into_iter().map(Launch).collect()
    }

    /// The launches of one session's name.
    pub fn launches_of(&self, session: &str) -> Vec<Launch> {
        let mut launches = self.launches();
        launches.retain(|launch| launch.text("/session") == Some(session));
        launches
    }

    /// The launches whose process still lives.
    pub fn living(&self) -> Vec<Launch> {
        let mut launches = self.launches();
        launches.retain(Launch::is_alive);
        launches
    }

    /// Launches that found their conversation or session run by another living process; a
    /// promise was broken unless this is empty.
    pub fn doubles(&self) -> Vec<Value> {
        self.lines("doubles.jsonl")
    }

    /// The texts with which a CLI refused its arguments.
    pub fn refusals(&self) -> Vec<String> {
        let lines = self.lines("refusals.jsonl");
        lines.iter().filter_map(|line| Some(line.get("refused")?.as_str()?.to_owned())).collect()
    }

    /// The pids of what `fork_child` and `fork_setsid` left behind.
    pub fn descendants(&self) -> Vec<i32> {
        let lines = self.lines("descendants.jsonl");
        lines.iter().filter_map(|line| pid_of(line.get("pid")?)).collect()
    }

    /// The pids that a session wrote, one a second (`write_pid_every_second`).
    pub fn pids(&self, session: &str) -> Vec<i32> {
        let log = fs::read_to_string(self.state.join(format!("pids-{session}.log")));
        log.unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Complete lines only: the last one may be in the making.
    fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.state.join(file)).unwrap_or_default();
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let parsed = complete.lines().map(serde_json::from_str);
        parsed.collect::<Result<_, _>>().expect("the stub agents write JSON lines")
    }
}

impl Launch {
    /// The whole line.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// A text field by JSON pointer: `/session`, `/cwd`, `/conversation`, `/dialog`.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    /// The agent's pid.
    pub fn pid(&self) -> i32 {
        self.0.get("pid").and_then(pid_of).expect("a launch has a pid")
    }

    /// Whether this very process still lives (a reused pid is not it).
    pub fn is_alive(&self) -> bool {
        let started = self.0.get("start_time").and_then(Value::as_u64);
        process::is_alive(self.pid()) && process::start_time(self.pid()) == started
    }

    /// The argument words, the program's name first; words above 4 KiB are empty here.
    pub fn argv(&self) -> Vec<&str> {
        let words = self.0.get("argv").and_then(Value::as_array);
        words.into_iter().flatten().map(|word| word.as_str().unwrap_or_default()).collect()
    }

    /// The conversation it was started on; empty for an agent without a contract.
    pub fn conversation(&self) -> &str {
        self.text("/conversation").unwrap_or_default()
    }

    /// Whether it went on with an earlier conversation.
    pub fn is_resumed(&self) -> bool {
        self.0.get("resumed") == Some(&Value::Bool(true))
    }

    /// The prompt, if there was one of at most 4 KiB.
    pub fn prompt(&self) -> Option<&str> {
        self.text("/prompt/text")
    }

    /// Whether the prompt was exactly these bytes, however long.
    pub fn has_prompt(&self, prompt: &str) -> bool {
        let expected = crate::stub_agent::digest(prompt.as_bytes());
        self.text("/prompt/sha256") == expected["sha256"].as_str()
    }

    /// One variable of its environment.
    pub fn variable(&self, key: &str) -> Option<&str> {
        self.0.get("environment")?.get(key)?.as_str()
    }

    /// The names of all its variables.
    pub fn variables(&self) -> Vec<&str> {
        let environment = self.0.get("environment").and_then(Value::as_object);
        environment.into_iter().flat_map(|all| all.keys().map(String::as_str)).collect()
    }
}

fn pid_of(value: &Value) -> Option<i32> {
    value.as_i64()?.try_into().ok()
}

/// The stub agent's program, built when it is missing or older than its sources.
///
/// Cargo builds the binaries of a package for that package's own tests only, so the tests of
/// other crates come here.
pub fn stub_agent_program() -> PathBuf {
    let this = std::env::current_exe().expect("a test knows its program");
    // target/debug/deps/it-HASH and target/debug/BINARY share the profile's directory.
    let mut profile = this.parent().expect("a program is in a directory");
    if profile.ends_with("deps") {
        profile = profile.parent().expect("deps is in the profile's directory");
    }
    let program = profile.join("stub-agent");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = modified(&program);
    if built.is_none_or(|built| newest(&package.join("src")).is_some_and(|source| source > built)) {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", "agent-box-testkit", "--bin", "stub-agent"]);
        command.arg("--target-dir").arg(profile.parent().expect("a profile is in the target"));
        if profile.ends_with("release") {
            command.arg("--release");
        }
        let status = command.current_dir(package).status().expect("run cargo");
        assert!(status.success(), "the stub agent does not build");
    }
    program
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn newest(directory: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    entries.filter_map(|path| if path.is_dir() { newest(&path) } else { modified(&path) }).max()
}
