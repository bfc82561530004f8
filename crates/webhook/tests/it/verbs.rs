//! One user's webhook files in a temporary home, and the verbs run on them as real processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use agent_box_session::WebhookPaths;
use serde_json::Value;

/// The program of `examples/webhook.rs`, which cargo builds for tests.
pub(crate) fn program() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let program = this.parent().and_then(Path::parent).unwrap().join("examples/webhook");
    assert!(program.is_file(), "not built: cargo build -p agent-box-webhook --example webhook");
    program
}

/// Makes a file, and the directories above it.
pub(crate) fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// The JSON in a file.
pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A user called alice.
pub(crate) struct Scene {
    home: tempfile::TempDir,
    variables: BTreeMap<String, OsString>,
}

/// How a verb ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        // Short, since a socket's path has at most 107 bytes.
        let home = tempfile::Builder::new().prefix("ab-").tempdir_in("/tmp").unwrap();
        let mut scene = Self { home, variables: BTreeMap::new() };
        for (name, value) in [("USER", "alice"), ("PATH", "/usr/bin:/bin")] {
            scene.set(name, value);
        }
        scene.set("HOME", scene.home().to_owned());
        scene
    }

    /// As [`Scene::new`], in the session main.
    pub(crate) fn in_session() -> Self {
        let mut scene = Self::new();
        scene.set("LOCAL_WEBHOOK_SESSION", "alice-main");
        scene
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn paths(&self) -> WebhookPaths {
        WebhookPaths::of_home(self.home())
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    /// A command with this user's environment and no other.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_of(&program(), words)
    }

    /// The same for another program.
    pub(crate) fn command_of(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).env_clear().envs(&self.variables).current_dir(self.home());
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Done {
        Done::of(self.command(words).output().unwrap())
    }

    /// What `ls --json` says.
    pub(crate) fn list(&self) -> Value {
        let done = self.run(&["ls", "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        serde_json::from_str(&done.stdout).unwrap()
    }

    /// A program on a search path of its own.
    pub(crate) fn put_program(&mut self, name: &str, script: &str) {
        let directory = self.home().join("bin");
        let path = directory.join(name);
        put(&path, script);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let mut search = directory.into_os_string();
        search.push(":/usr/bin:/bin");
        self.set("PATH", search);
    }
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the code, and returns what was printed.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}
