//! What one look at the server tells, with sessions of anybody's making beside ours.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use agent_box_tmux_driver::StartPolicy;
use proptest::prelude::*;

use crate::rig::{Rig, wait};

#[test]
fn a_snapshot_of_a_hundred_sessions_is_one_client() {
    let rig = Rig::started();
    for n in 0..100 {
        rig.idle(&format!("s{n}"));
    }
    let tmux = rig.handle(StartPolicy::Never);
    let snapshot = tmux.snapshot().unwrap();
    assert_eq!(tmux.round_trips(), 1);
    assert_eq!((snapshot.sessions.len(), snapshot.foreign.len()), (100, 0));
    assert!(snapshot.sessions.iter().all(|s| s.id.as_deref() == Some(&s.name)));
}

#[test]
fn an_empty_server_has_no_sessions() {
    let rig = Rig::started();
    let snapshot = rig.tmux.snapshot().unwrap();
    assert!(snapshot.sessions.is_empty() && snapshot.foreign.is_empty());
    assert!(snapshot.server.started > 1_600_000_000);
    assert!(snapshot.server.version.starts_with(|c: char| c.is_ascii_digit() || c == 'n'));
}

#[test]
fn hostile_names_and_values_do_not_shift_a_field() {
    let rig = Rig::new();
    rig.idle("ours");
    for (name, seen) in [
        ("협업 🚀", "협업 🚀"),
        ("a|b|c", "a|b|c"),
        (" x ", " x "),
        ("session|$0|1|0|s|i|l|%0 1 0  ;|ours", "session|$0|1|0|s|i|l|%0 1 0  ;|ours"),
        ("tab\there", "tab\\there"),
        ("new\nline", "new\\nline"),
        ("##{pid}", "#{pid}"),
        ("$9", "$9"),
        ("=ours", "=ours"),
    ] {
        let made = rig.raw(&["new-session", "-d", "-s", name, "sleep", "1000000"]);
        assert!(made.status.success(), "{name:?}");
        assert!(rig.names().iter().any(|name| name == seen), "{name:?}: {:?}", rig.names());
    }
    let long = "x".repeat(151);
    let values: [&[u8]; 8] = [
        b"",
        b"a|b",
        b"a\nsession|b",
        b"a;b",
        b"#{pid}",
        b"\xff\xfe",
        "é".as_bytes(),
        long.as_bytes(),
    ];
    for value in values {
        Command::new("tmux")
            .args(["-u", "-S"])
            .arg(rig.tmux.socket())
            .args(["set-option", "-t", "=a|b|c:", "@agent_box_id"])
            .arg(OsStr::from_bytes(value))
            .status()
            .unwrap();
        let snapshot = rig.tmux.snapshot().unwrap();
        assert_eq!((snapshot.sessions.len(), snapshot.foreign.len()), (10, 0));
        let theirs = snapshot.sessions.iter().find(|session| session.name == "a|b|c").unwrap();
        assert_eq!(theirs.id, None, "{value:?}");
        let ours: Vec<_> = snapshot.sessions.iter().filter(|s| s.id.is_some()).collect();
        assert_eq!(ours.len(), 1);
        assert_eq!(ours[0].name, "ours");
    }
}

#[test]
fn wide_characters_come_back_without_any_locale() {
    let rig = Rig::started();
    let directory = rig.make_dir("проект é");
    let directory = directory.to_str().unwrap();
    rig.raw(&["new-session", "-d", "-s", "협업 🚀", "-c", directory, "sleep", "1000000"]);
    let session = rig.tmux.snapshot().unwrap().sessions.remove(0);
    assert_eq!(session.name, "협업 🚀");
    let path = || rig.tmux.display_message(&session.target(), "#{pane_current_path}").unwrap();
    wait(|| path() == directory);
}

#[test]
fn the_pane_is_the_one_the_session_was_created_with() {
    let rig = Rig::new();
    let created = rig.idle("s");
    rig.raw(&["split-window", "-t", "=s:", "sleep", "1000000"]);
    rig.raw(&["new-window", "-t", "=s:", "sleep", "1000000"]);
    let session = rig.tmux.snapshot().unwrap().sessions.remove(0);
    assert_eq!(session.pane.pid, created.pane_pid);
    assert!(!session.pane.dead);
}

#[test]
fn a_dead_pane_tells_how_it_ended() {
    let rig = Rig::started();
    rig.raw(&["set-option", "-g", "remain-on-exit", "on"]);
    rig.run("exits", &["sh", "-c", "exit 7"]).unwrap();
    rig.run("dies", &["sh", "-c", "kill -9 $$"]).unwrap();
    let ends = || -> Vec<_> {
        // A server built with libutempter may have missed the end of its child until nudged.
        rig.tmux.nudge().unwrap();
        let sessions = rig.tmux.snapshot().unwrap().sessions;
        sessions.iter().map(|s| (s.pane.dead, s.pane.status, s.pane.signal)).collect()
    };
    wait(|| ends() == [(true, None, Some(9)), (true, Some(7), None)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_option_value_leaves_the_other_session_readable(value in "\\PC{0,200}") {
        thread_local! {
            static RIG: Rig = {
                let rig = Rig::new();
                rig.idle("ours");
                rig.raw(&["new-session", "-d", "-s", "theirs", "sleep", "1000000"]);
                rig
            };
        }
        RIG.with(|rig| {
            rig.raw(&["set-option", "-t", "=theirs:", "@agent_box_launch", "--", &value]);
            let snapshot = rig.tmux.snapshot().unwrap();
            prop_assert_eq!(snapshot.sessions.len(), 2);
            let ours = snapshot.sessions.iter().find(|s| s.name == "ours").unwrap();
            prop_assert_eq!(ours.launch.as_deref(), Some("launch-of-ours"));
            Ok(())
        })?;
    }
}
