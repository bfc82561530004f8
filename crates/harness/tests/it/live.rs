//! Command lines run by agents in a real pane: the stubs always, the real CLIs where
//! `AGENT_BOX_REAL_CLIS` names the directory that npm installed them into.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agent_box_harness::{Prepared, session_start_hook};
use agent_box_session::env;
use agent_box_testkit::conformance::real_programs;
use agent_box_testkit::mock_model::MockModel;
use agent_box_testkit::{PrivateTmux, process, stub_agent_program, within};

use crate::scratch::{Ask, Scratch, prepare_with, put};

/// A home with agents that can run, a model that answers and a tmux server of its own.
struct Pane {
    tmux: PrivateTmux,
    scratch: Scratch,
    model: MockModel,
    /// Each start has a tmux session of its own: a server that was killed a moment ago can make
    /// the next client fail.
    starts: Cell<u32>,
}

/// Stands in for `agent-box`: keeps what its hooks are given, and serves one tool.
const STAND_IN: &str = r#"#!/bin/sh
case "$1 $2" in
"hook session-start") mkdir -p $HOME/hooks; exec cat >$HOME/hooks/$AGENT_BOX_SESSION_ID.$$ ;;
"hook turn") mkdir -p $HOME/turns; exec cat >$HOME/turns/$$ ;;
"mcp ") ;;
*) exit 9 ;;
esac
env >$HOME/tools.env
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"initialize"'*)
        say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"agent-box","version":"1"}}' ;;
    *'"tools/list"'*)
        say '{"tools":[{"name":"webhook_read","description":"read","inputSchema":{"type":"object"}}]}'
        : >$HOME/tools.listed ;;
    esac
done
"#;

impl Pane {
    fn new(programs: &[(&str, PathBuf)]) -> Self {
        let mut scratch = Scratch::new();
        let (home, model) = (scratch.home(), MockModel::start().unwrap());
        for (agent, program) in scratch.surroundings.agents.iter_mut().take(2) {
            let (_, found) = programs.iter().find(|(name, _)| *name == agent.as_str()).unwrap();
            program.clone_from(found);
        }
        let stand_in = &scratch.surroundings.program;
        put(stand_in, STAND_IN);
        fs::set_permissions(stand_in, fs::Permissions::from_mode(0o755)).unwrap();
        put(&home.join(".codex/config.toml"), &model.codex_config());
        scratch.surroundings.sandbox = true;
        scratch.surroundings.inherited = vec![(env::IS_SANDBOX.to_owned(), "1".to_owned())];
        scratch.surroundings.search_path = std::env::var_os("PATH").unwrap();
        let tmux = PrivateTmux::new(home.join("tmux"), &home);
        Self { tmux, scratch, model, starts: Cell::new(0) }
    }

    fn ask(&self, agent: &str) -> Ask {
        let mut ask = self.scratch.ask(agent);
        // A key as an operator would put it into the env file: claude asks about those.
        let given = self.model.claude_environment().into_iter().map(|(key, value)| match key {
            "ANTHROPIC_AUTH_TOKEN" => ("ANTHROPIC_API_KEY".to_owned(), format!("sk-ant-{value}")),
            key => (key.to_owned(), value),
        });
        ask.variables = given.collect();
        ask
    }

    /// What the hook would have recorded for a launched conversation.
    fn rotation(&self, launched: &str) -> Option<String> {
        let calls = fs::read_dir(self.scratch.home().join("hooks")).ok()?.flatten();
        let mut calls: Vec<PathBuf> = calls
            .map(|call| call.path())
            .filter(|path| path.file_stem().is_some_and(|id| id == launched))
            .collect();
        calls.sort_by_key(|call| call.metadata().and_then(|it| it.modified()).unwrap());
        let payload = fs::read(calls.last()?).unwrap();
        session_start_hook(&payload, Some(launched)).map(|rotation| rotation.to)
    }

    fn session(&self) -> String {
        format!("a{}", self.starts.get())
    }

    fn screen(&self) -> String {
        self.tmux.screen(&self.session())
    }

    fn keys(&self, keys: &[&str]) {
        let target = format!("={}:", self.session());
        self.tmux.run(&[&["send-keys", "-t", &target], keys].concat());
    }

    fn start(&self, ask: &Ask, prepared: &Prepared) {
        let mut words = vec!["env".to_owned(), "-i".to_owned(), "-C".to_owned()];
        words.push(prepared.directory.clone());
        let terminal = [(env::TERM.to_owned(), "screen-256color".to_owned())];
        let variables = prepared.environment.iter().chain(&ask.variables).chain(&terminal);
        words.extend(variables.map(|(key, value)| format!("{key}={value}")));
        words.extend_from_slice(&prepared.argv);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.starts.set(self.starts.get() + 1);
        let output = self.tmux.start(&self.session(), &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Waits for what the running agent shall have done; fails at once if it ended.
    #[track_caller]
    fn wait(&self, what: &str, mut holds: impl FnMut() -> bool) {
        within(20).until(what, || {
            assert_eq!(
                self.tmux.format(&self.session(), "#{pane_dead}"),
                "0",
                "{what}: the agent ended: {}",
                self.screen()
            );
            holds()
        });
    }

    fn kill(&self) {
        let pid = self.tmux.pane_pid(&self.session()).unwrap();
        process::send(pid, rustix::process::Signal::KILL);
        within(10).until("the agent is gone", || !process::is_alive(pid));
    }

    /// Whether the last message in any transcript of `id` is `text`.
    fn said(&self, below: &str, text: &str) -> bool {
        transcripts(&self.scratch.home().join(below)).iter().any(|path| {
            agent_box_testkit::conformance::messages(path).iter().any(|said| said == text)
        })
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux.kill_server();
        for pid in process::with_variable("HOME", self.scratch.home().to_str().unwrap()) {
            process::send(pid, rustix::process::Signal::KILL);
            within(10).until("an agent's process is gone", || !process::is_alive(pid));
        }
    }
}

fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .flat_map(|path| if path.is_dir() { transcripts(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect()
}

fn stubs() -> (tempfile::TempDir, Vec<(&'static str, PathBuf)>) {
    let folder = tempfile::tempdir().unwrap();
    let programs = ["claude", "codex"].map(|name| {
        let link = folder.path().join(name);
        std::os::unix::fs::symlink(stub_agent_program(), &link).unwrap();
        (name, link)
    });
    (folder, programs.to_vec())
}

fn real() -> Option<Vec<(&'static str, PathBuf)>> {
    // Without the CLIs there is nothing to hold our command lines against.
    let npm = std::env::var_os("AGENT_BOX_REAL_CLIS")?;
    Some(real_programs(Path::new(&npm)).to_vec())
}

/// A prompt arrives, the agent is killed, the same conversation goes on, twice.
fn keeps_its_conversation(programs: &[(&str, PathBuf)], agent: &str, below: &str) {
    let pane = Pane::new(programs);
    let harness = pane.scratch.harness();
    let rotation = |id: &str| pane.rotation(id);
    let prompt = "say \"한글\" $(id) `id` \\\nand a second line";
    let mut ask = pane.ask(agent).prompt(prompt);
    ask.entry.spec.resume_prompt = Some("!go on".to_owned());
    let first = prepare_with(&harness, &ask, &rotation).unwrap();
    pane.start(&ask, &first);
    ask = ask.after(first, true);
    let record = ask.record.clone().unwrap();
    pane.wait("the prompt is proven", || {
        harness.prompt_is_proven(&record, &rotation, &ask.variables)
    });
    pane.kill();

    let second = prepare_with(&harness, &ask, &rotation).unwrap();
    assert!(second.resumed && second.prompt_proven && !second.carries_prompt, "{second:?}");
    assert_eq!(second.conversation, record.conversation);
    assert_eq!(second.notes, [] as [String; 0]);
    let told = second.argv.last().unwrap().clone();
    pane.start(&ask, &second);
    pane.wait("the resume prompt arrives", || pane.said(below, &told));
    assert_eq!(transcripts(&pane.scratch.home().join(below)).len(), 1);
    pane.kill();

    // Another directory: codex goes on there, claude says that it cannot.
    let elsewhere = pane.scratch.home().join("w2").to_str().unwrap().to_owned();
    let mut ask = ask.after(second, true);
    ask.entry.spec.working_directory = Some(elsewhere);
    ask.entry.spec.resume_prompt = None;
    let third = prepare_with(&harness, &ask, &rotation).unwrap();
    assert_eq!(third.resumed, agent == "codex");
    if third.resumed {
        let steer = third.argv.last().unwrap().clone();
        pane.start(&ask, &third);
        pane.wait("the steer arrives", || pane.said(below, &steer));
        pane.kill();
    }
}

/// A session that begins without a prompt, and is talked to by hand.
fn keeps_what_was_typed(programs: &[(&str, PathBuf)], agent: &str, below: &str, ready: &str) {
    let pane = Pane::new(programs);
    let harness = pane.scratch.harness();
    let rotation = |id: &str| pane.rotation(id);
    let mut ask = pane.ask(agent);
    ask.entry.spec.skip_permissions = agent == "codex";
    ask.entry.spec.remote_control = false;
    let first = prepare_with(&harness, &ask, &rotation).unwrap();
    assert!(!first.argv.contains(&"--".to_owned()));
    pane.start(&ask, &first);
    pane.wait("the agent can be typed to", || pane.screen().contains(ready));
    pane.keys(&["-l", "hello"]);
    pane.wait("the typed text is seen", || pane.screen().contains("hello"));
    pane.keys(&["Enter"]);
    pane.wait("the typed message arrives", || pane.said(below, "hello"));
    pane.kill();
    let ask = ask.after(first, true);
    let second = prepare_with(&harness, &ask, &rotation).unwrap();
    assert!(second.resumed && second.notes.is_empty(), "{second:?}");
    let steer = second.argv.last().unwrap().clone();
    pane.start(&ask, &second);
    pane.wait("the steer arrives", || pane.said(below, &steer));
    pane.kill();
}

/// `/clear` moves claude to another conversation, which the next launch continues.
fn follows_a_clear(programs: &[(&str, PathBuf)], answer: &str) {
    let pane = Pane::new(programs);
    let harness = pane.scratch.harness();
    let rotation = |id: &str| pane.rotation(id);
    let ask = pane.ask("claude").prompt("before");
    let first = prepare_with(&harness, &ask, &rotation).unwrap();
    let launched = first.conversation.clone().unwrap();
    pane.start(&ask, &first);
    pane.wait("the prompt arrives", || pane.said(".claude/projects", "before"));
    assert_eq!(pane.rotation(&launched).as_ref(), Some(&launched), "the hook ran at the start");
    pane.wait("the answer is there", || pane.screen().contains(answer));
    pane.tmux.type_line(&pane.session(), "/clear");
    pane.wait("the hook tells of the new conversation", || {
        pane.rotation(&launched).is_some_and(|now| now != launched)
            && transcripts(&pane.scratch.home().join(".claude/projects"))
                .iter()
                .any(|path| fs::read_to_string(path).unwrap().contains("<command-name>/clear<"))
    });
    pane.kill();
    let ask = ask.after(first, true);
    let second = prepare_with(&harness, &ask, &rotation).unwrap();
    assert!(second.resumed && second.prompt_proven, "{second:?}");
    assert_eq!(second.conversation, pane.rotation(&launched));
    let steer = second.argv.last().unwrap().clone();
    pane.start(&ask, &second);
    pane.wait("the steer arrives", || pane.said(".claude/projects", &steer));
    pane.kill();
}

/// The shapes that the other stories do not run: each gets its prompt to the agent.
fn takes_options(programs: &[(&str, PathBuf)], agent: &str, at: usize) {
    let mut pane = Pane::new(programs);
    let extra: [&[&str]; 3] = match agent {
        "claude" => [&["--add-dir", "."], &["--name=x"], &["--append-system-prompt", "be brief"]],
        _ => [&["-m", "other"], &["--search"], &["-i", "x.png"]],
    };
    put(&pane.scratch.home().join("w/x.png"), "");
    pane.scratch.surroundings.codex_full_access = at == 0;
    let harness = pane.scratch.harness();
    let mut ask = pane.ask(agent).prompt(&"a long prompt\n".repeat(10_000));
    ask.entry.spec.skip_permissions = at == 1;
    ask.entry.spec.remote_control = at == 1;
    ask.entry.spec.extra_args = extra[at].iter().map(|&word| word.to_owned()).collect();
    let prepared = prepare_with(&harness, &ask, &|_| None).unwrap();
    pane.start(&ask, &prepared);
    let ask = ask.after(prepared, true);
    let record = ask.record.clone().unwrap();
    pane.wait("the prompt is proven", || {
        harness.prompt_is_proven(&record, &|_| None, &ask.variables)
    });
    pane.kill();
}

/// The agent finds our tools, and its server of tools knows whose it is.
fn finds_our_tools(programs: &[(&str, PathBuf)], agent: &str, below: &str) -> Pane {
    let pane = Pane::new(programs);
    let harness = pane.scratch.harness();
    let ask = pane.ask(agent).prompt("hello");
    let prepared = prepare_with(&harness, &ask, &|_| None).unwrap();
    pane.start(&ask, &prepared);
    let home = pane.scratch.home();
    pane.wait("the tools are listed", || home.join("tools.listed").exists());
    let told = prepared.argv.last().unwrap();
    pane.wait("the prompt arrives", || pane.said(below, told));
    let variables = fs::read_to_string(home.join("tools.env")).unwrap();
    let session = ask.entry.id.unwrap();
    for expected in [
        "LOCAL_WEBHOOK_SESSION=ann-main".to_owned(),
        format!("LOCAL_WEBHOOK_STATE_DIR={}/.local/state/local-webhook", home.display()),
        format!("AGENT_BOX_SESSION_UUID={session}"),
        "AGENT_BOX_SESSION_NAME=main".to_owned(),
        format!("HOME={}", home.display()),
    ] {
        assert!(variables.lines().any(|line| line == expected), "{expected}: {variables}");
    }
    pane
}

/// A stand-in for our program that fails always, and one whose server of tools hangs.
const FAILS: &str = "#!/bin/sh\nexit 1\n";
const HANGS: &str = "#!/bin/sh\n[ $1 != mcp ] || exec sleep 1000\n";

/// The agent works as before.
fn works_with(stand_in: &str, programs: &[(&str, PathBuf)], agent: &str, below: &str) {
    let pane = Pane::new(programs);
    put(&pane.scratch.surroundings.program, stand_in);
    let program = &pane.scratch.surroundings.program;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let ask = pane.ask(agent).prompt("hello");
    let prepared = prepare_with(&pane.scratch.harness(), &ask, &|_| None).unwrap();
    pane.start(&ask, &prepared);
    let told = prepared.argv.last().unwrap();
    pane.wait("the prompt arrives", || pane.said(below, told));
    pane.kill();
}

/// A message reaches codex while somebody has half typed one, and while it is not there.
fn is_told(programs: &[(&str, PathBuf)]) {
    let pane = Pane::new(programs);
    let harness = pane.scratch.harness();
    let ask = pane.ask("codex").prompt("hello");
    let first = prepare_with(&harness, &ask, &|_| None).unwrap();
    pane.start(&ask, &first);
    let ask = ask.after(first, true);
    let record = ask.record.clone().unwrap();
    pane.wait("the prompt is proven", || {
        harness.prompt_is_proven(&record, &|_| None, &ask.variables)
    });
    pane.wait("the answer is there", || pane.screen().contains("PONG"));
    pane.keys(&["-l", "half a"]);
    pane.wait("the draft is seen", || pane.screen().contains("half a"));
    let tell = |message: &str| {
        let telling = harness.telling(&record, &ask.variables, message).unwrap();
        let mut command = std::process::Command::new(&telling.argv[0]);
        command.args(&telling.argv[1..]).env_clear().envs(telling.environment);
        let output = command.current_dir(telling.directory).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let hostile = "[agent-box 00] an event\n!true \"$(id)\" 협업\n-----END-----";
    tell(hostile);
    pane.wait("the message arrives", || pane.said(CODEX.1, hostile));
    assert!(pane.screen().contains("half a"), "the draft is gone: {}", pane.screen());
    pane.kill();
    let long = "while it was away ".repeat(5000);
    tell(&long);
    let second = prepare_with(&harness, &ask, &|_| None).unwrap();
    assert!(second.resumed);
    pane.start(&ask, &second);
    pane.wait("the later message arrives", || pane.said(CODEX.1, &long));
    pane.kill();
}

const CLAUDE: (&str, &str) = ("claude", ".claude/projects");
const CODEX: (&str, &str) = ("codex", ".codex/sessions");

#[test]
fn the_stub_agents_keep_their_conversations() {
    let (_folder, stubs) = stubs();
    for (agent, below) in [CLAUDE, CODEX] {
        keeps_its_conversation(&stubs, agent, below);
    }
}

#[test]
fn the_stub_claude_follows_a_clear() {
    let (_folder, stubs) = stubs();
    follows_a_clear(&stubs, "");
}

#[test]
fn the_real_claude_keeps_its_conversation_over_a_kill() {
    let Some(programs) = real() else { return };
    keeps_its_conversation(&programs, CLAUDE.0, CLAUDE.1);
}

#[test]
fn the_real_codex_keeps_its_conversation_over_a_kill() {
    let Some(programs) = real() else { return };
    keeps_its_conversation(&programs, CODEX.0, CODEX.1);
}

#[test]
fn the_real_claude_keeps_what_was_typed() {
    let Some(programs) = real() else { return };
    keeps_what_was_typed(&programs, CLAUDE.0, CLAUDE.1, "Claude Code");
}

#[test]
fn the_real_codex_keeps_what_was_typed() {
    let Some(programs) = real() else { return };
    keeps_what_was_typed(&programs, CODEX.0, CODEX.1, "OpenAI Codex");
}

#[test]
fn the_real_claude_follows_a_clear() {
    let Some(programs) = real() else { return };
    follows_a_clear(&programs, "PONG");
}

#[test]
fn the_real_claude_takes_options_of_many_words() {
    let Some(programs) = real() else { return };
    takes_options(&programs, CLAUDE.0, 0);
}

#[test]
fn the_real_claude_takes_options_of_one_word() {
    let Some(programs) = real() else { return };
    takes_options(&programs, CLAUDE.0, 1);
}

#[test]
fn the_real_claude_takes_options_of_two_words() {
    let Some(programs) = real() else { return };
    takes_options(&programs, CLAUDE.0, 2);
}

#[test]
fn the_real_codex_takes_options_of_many_words() {
    let Some(programs) = real() else { return };
    takes_options(&programs, CODEX.0, 0);
}

#[test]
fn the_real_codex_takes_options_without_a_word() {
    let Some(programs) = real() else { return };
    takes_options(&programs, CODEX.0, 1);
}

#[test]
fn the_real_codex_takes_options_that_take_several_words() {
    let Some(programs) = real() else { return };
    takes_options(&programs, CODEX.0, 2);
}

#[test]
fn the_real_claude_finds_our_tools_and_calls_our_hooks() {
    let Some(programs) = real() else { return };
    let pane = finds_our_tools(&programs, CLAUDE.0, CLAUDE.1);
    let turns = pane.scratch.home().join("turns");
    pane.wait("the turn's hooks ran", || {
        let calls = fs::read_dir(&turns).into_iter().flatten().flatten();
        let calls: Vec<String> =
            calls.map(|call| fs::read_to_string(call.path()).unwrap()).collect();
        let is_called = |event: &str| {
            calls.iter().any(|call| call.contains(&format!("\"hook_event_name\":\"{event}\"")))
        };
        is_called("UserPromptSubmit") && is_called("Stop")
    });
    pane.kill();
}

#[test]
fn the_real_codex_finds_our_tools() {
    let Some(programs) = real() else { return };
    finds_our_tools(&programs, CODEX.0, CODEX.1).kill();
}

#[test]
fn the_real_claude_works_when_our_program_fails() {
    let Some(programs) = real() else { return };
    works_with(FAILS, &programs, CLAUDE.0, CLAUDE.1);
}

#[test]
fn the_real_claude_works_when_our_tools_hang() {
    let Some(programs) = real() else { return };
    works_with(HANGS, &programs, CLAUDE.0, CLAUDE.1);
}

#[test]
fn the_real_codex_works_when_our_tools_fail_or_hang() {
    let Some(programs) = real() else { return };
    works_with(FAILS, &programs, CODEX.0, CODEX.1);
    works_with(HANGS, &programs, CODEX.0, CODEX.1);
}

#[test]
fn the_real_codex_is_told_beside_a_draft_and_after_a_kill() {
    let Some(programs) = real() else { return };
    is_told(&programs);
}
