//! What the case, story and acceptance tests ask of a box, in their words.

use std::fs;
use std::path::PathBuf;

use agent_box_testkit::{Finished, Launch, Supervisor, TestBox, process, within};
use serde_json::Value;

/// The built program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_agent-box");

/// A box whose agents get little time to end politely, so that deaf ones cost no seconds.
pub(crate) fn quiet_box() -> TestBox {
    let mut scene = TestBox::new(PROGRAM);
    scene.set("AGENT_BOX_GRACE_MS", "400");
    scene
}

/// A box with a running supervisor.
pub(crate) fn supervised_box() -> (TestBox, Supervisor) {
    let mut scene = quiet_box();
    let supervisor = supervise(&mut scene);
    (scene, supervisor)
}

/// Starts a supervisor and waits until it is ready.
#[track_caller]
pub(crate) fn supervise(scene: &mut TestBox) -> Supervisor {
    let mut supervisor = scene.supervise(&["supervise"]);
    supervisor.wait_ready();
    supervisor
}

/// Runs a command that must succeed and returns what it printed.
#[track_caller]
pub(crate) fn say(scene: &TestBox, arguments: &[&str]) -> String {
    scene.run(arguments).expect_success().stdout
}

/// Runs a command with `--json` that must succeed and returns its document.
#[track_caller]
pub(crate) fn ask(scene: &TestBox, arguments: &[&str]) -> Value {
    parse(&scene.run(&[arguments, &["--json"]].concat()).expect_success())
}

/// The JSON document that a command printed.
#[track_caller]
pub(crate) fn parse(finished: &Finished) -> Value {
    let parsed = serde_json::from_str(&finished.stdout);
    parsed.unwrap_or_else(|error| panic!("{error}: {}{}", finished.stdout, finished.stderr))
}

/// Adds a session of a stub claude in the project directory.
#[track_caller]
pub(crate) fn add_claude(scene: &TestBox, name: &str, more: &[&str]) {
    let base = ["add", name, "--agent", "claude", "--cwd", "."];
    say(scene, &[&base[..], more].concat());
}

/// How the list shows a session; empty if it does not.
pub(crate) fn state(scene: &TestBox, name: &str) -> String {
    let listed = parse(&scene.run(&["ls", "--json"]));
    let rows = listed["sessions"].as_array().cloned().unwrap_or_default();
    let row = rows.iter().find(|row| row["name"] == name);
    row.and_then(|row| row["state"]["text"].as_str()).unwrap_or_default().to_owned()
}

/// Waits until the list shows a session so; a state with a reason matches by its word too.
#[track_caller]
pub(crate) fn wait_state(scene: &TestBox, name: &str, wanted: &str) {
    let mut last = String::new();
    within(20).until(&format!("`{name}` is {wanted}"), || {
        let now = state(scene, name);
        if now != last {
            last.clone_from(&now);
            tell(&format!("`{name}` is {now}"));
        }
        now == wanted || now.split('(').next() == Some(wanted)
    });
    if wanted == "live" {
        // tmux shows the pane before its launcher has started the agent and noted it.
        let id = id_of(scene, name);
        within(10).until(&format!("the agent of `{name}` is on record"), || {
            record(scene, &id)["state"]["agent"].is_object()
        });
    }
}

/// Says something beside a test.
#[expect(clippy::print_stderr, reason = "the test runner shows this beside a panic")]
pub(crate) fn tell(text: &str) {
    eprintln!("{text}");
}

/// Waits until a session's stub agent has been launched this often, and returns the newest launch.
#[track_caller]
pub(crate) fn wait_launches(scene: &TestBox, name: &str, count: usize) -> Launch {
    within(20).for_some(&format!("`{name}` was launched {count} times"), || {
        let launches = scene.stubs().launches_of(name);
        launches.get(count.checked_sub(1)?).cloned()
    })
}

/// Like [`wait_launches`], and until the agent says that its conversation is begun: an agent that
/// is ended before has nothing that could be resumed.
#[track_caller]
pub(crate) fn wait_conversation(scene: &TestBox, name: &str, count: usize) -> Launch {
    let launch = wait_launches(scene, name, count);
    let greeting = format!(" {}", launch.conversation());
    within(10).until(&format!("`{name}` has begun its conversation"), || {
        scene.tmux().screen(name).contains(&greeting)
    });
    launch
}

/// The registry's document.
#[track_caller]
pub(crate) fn registry(scene: &TestBox) -> Value {
    let text = fs::read_to_string(scene.registry()).expect("read the registry");
    serde_json::from_str(&text).expect("the registry is JSON")
}

/// One session's entry; null if it is not listed.
#[track_caller]
pub(crate) fn entry(scene: &TestBox, name: &str) -> Value {
    registry(scene)["sessions"][name].clone()
}

/// The names in the registry, in file order.
#[track_caller]
pub(crate) fn names(scene: &TestBox) -> Vec<String> {
    let registry = registry(scene);
    let sessions = registry["sessions"].as_object().expect("the registry lists sessions");
    sessions.keys().cloned().collect()
}

/// Waits until a first launch is mirrored into the registry; an edit by hand may come then.
#[track_caller]
pub(crate) fn wait_mirrored(scene: &TestBox, name: &str) {
    within(10).until("its first launch is mirrored", || {
        let entry = entry(scene, name);
        entry["hasRun"] == true && entry["initialPrompt"].is_null()
    });
}

/// Changes the registry as a person with an editor would: whole file, no lock.
#[track_caller]
pub(crate) fn edit_registry(scene: &TestBox, edit: impl FnOnce(&mut Value)) {
    let mut document = registry(scene);
    edit(&mut document);
    put_registry(scene, &format!("{document:#}\n"));
}

/// Replaces the registry's bytes.
#[track_caller]
pub(crate) fn put_registry(scene: &TestBox, text: &str) {
    scene.put(".config/agent-box/sessions.json", text);
}

/// The bytes of the registry.
#[track_caller]
pub(crate) fn registry_bytes(scene: &TestBox) -> Vec<u8> {
    fs::read(scene.registry()).expect("read the registry")
}

/// A session's id in the registry.
#[track_caller]
pub(crate) fn id_of(scene: &TestBox, name: &str) -> String {
    let id = entry(scene, name)["id"].as_str().map(str::to_owned);
    id.unwrap_or_else(|| panic!("`{name}` has no id"))
}

/// The launch record of a session id, as it stands in the file.
pub(crate) fn record(scene: &TestBox, id: &str) -> Value {
    let text =
        scene.read(PathBuf::from(".local/state/agent-box/launches").join(format!("{id}.json")));
    serde_json::from_str(&text).unwrap_or_default()
}

/// The journal's events of one kind about one name, oldest first.
#[track_caller]
pub(crate) fn events(scene: &TestBox, name: &str, kind: &str) -> Vec<Value> {
    let log = say(scene, &["log", name, "-n", "1000", "--json"]);
    let events = log.lines().map(|line| serde_json::from_str(line).expect("the log is JSON lines"));
    events.filter(|event: &Value| event["event"] == kind).collect()
}

/// Waits until every one of these processes is gone.
#[track_caller]
pub(crate) fn wait_gone(pids: &[i32]) {
    within(10).until("the processes are gone", || !pids.iter().any(|&pid| process::is_alive(pid)));
}

/// What the stub codex of this home has written down, once there is something.
pub(crate) fn rollout(scene: &TestBox) -> Option<PathBuf> {
    let mut folders = vec![scene.home().join(".codex/sessions")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|it| it == "jsonl") {
                return Some(path);
            }
            folders.push(path);
        }
    }
    None
}
