//! The reference's acceptance list, 109 to 123: a claude that moved to another conversation.

use std::fs;

use agent_box_testkit::{Launch, TestBox, within};
use serde_json::{Value, json};

use crate::scene::{
    add_claude, edit_registry, entry, id_of, record, say, supervised_box, wait_launches, wait_state,
};

const FIRST: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const SECOND: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const STALE: &str = "aaaaaaaa-0000-4000-8000-00000000000f";

/// Calls the hook as claude does, and gives the new conversation a transcript.
fn move_on(scene: &TestBox, launch: &Launch, to: &str) {
    let payload = json!({"session_id": to, "source": "clear"}).to_string();
    let hook = scene.command(&["hook", "session-start"]).stdin(payload);
    let hook = hook.env("AGENT_BOX_SESSION_ID", launch.conversation()).run().expect_success();
    assert_eq!(hook.stdout, "", "claude would show it");
    let note = format!(".local/state/agent-box/live-session-id/{}", launch.conversation());
    assert_eq!(scene.read(note).trim(), to);
    let projects = scene.home().join(".claude/projects");
    let project = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    let from = project.join(format!("{}.jsonl", launch.conversation()));
    fs::copy(from, project.join(format!("{to}.jsonl"))).unwrap();
}

fn words_of(launch: &Launch) -> String {
    launch.argv().join(" ")
}

#[test]
fn a_moved_conversation_is_followed_over_two_hops_and_a_stale_registry() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "rot", &["--prompt", "begin"]);
    wait_state(&scene, "rot", "live");
    let launch = wait_launches(&scene, "rot", 1);
    let id = id_of(&scene, "rot");
    let first = launch.conversation().to_owned();
    assert_eq!(record(&scene, &id)["conversation"], first.as_str());
    assert_eq!(launch.variable("AGENT_BOX_SESSION_ID"), Some(&*first));
    let settings = launch.argv().into_iter().find_map(|word| word.strip_prefix("--settings="));
    let settings: Value = serde_json::from_str(settings.expect("settings are given")).unwrap();
    let command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.ends_with("hook session-start"), "{command}");
    let transcript = || {
        let projects = fs::read_dir(scene.home().join(".claude/projects")).ok()?;
        let file = format!("{first}.jsonl");
        projects.flatten().find(|it| it.path().join(&file).exists())
    };
    within(10).for_some("the transcript is begun", transcript);

    let mut launch = launch;
    for (hop, to) in [(2, FIRST), (3, SECOND)] {
        move_on(&scene, &launch, to);
        scene.tmux().run(&["kill-session", "-t", "=rot"]);
        launch = wait_launches(&scene, "rot", hop);
        assert!(words_of(&launch).contains(&format!("--resume={to}")), "{}", words_of(&launch));
        assert_eq!(launch.variable("AGENT_BOX_SESSION_ID"), Some(to));
        wait_state(&scene, "rot", "live");
        assert_eq!(record(&scene, &id)["conversation"], to);
        within(10).until("it is mirrored", || entry(&scene, "rot")["boxSessionId"] == to);
    }

    // A registry whose copy is stale misleads nobody.
    edit_registry(&scene, |document| {
        document["sessions"]["rot"]["boxSessionId"] = json!(STALE);
        document["sessions"]["rot"]["hasRun"] = json!(false);
    });
    scene.tmux().run(&["kill-session", "-t", "=rot"]);
    let launch = wait_launches(&scene, "rot", 4);
    assert!(words_of(&launch).contains(&format!("--resume={SECOND}")), "{}", words_of(&launch));
    assert!(!words_of(&launch).contains(STALE));
    say(&scene, &["rm", "rot"]);
    assert!(!launch.is_alive());
}

#[test]
fn the_hook_is_silent_whatever_it_is_told() {
    let (scene, _supervisor) = supervised_box();
    let payload = format!(r#"{{"session_id": "{FIRST}"}}"#);
    for (stdin, launched) in [
        ("", SECOND),
        ("no json", SECOND),
        (&*payload, "../x"),
        (r#"{"session_id": "../x"}"#, SECOND),
    ] {
        let hook = scene.command(&["hook", "session-start"]).stdin(stdin);
        let done = hook.env("AGENT_BOX_SESSION_ID", launched).run().expect_success();
        assert_eq!(done.stdout + &done.stderr, "", "{stdin} {launched}");
    }
    let notes = fs::read_dir(scene.state().join("live-session-id")).unwrap();
    assert_eq!(notes.count(), 0);
}
