//! The reference's acceptance list, 92 to 108: the kickoff prompt and the command lines.

use agent_box_testkit::TestBox;
use serde_json::{Value, json};

use crate::scene::{
    add_claude, ask, edit_registry, entry, id_of, quiet_box, record, say, supervise,
    supervised_box, wait_conversation, wait_launches, wait_mirrored, wait_state,
};

#[test]
fn a_kickoff_prompt_is_kept_until_the_first_start_and_handed_over_once() {
    let mut scene = quiet_box();
    say(&scene, &["add", "task1", "--agent", "codex", "--cwd", ".", "--prompt", "look around"]);
    let waiting = entry(&scene, "task1");
    assert_eq!(waiting["initialPrompt"], "look around");
    assert_eq!(waiting["hasRun"], false);
    let _supervisor = supervise(&mut scene);
    wait_state(&scene, "task1", "live");
    let first = wait_conversation(&scene, "task1", 1);
    assert!(first.prompt().unwrap().ends_with("] look around"), "{:?}", first.prompt());
    wait_mirrored(&scene, "task1");
    let id = id_of(&scene, "task1");
    let conversation = record(&scene, &id)["conversation"].clone();
    assert_eq!(conversation.as_str().map(str::len), Some(36));
    assert_eq!(entry(&scene, "task1")["boxSessionId"], conversation);

    scene.tmux().run(&["kill-session", "-t", "=task1"]);
    let second = wait_launches(&scene, "task1", 2);
    assert!(second.is_resumed());
    assert!(!second.prompt().unwrap_or_default().contains("look around"));
    assert_eq!(entry(&scene, "task1")["initialPrompt"], Value::Null);

    say(&scene, &["stop", "task1"]);
    assert!(record(&scene, &id).is_object(), "a stopped session is still known");
    say(&scene, &["rm", "task1"]);
    assert!(entry(&scene, "task1").is_null());
}

#[test]
fn a_prompt_that_no_transcript_holds_is_handed_over_again_and_not_for_ever() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan_every(r#"{"no_transcript": true}"#);
    add_claude(&scene, "one", &["--prompt", "the task"]);
    for round in 1..=4 {
        let launch = wait_launches(&scene, "one", round);
        let expected = (round <= 3).then_some("the task");
        assert_eq!(launch.prompt(), expected, "{round}");
        wait_state(&scene, "one", "live");
        say(&scene, &["restart", "one"]);
    }
}

#[test]
fn an_agent_that_cannot_resume_is_told_its_task_again_unless_it_ended_well() {
    let (scene, _supervisor) = supervised_box();
    say(&scene, &["add", "one", "--agent", "generic", "--cwd", ".", "--prompt", "the task"]);
    assert_eq!(wait_launches(&scene, "one", 1).prompt(), Some("the task"));
    wait_state(&scene, "one", "live");
    wait_mirrored(&scene, "one");
    scene.tmux().kill_server();
    let second = wait_launches(&scene, "one", 2);
    let told = second.prompt().unwrap_or_default().to_owned();
    assert!(told.contains("may be done already") && told.ends_with("\n\nthe task"), "{told}");
    wait_state(&scene, "one", "live");
    let why = say(&scene, &["why", "one"]);
    assert!(why.contains("is told its task again"), "{why}");

    scene.stubs().plan_every(r#"{"exit": 0}"#);
    say(&scene, &["restart", "one"]);
    wait_state(&scene, "one", "stopped");
    let why = say(&scene, &["why", "one"]);
    assert!(why.contains("its task counts as done") && why.contains("agent-box add"), "{why}");
    say(&scene, &["restart", "one"]);
    assert_eq!(wait_launches(&scene, "one", 4).prompt(), None);
}

/// The command line of a session's newest launch.
fn command(scene: &TestBox, name: &str) -> String {
    say(scene, &["show", name, "--command"]).trim_end().to_owned()
}

#[test]
fn further_arguments_stand_before_the_prompt_and_swallow_nothing() {
    let (scene, _supervisor) = supervised_box();
    let notes = scene.home().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let notes = notes.to_str().unwrap();
    add_claude(&scene, "one", &["--prompt", "the task", "--", "--add-dir", notes]);
    wait_state(&scene, "one", "live");
    let shown = command(&scene, "one");
    assert!(shown.ends_with(&format!("--add-dir {notes} -- 'the task'")), "{shown}");
    assert_eq!(wait_launches(&scene, "one", 1).prompt(), Some("the task"));
    let words = ask(&scene, &["show", "one", "--command"]);
    assert_eq!(words.as_array().unwrap().last().unwrap(), "the task");
}

#[test]
fn codex_gets_its_stamp_and_its_rights_from_the_entry() {
    let mut scene = quiet_box();
    scene.set("AGENT_BOX_CODEX_FULL_ACCESS", "1");
    scene.put("w/picture.png", "");
    let picture = scene.project().join("picture.png");
    say(&scene, &["add", "any", "--agent", "generic"]);
    edit_registry(&scene, |document| {
        document["sessions"]["tui"] = json!({
            "agent": "codex", "skipPermissions": true, "remoteControl": false,
            "workingDirectory": scene.project(), "extraArgs": ["-i", picture],
            "initialPrompt": "describe it",
        });
        document["sessions"]["asks"] = json!({
            "agent": "codex", "skipPermissions": false, "remoteControl": false,
            "workingDirectory": scene.project(),
        });
    });
    let _supervisor = supervise(&mut scene);
    wait_state(&scene, "tui", "live");
    let shown = command(&scene, "tui");
    let stamped = format!("-i {} -- '[agent-box session ", picture.display());
    assert!(shown.contains(&stamped) && shown.contains("describe it"), "{shown}");
    wait_state(&scene, "asks", "live");
    let shown = command(&scene, "asks");
    assert!(shown.contains("-c approval_policy=on-request"), "{shown}");
    assert!(shown.contains("-c sandbox_mode=workspace-write"), "{shown}");
    assert!(!shown.contains("bypass"), "{shown}");
    assert!(scene.stubs().refusals().is_empty());
}
