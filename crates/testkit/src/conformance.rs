//! One table of what an agent CLI does with its arguments, for the real CLIs and their stubs.
//!
//! Each [`Case`] is run in a tmux pane with a fresh home. The stub runs it in every test run; the
//! real CLIs where `AGENT_BOX_REAL_CLIS` names the directory that npm installed them into, with
//! the [mock model](crate::mock_model) behind them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::Home;
use crate::mock_model::MockModel;
use crate::private_tmux::PrivateTmux;
use crate::wait::within;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// `claude` or `codex`.
    pub agent: &'static str,
    /// What is there before the start.
    pub before: Before,
    /// The argument words; `{id}` stands for the conversation made before.
    pub arguments: &'static [&'static str],
    /// What comes of it.
    pub expect: Expect,
}

/// What a home holds before the start, besides the files that let an agent start undisturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing else.
    Nothing,
    /// The file that trusts the directory is missing.
    NoTrust,
    /// `IS_SANDBOX` is not set; such cases mean something to root only.
    NoSandbox,
    /// A conversation whose agent was killed, with the prompt `EARLIER`.
    Conversation,
    /// The same, and the start is in another directory.
    ConversationElsewhere,
    /// A transcript of [`ID`] in which nobody said anything.
    EmptyTranscript,
}

/// What is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It ends with this code, after these words.
    Refuses(u8, &'static str),
    /// It runs, and a transcript holds exactly this message of the user.
    Prompt(&'static str),
    /// It lives and shows these words, and no transcript holds a message of this start.
    Waits(&'static str),
    /// It runs, and this signal ends it: by an exit code (`Ok`) or as a signal (`Err`).
    Dies(i32, Result<i32, i32>),
}

/// A conversation id for cases that choose one.
pub const ID: &str = "0197a2c0-0000-7000-8000-00000000000a";

const SKIP: &str = "--dangerously-skip-permissions";
const BYPASS: &str = "--dangerously-bypass-approvals-and-sandbox";

macro_rules! table {
    ($($agent:ident $before:ident [$($word:expr),*] => $expect:expr;)*) => {
        &[$(Case {
            agent: stringify!($agent),
            before: Before::$before,
            arguments: &[$($word),*],
            expect: $expect,
        }),*]
    };
}

use Expect::{Dies, Prompt, Refuses, Waits};

/// Every case.
pub const TABLE: &[Case] = table! {
    // claude: how options are written.
    claude Nothing [SKIP, "--", "P1"] => Prompt("P1");
    claude Nothing [SKIP, "--settings={\"theme\":\"light\"}", "--", "P1"] => Prompt("P1");
    claude Nothing [SKIP, "--remote-control=u-s@h", "--", "P1"] => Prompt("P1");
    claude Nothing [SKIP, "--remote-control", "u-s@h", "--", "P1"] => Prompt("P1");
    claude Nothing [SKIP, "--channels=plugin:a@b", "--channels=plugin:c@d", "--", "P1"]
        => Prompt("P1");
    claude Nothing [SKIP, "--channels", "plugin:a@b", "--", "P1"] => Prompt("P1");
    claude Nothing [SKIP, "--session-id=0197a2c0-0000-7000-8000-00000000000a", "--", "P1"]
        => Prompt("P1");
    claude Nothing [SKIP, "--name=foo", "--", "P1"] => Prompt("P1");
    // claude: what becomes the prompt.
    claude Nothing [SKIP, "--", "--help"] => Prompt("--help");
    claude Nothing [SKIP, "--", "P1", "P2"] => Prompt("P1");
    claude Nothing [SKIP, "--", "  a\tb\r\n\n\"q\" $(x) `y` \\ \n"]
        => Prompt("  a\tb\r\n\n\"q\" $(x) `y` \\ \n");
    claude Nothing [SKIP, "--", "!echo hi"] => Prompt("!echo hi");
    claude Nothing [SKIP, "--", "/home/u/x is broken"] => Prompt("/home/u/x is broken");
    claude Nothing [SKIP, "--", "\n/help"] => Waits("");
    // claude: refusals.
    claude Nothing [SKIP, "--no-such", "--", "P1"] => Refuses(1, "error: unknown option '--no-such'");
    claude Nothing [SKIP, "--settings=/nonexistent.json", "--", "P1"]
        => Refuses(1, "Error: Settings file not found: /nonexistent.json");
    claude Nothing [SKIP, "--settings={\"a\":", "--", "P1"]
        => Refuses(1, "Error: Settings file not found: /");
    claude Nothing [SKIP, "--session-id=abc", "--", "P1"]
        => Refuses(1, "Error: Invalid session ID. Must be a valid UUID.");
    claude Nothing [SKIP, "--channels", "plugin:a@b", "P1"]
        => Refuses(1, "--channels entries must be tagged: P1");
    claude Nothing [SKIP, "--resume=0197a2c0-0000-7000-8000-00000000000a", "--", "P1"]
        => Refuses(1, "No conversation found with session ID: 0197a2c0");
    claude Conversation [SKIP, "--session-id={id}", "--resume={id}", "--", "P1"]
        => Refuses(1, "Error: --session-id with --continue or --resume also needs --fork-session.");
    claude NoSandbox [SKIP, "--", "P1"]
        => Refuses(1, "cannot be used with root/sudo privileges for security reasons");
    // claude: conversations.
    claude Conversation [SKIP, "--resume={id}", "--", "LATER"] => Prompt("LATER");
    claude Conversation [SKIP, "--session-id={id}", "--", "LATER"]
        => Refuses(1, "is already in use.");
    claude EmptyTranscript [SKIP, "--resume=0197a2c0-0000-7000-8000-00000000000a"]
        => Refuses(1, "No conversation found with session ID: 0197a2c0");
    claude EmptyTranscript [SKIP, "--session-id=0197a2c0-0000-7000-8000-00000000000a"]
        => Refuses(1, "is already in use.");
    // claude: a question instead of a start.
    claude NoTrust [SKIP, "--", "P1"] => Waits("Quick safety check");
    // claude: ends.
    claude Nothing [SKIP, "--", "P1"] => Dies(1, Ok(129));
    claude Nothing [SKIP, "--", "P1"] => Dies(15, Ok(143));
    claude Nothing [SKIP, "--", "P1"] => Dies(2, Ok(0));
    claude Nothing [SKIP, "--", "P1"] => Dies(9, Err(9));

    codex Nothing ["--no-daemon", BYPASS, "--", "P1"] => Prompt("P1");
    codex Nothing [BYPASS, "--no-daemon", "-C", "/", "--", "P1"] => Prompt("P1");
    codex NoSandbox ["--no-daemon", BYPASS, "--", "P1"] => Prompt("P1");
    codex Nothing ["--no-daemon", "-c", "approval_policy=never", "-c",
        "sandbox_mode=danger-full-access", "--", "P1"] => Prompt("P1");
    codex Nothing ["--no-daemon", "-capproval_policy=never",
        "--config=sandbox_mode=danger-full-access", "--", "P1"] => Prompt("P1");
    codex Nothing ["--no-daemon", BYPASS, "--", "--help"] => Prompt("--help");
    codex Nothing ["--no-daemon", BYPASS, "--", "/help"] => Prompt("/help");
    codex Nothing ["--no-daemon", BYPASS, "--", "resume"] => Prompt("resume");
    codex Nothing ["--no-daemon", BYPASS, "--", "  a\tb\r\nc  \n"] => Prompt("  a\tb\nc  \n");
    codex Nothing ["--no-daemon", BYPASS, "--", "!true"] => Waits("");
    codex Nothing ["--session-id=x", "--", "P1"]
        => Refuses(2, "error: unexpected argument '--session-id' found");
    codex Nothing ["--full-auto", "--", "P1"]
        => Refuses(2, "error: unexpected argument '--full-auto' found");
    codex Nothing ["--no-daemon", BYPASS, "--", "P1", "P2"]
        => Refuses(2, "error: unexpected argument 'P2' found");
    codex Nothing ["resume", "--no-daemon", BYPASS, "--", "0197a2c0-0000-7000-8000-00000000000a",
        "P1"] => Refuses(1, "No saved session found with ID 0197a2c0");
    codex Conversation ["resume", "--no-daemon", BYPASS, "--", "{id}", "LATER"] => Prompt("LATER");
    codex ConversationElsewhere ["resume", "--no-daemon", BYPASS, "--", "{id}", "LATER"]
        => Waits("Working directory");
    codex ConversationElsewhere ["resume", "--no-daemon", BYPASS, "-C", ".", "--", "{id}", "LATER"]
        => Prompt("LATER");
    codex Nothing ["--no-daemon", BYPASS, "--", "P1"] => Dies(1, Err(1));
    codex Nothing ["--no-daemon", BYPASS, "--", "P1"] => Dies(15, Err(15));
    codex Nothing ["--no-daemon", BYPASS, "--", "P1"] => Dies(2, Err(2));
};

/// Runs one case with the given program; panics if it behaves otherwise.
#[track_caller]
pub fn check(case: &Case, program: &Path, model: &MockModel) {
    if case.before == Before::NoSandbox
        && case.agent == "claude"
        && !rustix::process::getuid().is_root()
    {
        return;
    }
    let mut bench = Bench::new(case, program, model);
    if matches!(case.before, Before::Conversation | Before::ConversationElsewhere) {
        let options: &[&str] =
            if case.agent == "claude" { &[SKIP] } else { &["--no-daemon", BYPASS] };
        bench.start("w", &[options, &["--", "EARLIER"]].concat());
        within(20).until("the earlier conversation", || bench.said("EARLIER"));
        bench.kill_agent();
    }
    let directory = if case.before == Before::ConversationElsewhere { "w2" } else { "w" };
    let id = bench.conversation();
    let words: Vec<String> = case.arguments.iter().map(|word| word.replace("{id}", &id)).collect();
    bench.start(directory, &words.iter().map(String::as_str).collect::<Vec<_>>());
    bench.expect(case);
}

/// One home, one pane.
struct Bench {
    tmux: PrivateTmux,
    home: Home,
    prefix: Vec<String>,
    program: String,
    agent: &'static str,
    expect: Expect,
}

impl Bench {
    fn new(case: &Case, program: &Path, model: &MockModel) -> Self {
        let home = Home::new(&["w", "w2"]);
        let work = home.path().join("w");
        let put = |path: &str, text: &str| home.put(path, text);
        let trusted = if case.before == Before::NoTrust {
            "/elsewhere".into()
        } else {
            work.to_string_lossy()
        };
        put(".claude.json", &MockModel::claude_files(&trusted));
        put(
            ".claude/settings.json",
            r#"{"theme":"dark","skipDangerousModePermissionPrompt":true}"#,
        );
        put(".codex/config.toml", &model.codex_config());
        if case.before == Before::EmptyTranscript {
            let project = work.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            put(&format!(".claude/projects/{project}/{ID}.jsonl"), "");
        }
        let mut prefix = vec!["LANG=C.UTF-8".to_owned()];
        prefix
            .extend(model.claude_environment().iter().map(|(key, value)| format!("{key}={value}")));
        if case.before != Before::NoSandbox {
            prefix.push("IS_SANDBOX=1".to_owned());
        }
        let tmux = PrivateTmux::new(home.path().join("tmux"), home.path());
        let program = program.to_string_lossy().into_owned();
        Self { tmux, home, prefix, program, agent: case.agent, expect: case.expect }
    }

    fn start(&self, directory: &str, arguments: &[&str]) {
        let directory = self.home.path().join(directory).to_string_lossy().into_owned();
        let mut words = vec!["env", "-C", &directory];
        words.extend(self.prefix.iter().map(String::as_str));
        // What a program says just before its end can be lost when that end hangs the terminal up.
        // Here a shell leads the terminal, and stays until tmux has read everything.
        if matches!(self.expect, Refuses(..)) {
            words.extend(["/bin/sh", "-c", "\"$0\" \"$@\"; code=$?; sleep 0.3; exit $code"]);
        }
        words.push(&self.program);
        words.extend(arguments);
        let output = self.tmux.start("a", &words);
        assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Kills the agent, and gives the next one a tmux server of its own.
    fn kill_agent(&mut self) {
        let pid = self.tmux.pane_pid("a").expect("the pane has a pid");
        crate::process::send(pid, rustix::process::Signal::KILL);
        within(10).until("the earlier agent is gone", || !crate::process::is_alive(pid));
        self.tmux = PrivateTmux::new(self.home.path().join("tmux-2"), self.home.path());
    }

    #[track_caller]
    fn expect(&self, case: &Case) {
        let described = format!("{} {:?} {:?}", case.agent, case.arguments, case.expect);
        match case.expect {
            Refuses(code, words) => {
                let ended = within(20).for_some(&described, || self.ended());
                let said = self.tmux.screen("a").replace('\n', "");
                assert_eq!(ended, Ok(code.into()), "{described}: {said}");
                assert!(said.contains(words), "{described}: {said}");
            }
            Prompt(prompt) => within(20).until(&described, || {
                assert_eq!(self.ended(), None, "{described}: {}", self.tmux.screen("a"));
                self.said(prompt)
            }),
            Waits(words) => {
                within(20).until(&described, || {
                    let screen = self.tmux.screen("a");
                    !screen.trim().is_empty() && screen.contains(words)
                });
                let last = case.arguments.last().copied().unwrap_or_default();
                within(1).always(&described, || !self.said(last) && self.ended().is_none());
            }
            Dies(signal, expected) => {
                within(20).until(&described, || self.said("P1"));
                let pid = self.tmux.pane_pid("a").expect("the pane has a pid");
                let signal = rustix::process::Signal::from_named_raw(signal);
                crate::process::send(pid, signal.expect("BUG: the table names signals"));
                assert_eq!(
                    within(20).for_some(&described, || self.ended()),
                    expected,
                    "{described}"
                );
            }
        }
    }

    /// How the pane's program ended: a code, or a signal as the error.
    fn ended(&self) -> Option<Result<i32, i32>> {
        // Some tmux servers lose an exit until another child ends; this is another child. Not
        // waited for, since its own exit can be lost as well.
        self.tmux.run(&["run-shell", "-b", "true"]);
        let ended = self.tmux.format("a", "#{pane_dead} #{pane_dead_status} #{pane_dead_signal}");
        let mut fields = ended.split(' ');
        if fields.next() != Some("1") {
            return None;
        }
        let status = fields.next()?.parse().ok().map(Ok);
        status.or_else(|| Some(Err(fields.next()?.parse().ok()?)))
    }

    fn said(&self, prompt: &str) -> bool {
        self.transcripts().iter().any(|path| messages(path).iter().any(|text| text == prompt))
    }

    /// The id in the name of the only transcript.
    fn conversation(&self) -> String {
        let name = self
            .transcripts()
            .first()
            .and_then(|path| path.file_stem()?.to_str().map(str::to_owned));
        let name = name.unwrap_or_default();
        name[name.len().saturating_sub(36)..].to_owned()
    }

    fn transcripts(&self) -> Vec<PathBuf> {
        let below = if self.agent == "claude" { ".claude/projects" } else { ".codex/sessions" };
        let mut found = Vec::new();
        collect(&self.home.path().join(below), &mut found);
        found
    }
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
}

/// The user's messages of a transcript or rollout.
pub fn messages(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let message = |line: Value| {
        let pointer = match line.get("type")?.as_str()? {
            "user" => "/message/content",
            "response_item" if line.pointer("/payload/role")? == "user" => {
                "/payload/content/0/text"
            }
            _ => return None,
        };
        line.pointer(pointer)?.as_str().map(str::to_owned)
    };
    lines.filter_map(message).collect()
}

/// The real programs below an npm directory: claude, codex.
pub fn real_programs(npm: &Path) -> [(&'static str, PathBuf); 2] {
    let modules = npm.join("node_modules");
    let machine = std::env::consts::ARCH.replace("x86_64", "x64").replace("aarch64", "arm64");
    let claude = format!("@anthropic-ai/claude-code-linux-{machine}/claude");
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let codex = format!("@openai/codex-linux-{machine}/vendor/{triple}/bin/codex");
    [("claude", modules.join(claude)), ("codex", modules.join(codex))]
}
