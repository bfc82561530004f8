//! P7: a new program changes no agent, and an older box's sessions are taken over.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agent_box_testkit::{TestBox, process, within};
use rustix::process::Signal;
use serde_json::json;

use crate::scene::{
    PROGRAM, add_claude, edit_registry, events, id_of, quiet_box, record, say, state, supervise,
    wait_launches, wait_state,
};

/// Installs the program as a package manager does: a new file takes the old one's name.
fn install(place: &Path) {
    let new = place.with_extension("new");
    fs::copy(PROGRAM, &new).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = fs::remove_file(place);
    fs::hard_link(&new, place).unwrap();
    fs::remove_file(new).unwrap();
}

#[test]
fn p7_a_replaced_program_changes_no_agent_and_the_new_supervisor_takes_over() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("agent-box");
    install(&program);
    let mut scene = TestBox::new(&program);
    scene.set("AGENT_BOX_GRACE_MS", "400");
    let old = supervise(&mut scene);
    for name in ["one", "two"] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
    }
    let agents = ["one", "two"].map(|name| wait_launches(&scene, name, 1));

    install(&program);
    // The supervisor that still runs goes on, with the new file for new panes.
    add_claude(&scene, "between", &[]);
    wait_state(&scene, "between", "live");
    old.terminate().expect_success();
    let _new = supervise(&mut scene);
    within(1).always("all agents live", || agents.iter().all(agent_box_testkit::Launch::is_alive));
    assert_eq!(scene.stubs().launches().len(), 3);
    assert!(scene.stubs().doubles().is_empty());

    // It watches and ends what the old one started.
    process::send(agents[0].pid(), Signal::KILL);
    let again = wait_launches(&scene, "one", 2);
    assert_eq!(again.conversation(), agents[0].conversation());
    say(&scene, &["rm", "two"]);
    assert!(!agents[1].is_alive());
}

#[test]
fn p7_a_record_with_fields_of_a_newer_version_is_understood() {
    let mut scene = quiet_box();
    let supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1);
    supervisor.kill();
    let id = id_of(&scene, "one");
    let mut newer = record(&scene, &id);
    newer["weather"] = json!("fine");
    scene.put(format!(".local/state/agent-box/launches/{id}.json"), &newer.to_string());
    let _supervisor = supervise(&mut scene);
    within(1).always("its agent lives", || agent.is_alive());
    assert_eq!(state(&scene, "one"), "live");
    // A version that only a newer program knows is no reason to end anything either.
    newer["version"] = json!(99);
    scene.put(format!(".local/state/agent-box/launches/{id}.json"), &newer.to_string());
    wait_state(&scene, "one", "error");
    within(1).always("its agent lives", || agent.is_alive());
    assert_eq!(scene.stubs().launches().len(), 1);
}

#[test]
fn a_session_that_the_reference_started_is_taken_over_by_its_conversation() {
    let mut scene = quiet_box();
    let conversation = "11111111-2222-4333-8444-555555555555";
    scene.put(
        ".config/agent-box/sessions.json",
        &json!({"version": 1, "sessions": {
            "main": {"agent": "claude", "boxSessionId": conversation, "hasRun": true},
            "taken": {"agent": "claude", "boxSessionId": null},
        }})
        .to_string(),
    );
    let variable = format!("AGENT_BOX_SESSION_ID={conversation}");
    let tmux = scene.tmux();
    assert!(tmux.start("taken", &["sleep", "600"]).status.success());
    let start = ["new-session", "-d", "-s", "main", "-e", &variable, "--", "sleep", "600"];
    assert!(tmux.run(&start).status.success());
    let pane = tmux.pane_pid("main").unwrap();

    let _supervisor = supervise(&mut scene);
    // No launcher of ours runs in it, so its agent is not on record.
    within(20).until("it is taken over", || state(&scene, "main") == "live");
    within(10).until("it is in the journal", || !events(&scene, "main", "adopt").is_empty());
    wait_state(&scene, "taken", "error");
    assert!(state(&scene, "taken").contains("name taken"), "{}", state(&scene, "taken"));
    assert!(process::is_alive(pane));
    assert!(scene.stubs().launches().is_empty());
    // Ours now: it can be removed. The other one was made by hand and stays.
    say(&scene, &["rm", "main"]);
    assert!(!process::is_alive(pane));
    edit_registry(&scene, |document| {
        document["sessions"].as_object_mut().unwrap().remove("taken");
    });
    within(1).always("it stays", || scene.tmux().sessions() == ["taken"]);
}
