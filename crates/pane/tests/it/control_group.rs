//! The session's control group on a real unified hierarchy. Needs root and says so without.

use std::fs;
use std::path::{Path, PathBuf};

use agent_box_session::{Ending, Exit, LaunchState};
use agent_box_session_store::EventKind;

use crate::test_box::{Launcher, TestBox, is_alive};
use crate::wait;

/// A delegated group as a service manager would make it.
struct Unit(PathBuf);

impl Unit {
    #[expect(clippy::print_stderr, reason = "says why nothing was tested")]
    fn delegate(test_box: &TestBox) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
        let root = Path::new(mount?.split(' ').nth(4)?);
        let name = test_box.file("").file_name().unwrap().to_owned();
        let unit = root.join(name);
        if fs::create_dir(&unit).is_err() || fs::create_dir(unit.join("server")).is_err() {
            eprintln!("not run: control groups cannot be made here");
            return None;
        }
        Some(Self(unit))
    }

    fn members(&self, group: &str) -> Vec<i32> {
        let text = fs::read_to_string(self.0.join(group).join("cgroup.procs")).unwrap_or_default();
        text.lines().map(|pid| pid.parse().unwrap()).collect()
    }

    /// The launcher, started where tmux would start it.
    fn start(&self, test_box: &TestBox, record: &agent_box_session::LaunchRecord) -> Launcher {
        let launcher = test_box.command(record);
        let script = format!("echo $$ > {}/server/cgroup.procs; exec \"$@\"", self.0.display());
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script, "sh"]).arg(launcher.get_program()).args(launcher.get_args());
        shell.env_clear().stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        Launcher(shell.spawn().unwrap())
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        for group in ["sessions", "server"] {
            let _ = fs::remove_dir(self.0.join(group));
        }
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn launcher_and_agent_live_in_groups_of_their_own_that_go_with_them() {
    let test_box = TestBox::new();
    let Some(unit) = Unit::delegate(&test_box) else { return };
    let script = "setsid sh -c 'trap \"\" HUP TERM; echo $$ > child; exec sleep 1000' & \
                  exec sleep 1000";
    let record = test_box.prepare_script(script);
    let launcher = unit.start(&test_box, &record);
    let (launcher_pid, agent) = test_box.wait_for_agent(record.session);
    let child: i32 = test_box.read_when_written("child").trim().parse().unwrap();
    let session = format!("sessions/{}", record.session);
    assert_eq!(unit.members(&format!("{session}/launcher")), [launcher_pid]);
    let mut members = unit.members(&format!("{session}/agent"));
    members.sort_unstable();
    let mut expected = [agent, child];
    expected.sort_unstable();
    assert_eq!(members, expected);
    let on_record = test_box.record(record.session).cgroup.unwrap();
    assert_eq!(Path::new(&on_record), unit.0.join(&session));
    launcher.signal("TERM");
    let ended = test_box.wait_for_end(record.session);
    assert!(matches!(ended.state, LaunchState::Ended { ending: Ending::Interrupted, .. }));
    wait::until_true("the groups to go", || !unit.0.join(&session).exists());
    assert!(!is_alive(agent) && !is_alive(child) && unit.members("server").is_empty());
}

#[test]
fn a_kill_of_the_group_ends_agent_and_launcher() {
    let test_box = TestBox::new();
    let Some(unit) = Unit::delegate(&test_box) else { return };
    let record = test_box.prepare_script("trap '' HUP TERM; exec sleep 1000");
    let mut launcher = unit.start(&test_box, &record);
    let (_, agent) = test_box.wait_for_agent(record.session);
    let session = unit.0.join(format!("sessions/{}", record.session));
    fs::OpenOptions::new()
        .write(true)
        .open(session.join("cgroup.kill"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"1"))
        .unwrap();
    launcher.0.wait().unwrap();
    wait::until_true("the agent to go", || !is_alive(agent));
    for group in ["agent", "launcher", ""] {
        wait::until_true("an empty group", || fs::remove_dir(session.join(group)).is_ok());
    }
}

#[test]
fn limits_that_cannot_be_held_are_said_and_the_agent_runs() {
    let test_box = TestBox::new();
    let mut record = test_box.prepare_script("exit 0");
    record.limits.memory_max = Some(1 << 30);
    test_box.store.write_launch(&record).unwrap();
    let output = test_box.run(&record);
    assert!(String::from_utf8_lossy(&output.stdout).contains("limits do not hold"), "{output:?}");
    let state = test_box.record(record.session).state;
    assert!(matches!(state, LaunchState::Ended { exit: Exit::Code(0), .. }));
    assert_eq!(test_box.events(EventKind::Trouble).len(), 1);
}

#[test]
fn in_a_delegated_group_a_limit_holds_or_is_said_not_to() {
    let test_box = TestBox::new();
    let Some(unit) = Unit::delegate(&test_box) else { return };
    let mut record = test_box.prepare_script("exec sleep 1000");
    record.limits.tasks_max = Some(77);
    test_box.store.write_launch(&record).unwrap();
    let launcher = unit.start(&test_box, &record);
    test_box.wait_for_agent(record.session);
    let file = unit.0.join(format!("sessions/{}/agent/pids.max", record.session));
    let holds = fs::read_to_string(file).is_ok_and(|limit| limit == "77\n");
    let said = test_box.events(EventKind::Trouble);
    let said = said.iter().any(|event| event.text.contains("pids.max could not be set"));
    assert!(holds != said, "holds: {holds}, said: {said}");
    launcher.signal("TERM");
    test_box.wait_for_end(record.session);
    wait::until_true("the groups to go", || {
        !unit.0.join("sessions").join(record.session.to_string()).exists()
    });
}
