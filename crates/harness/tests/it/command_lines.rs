//! Every command line that is built, word by word.

use agent_box_harness::PrepareError;
use agent_box_session::Agent;

use crate::scratch::{A, Scratch};

fn words(words: &[&str]) -> String {
    words.join("\n")
}

const SETTINGS: &str = r#"--settings={"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook session-start","timeout":10}]}],"UserPromptSubmit":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook turn","timeout":10}]}],"Stop":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook turn","timeout":10}]}]}}"#;
const TOOLS: &str =
    r#"--mcp-config={"mcpServers":{"agent-box":{"command":"~/bin/agent-box","args":["mcp"]}}}"#;

#[test]
fn claude_starts_with_a_new_conversation_and_its_prompt() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(scratch.argv(&scratch.ask("claude").prompt("do it")), @r#"
    ~/bin/claude
    --dangerously-skip-permissions
    --remote-control=ann-main@box
    --settings={"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook session-start","timeout":10}]}],"UserPromptSubmit":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook turn","timeout":10}]}],"Stop":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook turn","timeout":10}]}]}}
    --mcp-config={"mcpServers":{"agent-box":{"command":"~/bin/agent-box","args":["mcp"]}}}
    --session-id=NEW
    --
    do it
    "#);
}

#[test]
fn claude_without_options_gets_only_what_is_needed() {
    let scratch = Scratch::new();
    let mut ask = scratch.ask("claude").conversation(A);
    ask.entry.spec.skip_permissions = false;
    ask.entry.spec.remote_control = false;
    assert_eq!(scratch.argv(&ask), words(&["~/bin/claude", SETTINGS, TOOLS, "--session-id=AAA"]));
}

#[test]
fn extra_arguments_stand_before_the_prompt_and_are_never_split() {
    let scratch = Scratch::new();
    let mut ask = scratch.ask("claude").prompt("p").conversation(A);
    ask.entry.spec.remote_control_name = Some("my name".to_owned());
    ask.entry.spec.extra_args = ["--add-dir", "/x y", "", "two\nlines"].map(str::to_owned).to_vec();
    let prepared = scratch.prepare(&ask);
    assert!(prepared.argv.contains(&"--remote-control=my name".to_owned()));
    assert_eq!(
        prepared.argv[prepared.argv.len() - 6..],
        ["--add-dir", "/x y", "", "two\nlines", "--", "p"]
    );
}

#[test]
fn claude_resumes_with_a_steer_that_names_the_session() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    insta::assert_snapshot!(scratch.argv(&scratch.ask("claude").conversation(A)), @r#"
    ~/bin/claude
    --dangerously-skip-permissions
    --remote-control=ann-main@box
    --settings={"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook session-start","timeout":10}]}],"UserPromptSubmit":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook turn","timeout":10}]}],"Stop":[{"hooks":[{"type":"command","command":"'~/bin/agent-box' hook turn","timeout":10}]}]}}
    --mcp-config={"mcpServers":{"agent-box":{"command":"~/bin/agent-box","args":["mcp"]}}}
    --resume=AAA
    --
    You were interrupted and have been restarted automatically (agent-box session AAA). Your conversation up to the interruption has been resumed. Look at what you had done and at how things stand now, then go on from there. If everything was done already, say so and stop.
    "#);
}

#[test]
fn a_resume_prompt_of_the_operator_replaces_the_steer() {
    let scratch = Scratch::new();
    scratch.transcript(A, &scratch.work(), &["hello"]);
    let mut ask = scratch.ask("claude").conversation(A);
    ask.entry.spec.resume_prompt = Some("go on".to_owned());
    let prepared = scratch.prepare(&ask);
    assert_eq!(prepared.argv[prepared.argv.len() - 2..], ["--", "go on"]);
    assert!(!prepared.carries_prompt && prepared.resumed);
}

#[test]
fn as_root_claude_is_not_told_to_skip_permissions_and_the_pane_says_so() {
    let mut scratch = Scratch::new();
    scratch.surroundings.root = true;
    let flag = "--dangerously-skip-permissions".to_owned();
    let prepared = scratch.prepare(&scratch.ask("claude"));
    assert!(!prepared.argv.contains(&flag));
    assert!(prepared.notes[0].contains("as root"), "{:?}", prepared.notes);

    let mut ask = scratch.ask("claude");
    ask.variables = vec![("IS_SANDBOX".to_owned(), "1".to_owned())];
    assert!(scratch.prepare(&ask).argv.contains(&flag), "the env file allows it");
    scratch.surroundings.sandbox = true;
    let prepared = scratch.prepare(&scratch.ask("claude"));
    assert!(prepared.argv.contains(&flag) && prepared.notes.is_empty());
}

#[test]
fn codex_command_lines() {
    let mut scratch = Scratch::new();
    insta::assert_snapshot!(scratch.argv(&scratch.ask("codex").conversation(A).prompt("!ls")), @r#"
    ~/bin/codex
    --no-daemon
    --dangerously-bypass-approvals-and-sandbox
    -c
    mcp_servers.agent-box.command="~/bin/agent-box"
    -c
    mcp_servers.agent-box.args=["mcp"]
    -c
    mcp_servers.agent-box.env_vars=["AGENT_BOX_SESSION_UUID","AGENT_BOX_SESSION_NAME","LOCAL_WEBHOOK_SESSION","LOCAL_WEBHOOK_STATE_DIR","LOCAL_WEBHOOK_SELF","GH_TOKEN","GITHUB_TOKEN"]
    --
    [agent-box session AAA] !ls
    "#);
    insta::assert_snapshot!(scratch.argv(&scratch.ask("codex").conversation(A)), @r#"
    ~/bin/codex
    --no-daemon
    --dangerously-bypass-approvals-and-sandbox
    -c
    mcp_servers.agent-box.command="~/bin/agent-box"
    -c
    mcp_servers.agent-box.args=["mcp"]
    -c
    mcp_servers.agent-box.env_vars=["AGENT_BOX_SESSION_UUID","AGENT_BOX_SESSION_NAME","LOCAL_WEBHOOK_SESSION","LOCAL_WEBHOOK_STATE_DIR","LOCAL_WEBHOOK_SELF","GH_TOKEN","GITHUB_TOKEN"]
    -c
    developer_instructions="[agent-box session AAA]"
    "#);
    let mut ask = scratch.ask("codex").conversation(A).prompt("p");
    ask.entry.spec.skip_permissions = false;
    ask.entry.spec.extra_args = ["-i", "x.png"].map(str::to_owned).to_vec();
    insta::assert_snapshot!(scratch.argv(&ask), @r#"
    ~/bin/codex
    --no-daemon
    -c
    mcp_servers.agent-box.command="~/bin/agent-box"
    -c
    mcp_servers.agent-box.args=["mcp"]
    -c
    mcp_servers.agent-box.env_vars=["AGENT_BOX_SESSION_UUID","AGENT_BOX_SESSION_NAME","LOCAL_WEBHOOK_SESSION","LOCAL_WEBHOOK_STATE_DIR","LOCAL_WEBHOOK_SELF","GH_TOKEN","GITHUB_TOKEN"]
    -i
    x.png
    --
    [agent-box session AAA] p
    "#);
    scratch.surroundings.codex_full_access = true;
    insta::assert_snapshot!(scratch.argv(&ask), @r#"
    ~/bin/codex
    --no-daemon
    -c
    approval_policy=on-request
    -c
    sandbox_mode=workspace-write
    -c
    mcp_servers.agent-box.command="~/bin/agent-box"
    -c
    mcp_servers.agent-box.args=["mcp"]
    -c
    mcp_servers.agent-box.env_vars=["AGENT_BOX_SESSION_UUID","AGENT_BOX_SESSION_NAME","LOCAL_WEBHOOK_SESSION","LOCAL_WEBHOOK_STATE_DIR","LOCAL_WEBHOOK_SELF","GH_TOKEN","GITHUB_TOKEN"]
    -i
    x.png
    --
    [agent-box session AAA] p
    "#);
    scratch.rollout(
        "2026/12/01",
        "01a230bc-1592-7701-8f1e-378a1b7cf922",
        &[("user", &format!("[agent-box session {A}] p"))],
    );
    ask.entry.spec.initial_prompt = None;
    ask.entry.spec.resume_prompt = Some("!go on".to_owned());
    insta::assert_snapshot!(scratch.argv(&ask), @r#"
    ~/bin/codex
    resume
    --no-daemon
    -c
    approval_policy=on-request
    -c
    sandbox_mode=workspace-write
    -c
    mcp_servers.agent-box.command="~/bin/agent-box"
    -c
    mcp_servers.agent-box.args=["mcp"]
    -c
    mcp_servers.agent-box.env_vars=["AGENT_BOX_SESSION_UUID","AGENT_BOX_SESSION_NAME","LOCAL_WEBHOOK_SESSION","LOCAL_WEBHOOK_STATE_DIR","LOCAL_WEBHOOK_SELF","GH_TOKEN","GITHUB_TOKEN"]
    -C
    ~/w
    -i
    x.png
    --
    01a230bc-1592-7701-8f1e-378a1b7cf922
    [agent-box session AAA] !go on
    "#);
}

#[test]
fn shells_and_other_programs_get_their_arguments_only() {
    let scratch = Scratch::new();
    let mut shell = scratch.ask("shell").prompt("not for a shell");
    shell.entry.spec.extra_args = vec!["-l".to_owned()];
    assert_eq!(scratch.argv(&shell), words(&["~/bin/shell", "-l"]));
    let prepared = scratch.prepare(&shell);
    assert_eq!(prepared.prompt, None, "what is not handed over must stay in the registry");
    assert!(prepared.notes[0].contains("takes no prompt"), "{:?}", prepared.notes);

    let mut other = scratch.ask("other").prompt("a prompt");
    other.entry.spec.extra_args = vec!["-v".to_owned()];
    assert_eq!(scratch.argv(&other), words(&["~/bin/other", "-v", "a prompt"]));
}

#[test]
fn the_environment_is_an_allow_list_plus_the_sessions_own() {
    let mut scratch = Scratch::new();
    let given = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    scratch.surroundings.inherited = vec![
        given("HOME", "/elsewhere"),
        given("TZ", "UTC"),
        given("CLAUDECODE", "1"),
        given("AGENT_BOX_LAUNCH_ID", "x"),
    ];
    let ask = scratch.ask("shell").conversation(A);
    let prepared = scratch.prepare(&ask);
    let lines: Vec<String> =
        prepared.environment.iter().map(|(key, value)| format!("{key}={value}")).collect();
    insta::assert_snapshot!(scratch.plain(&lines.join("\n"), &ask, &prepared), @r"
    TZ=UTC
    HOME=~
    USER=ann
    LOGNAME=ann
    SHELL=~/bin/shell
    PATH=~/bin
    AGENT_BOX_SESSION_ID=AAA
    AGENT_BOX_SESSION_NAME=main
    AGENT_BOX_SESSION_UUID=SESSION
    LOCAL_WEBHOOK_SESSION=ann-main
    LOCAL_WEBHOOK_STATE_DIR=~/.local/state/local-webhook
    LOCAL_WEBHOOK_PORT=0
    LANG=C.UTF-8
    ");
    scratch.surroundings.inherited.push(given("LC_ALL", "de_DE.UTF-8"));
    scratch.surroundings.inherit = vec!["CLAUDECODE".to_owned()];
    let variables = scratch.prepare(&ask).environment;
    assert!(!variables.iter().any(|(key, _)| key == "LANG"), "a given locale is kept");
    assert!(variables.contains(&given("CLAUDECODE", "1")), "the box's owner listed it");
}

#[test]
fn agents_that_are_not_there_are_named_with_the_next_step() {
    let mut scratch = Scratch::new();
    let text = |scratch: &Scratch, agent| {
        scratch.try_prepare(&scratch.ask(agent)).unwrap_err().to_string()
    };
    insta::assert_snapshot!(text(&scratch, "gemini"), @"agent kind `gemini` is not known on this box; it has claude, codex, other, shell");
    std::fs::remove_file(scratch.home().join("bin/claude")).unwrap();
    assert!(text(&scratch, "claude").contains("bin/claude is not a program"));
    // Without an explicit list, the search path decides.
    scratch.surroundings.agents.clear();
    assert_eq!(scratch.harness().available(), [Agent::Codex, Agent::Shell]);
    insta::assert_snapshot!(text(&scratch, "claude"), @"claude is not installed: there is no program `claude` on the search path; install it (`npm install -g @anthropic-ai/claude-code`) or set AGENT_BOX_AGENT_BINS");
    let mut nobody = scratch.ask("codex");
    nobody.entry.spec.agent = None;
    assert!(matches!(scratch.try_prepare(&nobody), Err(PrepareError::NoAgent)));
}

#[test]
fn words_that_no_program_can_be_given_are_refused_by_name() {
    let scratch = Scratch::new();
    let refused = |args: Vec<String>| {
        let mut ask = scratch.ask("claude");
        ask.entry.spec.extra_args = args;
        match scratch.try_prepare(&ask) {
            Err(error @ PrepareError::Unfit { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let longest = 128 * 1024 - 1;
    let mut ask = scratch.ask("claude");
    ask.entry.spec.extra_args = vec!["x".repeat(longest)];
    assert!(scratch.try_prepare(&ask).is_ok());
    assert!(refused(vec!["x".repeat(longest + 1)]).contains("argument 6"));
    assert!(refused(vec!["a\0b".to_owned()]).contains("NUL"));
    assert!(refused(vec!["x".repeat(100_000); 100]).contains("the command line"));
    let claude = scratch.home().join(".claude.json");
    std::fs::remove_file(&claude).unwrap();
    refused(vec!["a\0b".to_owned()]);
    assert!(!claude.exists(), "a refused launch seeds nothing");
}
