//! A launcher that is killed with -9: what it takes along, and what it leaves on record.

use agent_box_session::LaunchState;
use agent_box_session_store::EventKind;

use crate::test_box::{TestBox, is_alive, send};
use crate::wait;

/// Runs the launcher up to a point at which it is killed as by the kernel.
fn killed_at(point: &str, test_box: &TestBox, record: &agent_box_session::LaunchRecord) {
    std::fs::create_dir(test_box.file("points")).unwrap();
    test_box.write(&format!("points/{point}"), "kill");
    let mut command = test_box.command(record);
    let status = command.env("AGENT_BOX_TESTPOINTS", test_box.file("points")).status().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{point}");
}

#[test]
fn a_killed_launcher_takes_a_deaf_agent_along() {
    let test_box = TestBox::new();
    let script = "trap '' HUP TERM INT; echo > ready; exec sleep 1000";
    let record = test_box.prepare_script(script);
    let _launcher = test_box.start(&record);
    test_box.read_when_written("ready");
    let (launcher, agent) = test_box.wait_for_agent(record.session);
    send("KILL", launcher);
    wait::until_true("the agent to go", || !is_alive(agent));
    assert!(test_box.store.lifetime_is_free(record.session).unwrap());
}

#[test]
fn a_launcher_killed_before_go_leaves_nothing() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("echo started > out; exec sleep 1000");
    killed_at("pane.before-exec", &test_box, &record);
    let marker = format!("AGENT_BOX_LAUNCH_ID={}", record.launch);
    wait::until_true("the trampoline to go", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        !processes.into_iter().any(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it == marker.as_bytes())
        })
    });
    assert_eq!(test_box.read("out"), "");
    let state = test_box.record(record.session).state;
    assert!(matches!(state, LaunchState::Starting { agent: None, .. }), "{state:?}");
    assert_eq!(test_box.record(record.session).prompt_handed, 0);
}

#[test]
fn a_launcher_killed_inside_the_gate_has_changed_nothing() {
    for point in ["pane.before-gate", "pane.in-gate"] {
        let test_box = TestBox::new();
        let record = test_box.prepare_script("echo started > out");
        killed_at(point, &test_box, &record);
        assert_eq!(test_box.record(record.session).state, LaunchState::Prepared);
        let document = test_box.store.read().unwrap();
        assert!(!document.registry.by_id(record.session).unwrap().1.has_run);
        // The launch is as good as before: another launcher may use it.
        assert!(test_box.run(&record).status.success());
        assert_eq!(test_box.read("out"), "started\n");
        assert!(test_box.events(EventKind::Refusal).is_empty());
    }
}

#[test]
fn a_launcher_killed_after_the_exec_has_counted_the_prompt() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("exec sleep 1000");
    record.prompt = Some("do it".to_owned());
    record.carries_prompt = true;
    test_box.store.write_launch(&record).unwrap();
    killed_at("pane.after-exec", &test_box, &record);
    let record = test_box.record(record.session);
    assert_eq!(record.prompt_handed, 1);
    let LaunchState::Starting { agent: Some(agent), .. } = record.state else {
        panic!("{:?}", record.state)
    };
    wait::until_true("the agent to go", || !is_alive(agent.pid));
}

#[test]
fn a_launcher_killed_after_the_end_has_it_on_record() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("exit 9");
    killed_at("pane.after-ended", &test_box, &record);
    assert!(matches!(test_box.record(record.session).state, LaunchState::Ended { .. }));
}
