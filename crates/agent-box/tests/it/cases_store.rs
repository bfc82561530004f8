//! Cases C1 to C8: the session list under damage, full disks and many writers at once.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent_box_testkit::{Running, TestBox, process, within};
use serde_json::Value;

use crate::scene::{
    add_claude, ask, entry, names, parse, put_registry, quiet_box, registry, registry_bytes, say,
    state, supervise, supervised_box, tell, wait_launches, wait_mirrored, wait_state,
};

/// The commands that change something; none may succeed on a damaged list.
const CHANGES: [&[&str]; 4] =
    [&["add", "more"], &["rm", "one"], &["stop", "one"], &["restart", "one"]];

#[track_caller]
fn expect_damage(scene: &TestBox, what: &str) {
    let before = registry_bytes(scene);
    let listed = scene.run(&["ls"]).expect_code(3);
    assert!(listed.stderr.contains("damaged"), "{what}: {}", listed.stderr);
    assert!(listed.stderr.contains("byte"), "{what}: {}", listed.stderr);
    for change in CHANGES {
        let refused = scene.run(change).expect_code(3);
        assert!(refused.stderr.contains("repair"), "{what}: {change:?}: {}", refused.stderr);
    }
    assert_eq!(registry_bytes(scene), before, "{what}: the damaged bytes were touched");
}

#[test]
fn c1_a_list_cut_short_ends_no_session_and_repair_restores_it() {
    let (mut scene, supervisor) = supervised_box();
    let sessions = ["one", "two", "three"];
    for name in sessions {
        add_claude(&scene, name, &[]);
    }
    let pids = sessions.map(|name| wait_launches(&scene, name, 1).pid());
    for name in sessions {
        wait_state(&scene, name, "live");
    }
    let whole = registry_bytes(&scene);
    for at in [1, whole.len() / 3, whole.len() / 2, whole.len() - 3] {
        put_registry(&scene, std::str::from_utf8(&whole[..at]).unwrap());
        expect_damage(&scene, &format!("cut at {at}"));
    }
    // A supervisor that starts on the damaged list leaves everything alone, too.
    supervisor.kill();
    let supervisor = supervise(&mut scene);
    within(2).always("the agents live", || pids.iter().all(|&pid| process::is_alive(pid)));

    let repaired = ask(&scene, &["repair", "--yes"]);
    let kept = repaired["kept"].as_str().expect("the damaged bytes are kept");
    assert_eq!(fs::read(kept).unwrap(), &whole[..whole.len() - 3]);
    assert_eq!(names(&scene), sessions);
    for (name, pid) in sessions.iter().zip(pids) {
        assert_eq!(state(&scene, name), "live");
        assert_eq!(scene.stubs().launches_of(name).len(), 1);
        assert!(process::is_alive(pid));
    }
    // And the list works again, without a restart of anything.
    say(&scene, &["rm", "one"]);
    assert!(!process::is_alive(pids[0]));
    drop(supervisor);
}

#[test]
fn c2_garbage_behind_the_list_is_said_with_its_place_and_repair_keeps_the_good_part() {
    let scene = quiet_box();
    say(&scene, &["add", "one", "--agent", "shell"]);
    say(&scene, &["add", "two", "--agent", "shell"]);
    let good = String::from_utf8(registry_bytes(&scene)).unwrap();
    let good = good.trim_end().to_owned();
    put_registry(&scene, &(good.clone() + "\n\"stale\": true}\n"));
    let listed = scene.run(&["ls"]).expect_code(3);
    assert!(listed.stderr.contains(&format!("byte {}", good.len() + 1)), "{}", listed.stderr);
    expect_damage(&scene, "garbage at the end");
    say(&scene, &["repair", "--yes"]);
    assert_eq!(names(&scene), ["one", "two"]);
    say(&scene, &["rm", "one"]);
}

#[test]
fn c3_an_unreadable_list_is_not_an_empty_one() {
    let declared = r#"{"version": 1, "sessions": {"declared": {"agent": "shell"}}}"#;
    for bad in [
        r#"{"ver"#,
        "",
        "\0\0\0\0",
        "[1, 2]",
        r#"{"version": 1}"#,
        r#"{"version": 99, "sessions": {}}"#,
    ] {
        let mut scene = quiet_box();
        scene.put("seed.json", declared);
        let seed = scene.home().join("seed.json");
        scene.set("AGENT_BOX_SESSIONS_SEED", seed);
        put_registry(&scene, bad);
        let supervisor = supervise(&mut scene);
        let refused = scene.run(&["add", "one", "--agent", "shell"]).expect_code(3);
        assert!(refused.stderr.contains("sessions.json"), "{bad:?}: {}", refused.stderr);
        let listed = parse(&scene.run(&["ls", "--json"]).expect_code(3));
        assert!(listed["damage"].is_string(), "{bad:?}");
        supervisor.kill();
        assert_eq!(registry_bytes(&scene), bad.as_bytes(), "{bad:?}");
    }
}

/// A tmpfs of 64 KB; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn over(path: PathBuf) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"]).arg(&path);
        mount.output().ok()?.status.success().then_some(Self(path))
    }

    /// Takes all the room there is.
    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        for size in [4096, 512, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn c5_on_a_full_disk_commands_fail_and_say_so_and_everything_works_again_with_room() {
    for place in [".config", ".local/state"] {
        survive_full_disk(place);
    }
}

fn survive_full_disk(place: &str) {
    let mut scene = quiet_box();
    let Some(disk) = SmallDisk::over(scene.home().join(place)) else {
        tell("not run: mounting a tmpfs needs root");
        return;
    };
    let _supervisor = supervise(&mut scene);
    say(&scene, &["add", "one", "--agent", "generic", "--cwd", "."]);
    wait_mirrored(&scene, "one");
    let agent = wait_launches(&scene, "one", 1).pid();
    let before = registry_bytes(&scene);
    let filler = disk.fill();
    let long = "x".repeat(9000);
    for change in [
        &["add", "two", "--agent", "generic", "--prompt", &long][..],
        &["stop", "one"],
        &["rm", "one"],
    ] {
        let failed = scene.run(change).expect_code(1);
        assert!(failed.stderr.contains("No space left"), "{place} {change:?}: {}", failed.stderr);
        assert_eq!(registry_bytes(&scene), before, "{place} {change:?}");
        assert!(process::is_alive(agent), "{place} {change:?}");
    }
    assert_eq!(state(&scene, "one"), "live", "{place}");
    fs::remove_file(filler).unwrap();
    say(&scene, &["add", "two", "--agent", "generic", "--cwd", "."]);
    wait_state(&scene, "two", "live");
    say(&scene, &["rm", "one"]);
    assert!(!process::is_alive(agent), "{place}");
}

#[track_caller]
fn all_succeed(running: Vec<Running>) -> Vec<String> {
    running.into_iter().map(|one| one.wait().expect_success().stdout).collect()
}

#[test]
fn c6_thirty_removals_at_once_leave_nothing() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan_every(r#"{"polite_hup": true}"#);
    let names: Vec<String> = (0..30).map(|n| format!("s{n}")).collect();
    for name in &names {
        say(&scene, &["add", name, "--agent", "generic", "--cwd", "."]);
    }
    within(25).until("all run", || scene.stubs().living().len() == names.len());
    let input = names.join("\n");
    scene.put("names", &input);
    let program = Path::new(crate::scene::PROGRAM);
    let removed = Command::new("xargs")
        .args(["-a"])
        .arg(scene.home().join("names"))
        .args(["-P16", "-n1"])
        .arg(program)
        .arg("rm")
        .env_clear()
        .envs(scene.environment())
        .output()
        .expect("run xargs");
    // xargs answers 123 when any of its commands failed.
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert_eq!(registry(&scene)["sessions"], serde_json::json!({}));
    assert_eq!(scene.tmux().sessions(), Vec::<String>::new());
    assert!(scene.stubs().living().is_empty());
}

#[test]
fn c7_parallel_adds_are_all_listed_under_names_of_their_own() {
    let scene = quiet_box();
    let named: Vec<Running> = (0..50)
        .map(|n| scene.command(&["add", &format!("s{n}"), "--agent", "claude", "--json"]).start())
        .collect();
    let mut printed = all_succeed(named);
    let unnamed: Vec<Running> =
        (0..50).map(|_| scene.command(&["add", "--agent", "claude", "--json"]).start()).collect();
    printed.extend(all_succeed(unnamed));
    let mut printed: Vec<String> = printed
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("a row of JSON"))
        .map(|row| row["name"].as_str().expect("a name").to_owned())
        .collect();
    let mut listed = names(&scene);
    printed.sort();
    listed.sort();
    assert_eq!(printed, listed);
    listed.dedup();
    assert_eq!(listed.len(), 100);
}

#[test]
fn c8_two_writers_lose_no_edit_of_each_other() {
    const ROUNDS: u64 = 40;
    let scene = quiet_box();
    say(&scene, &["add", "one", "--agent", "shell"]);
    say(&scene, &["add", "two", "--agent", "shell"]);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for round in 1..=ROUNDS {
                say(&scene, &["limits", "one", "--tasks-max", &round.to_string()]);
            }
        });
        for round in 1..=ROUNDS {
            let verb = if round % 2 == 1 { "stop" } else { "restart" };
            say(&scene, &[verb, "two"]);
        }
    });
    // Each intent raises the generation by one.
    assert_eq!(entry(&scene, "one")["generation"], 1 + ROUNDS);
    assert_eq!(entry(&scene, "two")["generation"], 1 + ROUNDS);
    assert_eq!(ask(&scene, &["limits", "one"])["tasksMax"], ROUNDS);
}

#[test]
#[cfg(feature = "testpoints")]
fn c8_while_a_lock_holder_is_stopped_nobody_writes_and_it_is_named() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1).pid();
    scene.points().arm("store.before-unlock", "pause-once");
    let holder = scene.command(&["add", "two", "--agent", "shell"]).start();
    let pid = scene.points().wait_reached("store.before-unlock");
    assert_eq!(pid, holder.pid());
    let before = registry_bytes(&scene);
    let waiting: Vec<(&str, Running)> =
        ["add", "stop", "rm"].map(|verb| (verb, scene.command(&[verb, "one"]).start())).into();
    for (verb, one) in waiting {
        let refused = one.wait().expect_code(1);
        assert!(refused.stderr.contains(&pid.to_string()), "{verb}: {}", refused.stderr);
        assert!(refused.stderr.contains("agent-box"), "{verb}: {}", refused.stderr);
    }
    assert_eq!(registry_bytes(&scene), before);
    // Looking needs no lock.
    assert_eq!(state(&scene, "one"), "live");
    scene.points().release("store.before-unlock");
    holder.wait().expect_success();
    say(&scene, &["rm", "one"]);
    assert!(!process::is_alive(agent));
}
