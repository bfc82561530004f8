//! The MCP server under the real agent CLIs, where `AGENT_BOX_REAL_CLIS` names the directory that
//! npm installed them into; they talk to a model that answers PONG.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agent_box_testkit::conformance::real_programs;
use agent_box_testkit::mock_model::MockModel;
use agent_box_testkit::within;
use serde_json::{Value, json};

use crate::verbs::{Done, Scene, program, put};

#[expect(clippy::print_stdout, reason = "whoever reads the log must know what was not proven")]
fn real(agent: &str) -> Option<PathBuf> {
    let Some(npm) = std::env::var_os("AGENT_BOX_REAL_CLIS") else {
        println!("not run: AGENT_BOX_REAL_CLIS is not set, so no real {agent} connected to us");
        return None;
    };
    real_programs(Path::new(&npm)).into_iter().find(|(name, _)| *name == agent).map(|it| it.1)
}

/// A server whose client can be listened to: what it says is kept in `said`.
fn overheard(scene: &mut Scene) -> PathBuf {
    let said = scene.home().join("said");
    let script = format!("#!/bin/sh\ntee -a {} | {} mcp\n", said.display(), program().display());
    scene.put_program("server", &script);
    said
}

fn methods(said: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(said).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["method"].as_str().map(str::to_owned)).collect()
}

fn finish(mut command: Command) -> Done {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    within(25).until("the agent ends", || child.try_wait().unwrap().is_some());
    Done::of(child.wait_with_output().unwrap())
}

#[test]
fn claude_connects_and_asks_for_the_tools() {
    let Some(claude) = real("claude") else { return };
    let mut scene = Scene::in_session();
    let (said, model) = (overheard(&mut scene), MockModel::start().unwrap());
    let server = scene.home().join("bin/server");
    let config = scene.home().join("mcp.json");
    put(&config, &json!({"mcpServers": {"agent-box": {"command": server}}}).to_string());
    put(&scene.home().join(".claude.json"), r#"{"hasCompletedOnboarding":true}"#);
    let log = scene.home().join("debug.log");
    let mut command = scene.command_of(&claude, &["-p", "hello"]);
    command.arg("--mcp-config").arg(&config).arg("--debug-file").arg(&log);
    command.envs(model.claude_environment()).env("IS_SANDBOX", "1");
    let done = finish(command).expect(0);
    assert_eq!(done.stdout.trim(), "PONG");
    let methods = methods(&said);
    for method in ["initialize", "notifications/initialized", "tools/list"] {
        assert!(methods.iter().any(|it| it == method), "{method}: {methods:?}");
    }
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains(r#"MCP server "agent-box": Successfully connected"#), "{log}");
    assert!(log.contains(r#""hasTools":true"#), "{log}");
}

#[test]
fn codex_connects_and_asks_for_the_tools() {
    let Some(codex) = real("codex") else { return };
    let mut scene = Scene::in_session();
    let (said, model) = (overheard(&mut scene), MockModel::start().unwrap());
    put(&scene.home().join(".codex/config.toml"), &model.codex_config());
    let server = format!("mcp_servers.agent-box.command={:?}", scene.home().join("bin/server"));
    let words = ["exec", "--skip-git-repo-check", "-c", &server, "hello"];
    let done = finish(scene.command_of(&codex, &words)).expect(0);
    assert!(done.stdout.contains("PONG"), "{done:?}");
    let methods = methods(&said);
    for method in ["initialize", "notifications/initialized", "tools/list"] {
        assert!(methods.iter().any(|it| it == method), "{method}: {methods:?}");
    }
}
