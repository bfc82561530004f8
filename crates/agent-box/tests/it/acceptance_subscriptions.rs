//! What a session is subscribed to lives as long as it does, and codex can be told (acceptance
//! list 7.1, 9, 10 and 80 to 84).

use std::fs;

use agent_box_testkit::conformance::messages;
use agent_box_testkit::{TestBox, within};

use crate::scene::{add_claude, ask, quiet_box, rollout, say, supervise, supervised_box};

const WEBHOOK: &str = ".local/state/local-webhook";

/// The user as the programs see it.
fn user(scene: &TestBox) -> String {
    let home = scene.home().as_os_str().to_owned();
    let variable = |name: &str| (name == "HOME").then(|| home.clone());
    let uid = rustix::process::getuid().as_raw();
    agent_box_session_store::Place::find(uid, &variable).unwrap().user
}

fn filter(scene: &TestBox, name: &str) -> String {
    format!("{WEBHOOK}/filter.{}-{name}.json", user(scene))
}

#[test]
fn an_agent_knows_whose_subscriptions_it_has() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "main", &[]);
    within(15).until("main started", || scene.stubs().launches_of("main").len() == 1);
    let launch = &scene.stubs().launches_of("main")[0];
    let key = format!("{}-main", user(&scene));
    assert_eq!(launch.variable("LOCAL_WEBHOOK_SESSION"), Some(key.as_str()));
    let state = scene.home().join(WEBHOOK);
    assert_eq!(launch.variable("LOCAL_WEBHOOK_STATE_DIR"), state.to_str());
    assert_eq!(launch.variable("LOCAL_WEBHOOK_PORT"), Some("0"));
    let shown = ask(&scene, &["show", "main"]);
    assert_eq!(launch.variable("AGENT_BOX_SESSION_UUID"), shown["id"].as_str());
}

#[test]
fn rm_takes_that_sessions_subscriptions_along_and_no_others() {
    let scene = quiet_box();
    for name in ["main", "main-2"] {
        add_claude(&scene, name, &[]);
        scene.put(filter(&scene, name), "{}");
    }
    scene.put(format!("{WEBHOOK}/filter.dispatch.json"), "{}");
    say(&scene, &["stop", "main"]);
    assert_eq!(scene.read(filter(&scene, "main")), "{}", "a stopped session keeps them");
    say(&scene, &["rm", "main"]);
    assert!(!scene.home().join(filter(&scene, "main")).exists());
    assert_eq!(scene.read(filter(&scene, "main-2")), "{}");
    assert_eq!(scene.read(format!("{WEBHOOK}/filter.dispatch.json")), "{}");
}

#[test]
fn undo_gives_a_session_its_subscriptions_back_and_never_another_s() {
    let scene = quiet_box();
    add_claude(&scene, "main", &[]);
    scene.put(filter(&scene, "main"), "first");
    say(&scene, &["rm", "main"]);
    say(&scene, &["undo"]);
    assert_eq!(scene.read(filter(&scene, "main")), "first");

    say(&scene, &["rm", "main"]);
    add_claude(&scene, "main", &[]);
    assert_eq!(scene.read(filter(&scene, "main")), "", "a successor begins without any");
    scene.put(filter(&scene, "main"), "second");
    say(&scene, &["undo", "2"]);
    assert_eq!(scene.read(filter(&scene, "main")), "first");
    // And what `undo` removed comes back by it as well.
    say(&scene, &["undo"]);
    assert_eq!(scene.read(filter(&scene, "main")), "second");
}

#[test]
fn a_starting_supervisor_sweeps_subscriptions_of_nobody() {
    let mut scene = quiet_box();
    add_claude(&scene, "main", &[]);
    say(&scene, &["stop", "main"]);
    let kept = [filter(&scene, "main"), format!("{WEBHOOK}/filter.dispatch.json")];
    let gone = filter(&scene, "gone");
    for file in kept.iter().chain([&gone]) {
        scene.put(file, "{}");
    }
    let supervisor = supervise(&mut scene);
    within(15).until("it is swept", || !scene.home().join(&gone).exists());
    for file in &kept {
        assert_eq!(scene.read(file), "{}", "{file}");
    }
    drop(supervisor);
    // Not while nobody can say what is listed.
    scene.put(&gone, "{}");
    let registry = fs::read_to_string(scene.registry()).unwrap();
    scene.put(".config/agent-box/sessions.json", "{");
    let mut supervisor = supervise(&mut scene);
    within(15).until("it said so", || supervisor.output().contains("subscriptions stay"));
    assert_eq!(scene.read(&gone), "{}");
    assert!(!supervisor.has_ended());
    scene.put(".config/agent-box/sessions.json", &registry);
}

#[test]
fn codex_is_told_and_others_say_how_they_are() {
    let (scene, _supervisor) = supervised_box();
    say(&scene, &["add", "c", "--agent", "codex", "--cwd", ".", "--prompt", "hello"]);
    add_claude(&scene, "a", &[]);
    let id = |name: &str| ask(&scene, &["show", name])["id"].as_str().unwrap().to_owned();
    let tell = |id: &str, message: &str| {
        scene.command(&["hook", "tell", "--session-id", id]).stdin(message).run()
    };
    let rollout = || rollout(&scene);
    within(15).until("codex began", || {
        rollout().is_some_and(|it| messages(&it).iter().any(|said| said.ends_with("hello")))
    });
    let message = "[agent-box 00] an event\n\"$(id)\" 협업";
    within(15).until("codex is told", || tell(&id("c"), message).code == Some(0));
    assert!(messages(&rollout().unwrap()).iter().any(|said| said == message));
    let refused = tell(&id("a"), message).expect_code(2);
    assert!(refused.stderr.contains("agent-box webhook read"), "{}", refused.stderr);
    let unknown = tell("0193b2c0-0000-7000-8000-00000000000a", message).expect_code(1);
    assert!(unknown.stderr.contains("not started yet"), "{}", unknown.stderr);
}
