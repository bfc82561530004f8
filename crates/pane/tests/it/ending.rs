//! How ends are seen, sorted and written down, and what is left of the launch.

use std::time::Duration;

use agent_box_session::{Agent, Ending, Exit, LaunchRecord, LaunchState};
use agent_box_session_store::EventKind;

use crate::test_box::{TestBox, is_alive, send};

fn ended(record: &LaunchRecord) -> (Exit, Ending) {
    let LaunchState::Ended { exit, ending, .. } = &record.state else {
        panic!("{:?}", record.state)
    };
    (exit.clone(), *ending)
}

/// Runs a script as an agent without a terminal.
fn end_of(agent: Agent, script: &str) -> (Exit, Ending) {
    let test_box = TestBox::new();
    let record = test_box.prepare(agent, &["/bin/sh", "-c", script]);
    let output = test_box.run(&record);
    assert!(output.status.success(), "{output:?}");
    ended(&test_box.record(record.session))
}

#[test]
fn exits_are_recorded_exactly_and_sorted() {
    let check = |agent, script, exit, ending| {
        assert_eq!(end_of(agent, script), (exit, ending), "{script}");
    };
    check(Agent::Claude, "exit 0", Exit::Code(0), Ending::Parked);
    check(Agent::Claude, "exit 1", Exit::Code(1), Ending::PostMortem);
    check(Agent::Claude, "exit 143", Exit::Code(143), Ending::Respawn);
    check(Agent::Codex, "kill -SEGV $$", Exit::Signal(11), Ending::Respawn);
    check(Agent::Shell, "exit 0", Exit::Code(0), Ending::Respawn);
    check(Agent::Shell, "exit 7", Exit::Code(7), Ending::Respawn);
}

#[test]
fn a_clean_exit_just_before_a_hang_up_is_an_interruption() {
    let check = |signal| {
        let script = format!("(sleep 0.1; kill -{signal} $PPID) & exit 0");
        assert_eq!(end_of(Agent::Claude, &script), (Exit::Code(0), Ending::Interrupted));
    };
    check("HUP");
    check("TERM");
}

#[test]
fn signals_that_a_terminal_sends_to_the_launcher_mean_nothing() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("exec sleep 1000");
    let launcher = test_box.start(&record);
    let (pid, agent) = test_box.wait_for_agent(record.session);
    for signal in ["INT", "QUIT", "TSTP", "TTIN", "TTOU", "WINCH", "CONT"] {
        launcher.signal(signal);
    }
    send("KILL", agent);
    assert_eq!(ended(&test_box.wait_for_end(record.session)), (Exit::Signal(9), Ending::Respawn));
    crate::wait::until_true("the launcher to go", || !is_alive(pid));
}

#[test]
fn a_request_to_end_is_an_interruption_also_for_a_polite_agent() {
    for signal in ["TERM", "HUP"] {
        let test_box = TestBox::new();
        let script = "trap 'exit 0' HUP TERM; echo > ready; while :; do sleep 0.05; done";
        let record = test_box.prepare_script(script);
        let launcher = test_box.start(&record);
        test_box.read_when_written("ready");
        launcher.signal(signal);
        let record = test_box.wait_for_end(record.session);
        assert_eq!(ended(&record).1, Ending::Interrupted, "{signal}");
    }
}

#[test]
fn a_deaf_agent_is_killed_after_the_grace_time() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("trap '' HUP TERM; echo > ready; exec sleep 1000");
    record.grace_ms = 200;
    test_box.store.write_launch(&record).unwrap();
    let launcher = test_box.start(&record);
    test_box.read_when_written("ready");
    let asked = test_box.store.now();
    launcher.signal("TERM");
    let record = test_box.wait_for_end(record.session);
    assert_eq!(ended(&record), (Exit::Signal(9), Ending::Interrupted));
    let LaunchState::Ended { at, .. } = record.state else { unreachable!() };
    assert!(at.since(asked) >= Duration::from_millis(200));
}

#[test]
fn a_stopped_agent_is_ended_too() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("exec sleep 1000");
    let launcher = test_box.start(&record);
    let (_, agent) = test_box.wait_for_agent(record.session);
    send("STOP", agent);
    launcher.signal("TERM");
    assert_eq!(ended(&test_box.wait_for_end(record.session)).1, Ending::Interrupted);
}

#[test]
fn nothing_that_an_agent_left_behind_outlives_it() {
    let test_box = TestBox::new();
    let script = "
        deaf='trap \"\" HUP TERM INT; echo $$ > $0; exec sleep 1000'
        setsid sh -c \"$deaf\" one &
        setsid sh -c \"setsid sh -c '$deaf' two & exit 0\" &
        (setsid setsid sleep 1000 &)
        while ! [ -s one ]; do sleep 0.02; done
        exit 3";
    let record = test_box.prepare_script(script);
    let output = test_box.run(&record);
    assert!(output.status.success(), "{output:?}");
    let survivor: i32 = test_box.read_when_written("one").trim().parse().unwrap();
    assert!(!is_alive(survivor));
    let marker = format!("AGENT_BOX_LAUNCH_ID={}", record.launch);
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let carries = environment.split(|byte| *byte == 0).any(|it| it == marker.as_bytes());
        assert!(!carries, "{:?} is left", process.path());
    }
    assert_eq!(ended(&test_box.record(record.session)), (Exit::Code(3), Ending::PostMortem));
}

#[test]
fn a_polite_agent_whose_tmux_server_dies_is_interrupted() {
    for how in ["KILL", "TERM"] {
        let test_box = TestBox::new();
        let script = "trap 'exit 0' HUP TERM; echo > ready; while :; do sleep 0.05; done";
        let record = test_box.prepare_script(script);
        let pane = test_box.start_in_pane(&record);
        test_box.read_when_written("ready");
        let (launcher, agent) = test_box.wait_for_agent(record.session);
        send(how, pane.server);
        assert_eq!(ended(&test_box.wait_for_end(record.session)).1, Ending::Interrupted, "{how}");
        crate::wait::until_true("both to go", || !is_alive(launcher) && !is_alive(agent));
    }
}

#[test]
fn a_closed_pane_interrupts_a_deaf_agent_within_its_grace_time() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("trap '' HUP TERM; echo > ready; exec sleep 1000");
    let pane = test_box.start_in_pane(&record);
    test_box.read_when_written("ready");
    let (launcher, agent) = test_box.wait_for_agent(record.session);
    pane.close();
    assert_eq!(ended(&test_box.wait_for_end(record.session)).1, Ending::Interrupted);
    crate::wait::until_true("both to go", || !is_alive(launcher) && !is_alive(agent));
}

#[test]
fn the_end_is_on_record_before_the_lifetime_lock_is_free() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("exec sleep 1000");
    let _launcher = test_box.start(&record);
    let (_, agent) = test_box.wait_for_agent(record.session);
    assert!(!test_box.store.lifetime_is_free(record.session).unwrap());
    send("KILL", agent);
    crate::wait::until_true("the lock", || {
        test_box.store.lifetime_is_free(record.session).unwrap()
    });
    assert_eq!(ended(&test_box.record(record.session)).0, Exit::Signal(9));
}

#[test]
fn the_journal_names_code_signal_and_duration() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("kill -9 $$");
    test_box.run(&record);
    let [event] = &test_box.events(EventKind::Exit)[..] else { panic!() };
    assert!(event.text.starts_with("killed by SIGKILL (9) after 0."), "{}", event.text);
    assert_eq!((event.session, event.launch), (Some(record.session), Some(record.launch)));
    let detail = |key: &str| {
        let found = event.details.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!((detail("signal").as_str(), detail("asked").as_str()), ("9", "false"));
    assert!(detail("milliseconds").parse::<u64>().unwrap() < 10_000);
}

#[test]
fn an_end_that_cannot_be_written_is_tried_again_with_the_lock_held() {
    let test_box = TestBox::new();
    let record = test_box.prepare_script("exec sleep 1000");
    let _launcher = test_box.start(&record);
    let (pid, agent) = test_box.wait_for_agent(record.session);
    // A damaged record stands for a full disk: neither can be written over.
    let file = test_box.store.paths().launch(record.session);
    let good = std::fs::read_to_string(&file).unwrap();
    let relative = file.strip_prefix(test_box.file("")).unwrap().to_str().unwrap().to_owned();
    test_box.write(&relative, "{");
    send("KILL", agent);
    crate::wait::until_true("the agent to go", || !is_alive(agent));
    assert!(is_alive(pid) && !test_box.store.lifetime_is_free(record.session).unwrap());
    test_box.write(&relative, &good);
    assert_eq!(ended(&test_box.wait_for_end(record.session)).0, Exit::Signal(9));
}
