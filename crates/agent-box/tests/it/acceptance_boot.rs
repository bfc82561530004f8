//! The reference's acceptance list, 1 to 34: first boot, instruction files, claude's dialogs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agent_box_testkit::{PrivateTmux, Supervisor, TestBox, within};
use serde_json::{Value, json};

use crate::scene::{
    PROGRAM, add_claude, entry, quiet_box, say, supervise, wait_launches, wait_state,
};

/// A box whose system configuration declares one session in its home.
fn declared_box() -> (TestBox, Supervisor) {
    let mut scene = quiet_box();
    let home = scene.home().to_path_buf();
    let declared = json!({"version": 1, "sessions": {"main": {
        "agent": "claude", "skipPermissions": true, "remoteControl": true,
        "remoteControlName": null, "workingDirectory": home, "extraArgs": [],
        "initialPrompt": null, "resumePrompt": null, "boxSessionId": null, "hasRun": false,
    }}});
    scene.put("etc/seed.json", &declared.to_string());
    scene.put("etc/pointer.md", "Read /etc/agent-box-guides/AGENTS.agent.md first.\n");
    scene.put("etc/guide.md", "the guide\n");
    scene.set("AGENT_BOX_SESSIONS_SEED", home.join("etc/seed.json"));
    scene.set("AGENT_BOX_AGENTS_POINTER", home.join("etc/pointer.md"));
    scene.set("AGENT_BOX_CLAUDE_GUIDE_TARGET", home.join("etc/guide.md"));
    scene.set("AGENT_BOX_HOST_LABEL", "box.test");
    let supervisor = supervise(&mut scene);
    (scene, supervisor)
}

fn json_file(scene: &TestBox, path: &str) -> Value {
    serde_json::from_str(&scene.read(path)).unwrap_or_default()
}

fn link_target(path: &Path) -> Option<String> {
    Some(fs::read_link(path).ok()?.to_str()?.to_owned())
}

#[test]
fn at_first_boot_the_declared_session_runs_under_its_derived_name() {
    let (scene, supervisor) = declared_box();
    wait_state(&scene, "main", "live");
    let mode = fs::metadata(scene.registry()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(entry(&scene, "main")["agent"], "claude");
    let launch = wait_launches(&scene, "main", 1);
    let user = launch.variable("USER").unwrap().to_owned();
    let named = format!("--remote-control={user}-main@box.test");
    assert!(launch.argv().contains(&&*named), "{:?}", launch.argv());
    // Declared sessions are listed once: one that was removed stays away.
    say(&scene, &["rm", "main"]);
    drop(supervisor);
    let mut scene = scene;
    let _supervisor = supervise(&mut scene);
    within(2).always("it stays away", || scene.tmux().sessions().is_empty());
}

#[test]
fn instruction_files_are_placed_where_there_are_none() {
    let (scene, _supervisor) = declared_box();
    wait_state(&scene, "main", "live");
    let home = scene.home();
    assert!(scene.read("AGENTS.md").contains("/etc/agent-box-guides/AGENTS.agent.md"));
    let mode = fs::metadata(home.join("AGENTS.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert_eq!(link_target(&home.join("CLAUDE.md")).as_deref(), Some("AGENTS.md"));
    let guide = home.join("etc/guide.md").to_str().map(str::to_owned);
    assert_eq!(link_target(&home.join(".claude/CLAUDE.md")), guide);

    // What is there stays.
    scene.put("own/AGENTS.md", "mine\n");
    scene.put("own/CLAUDE.md", "mine, too\n");
    for kind in ["codex", "shell"] {
        fs::create_dir(home.join(kind)).unwrap();
    }
    for (name, kind) in [("own", "claude"), ("codex", "codex"), ("shell", "shell")] {
        let place = home.join(name);
        say(&scene, &["add", name, "--agent", kind, "--cwd", place.to_str().unwrap()]);
        wait_state(&scene, name, "live");
    }
    assert_eq!(scene.read("own/AGENTS.md"), "mine\n");
    assert_eq!(scene.read("own/CLAUDE.md"), "mine, too\n");
    assert!(home.join("codex/AGENTS.md").exists());
    assert!(!home.join("codex/CLAUDE.md").exists());
    assert!(!home.join("shell/AGENTS.md").exists());
    assert!(!home.join("shell/CLAUDE.md").exists());
}

#[test]
fn claude_is_asked_nothing_at_its_start_and_choices_made_by_hand_stay() {
    let (scene, _supervisor) = declared_box();
    wait_state(&scene, "main", "live");
    assert_eq!(wait_launches(&scene, "main", 1).text("/dialog"), None);
    let state = json_file(&scene, ".claude.json");
    let home = scene.home().to_str().unwrap();
    assert_eq!(state["projects"][home]["hasTrustDialogAccepted"], true);
    assert_eq!(state["hasCompletedOnboarding"], true);
    assert_eq!(json_file(&scene, ".claude/settings.json")["theme"], "dark");
    let mut settings = json_file(&scene, ".claude/settings.json");
    settings["theme"] = json!("light");
    scene.put(".claude/settings.json", &settings.to_string());
    add_claude(&scene, "more", &[]);
    wait_state(&scene, "more", "live");
    assert_eq!(json_file(&scene, ".claude/settings.json")["theme"], "light");
}

#[test]
fn attach_shows_the_session_on_a_terminal_and_takes_what_is_typed() {
    let (scene, _supervisor) = declared_box();
    wait_state(&scene, "main", "live");
    // A terminal of another tmux stands for the person's.
    let outer = PrivateTmux::new(scene.home().join("run/outer"), scene.home());
    let environment = scene.environment().iter();
    let mut words: Vec<String> = ["env", "-u", "TMUX", "LANG=C.UTF-8"].map(str::to_owned).into();
    words.extend(
        environment
            .map(|(key, value)| format!("{}={}", key.to_str().unwrap(), value.to_str().unwrap())),
    );
    // Without a name it is `main`.
    words.extend([PROGRAM, "attach"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(outer.start("person", &words).status.success());
    within(10).until("the session is shown", || outer.screen("person").contains("stub claude"));
    outer.type_line("person", "hello");
    within(10).until("it answers there", || outer.screen("person").contains("PONG"));
    let listed = crate::scene::ask(&scene, &["ls"]);
    assert_eq!(listed["sessions"][0]["attached"], 1);
    outer.run(&["send-keys", "-t", "=person:", "C-b", "d"]);
    within(10).until("it is left", || outer.screen("person").contains("detached"));
    wait_state(&scene, "main", "live");
}
