//! Screens, environments and attached terminals.

use std::process::Stdio;

use agent_box_tmux_driver::TmuxError;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::rig::{Rig, name, wait};

#[test]
fn the_last_lines_reach_into_the_scrollback() {
    let rig = Rig::new();
    let script = "seq 1 100; printf 'é 협업'; exec sleep 1000000";
    rig.run("s", &["sh", "-c", script]).unwrap();
    let capture = |lines| rig.tmux.capture(&name("s"), lines).unwrap();
    wait(|| capture(3) == "99\n100\né 협업");
    assert_eq!(capture(0), "");
    assert_eq!(capture(60).lines().next(), Some("42"));
    assert_eq!(capture(1000).lines().count(), 101);
}

#[test]
fn a_session_tells_its_own_variables_only() {
    let rig = Rig::started();
    let value = "line one\nline=two;";
    rig.raw(&["new-session", "-d", "-s", "s", "-e", &format!("A={value}\\;"), "sleep", "1000000"]);
    rig.raw(&["set-environment", "-t", "=s", "B", "b"]);
    rig.raw(&["set-environment", "-t", "=s", "-r", "HIDDEN"]);
    let get = |variable| rig.tmux.session_environment(&name("s"), variable).unwrap();
    assert_eq!(get("B").as_deref(), Some("b"));
    assert!(get("A").unwrap().starts_with("line one\nline=two"));
    assert_eq!(get("HIDDEN"), None);
    assert_eq!(get("HOME"), None, "the server's, not the session's");
    let missing = rig.tmux.session_environment(&name("nobody"), "B");
    assert!(matches!(missing, Err(TmuxError::NoSuchSession { .. })), "{missing:?}");
}

#[test]
fn an_attached_terminal_is_counted() {
    let rig = Rig::new();
    rig.idle("s");
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let open = || Stdio::from(rustix::fs::open(path.as_c_str(), flags, Mode::empty()).unwrap());
    let mut client = rig
        .tmux
        .attach_command(&name("s"))
        .env_remove("TMUX")
        .env("TERM", "xterm-256color")
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .spawn()
        .unwrap();
    let attached = || rig.tmux.snapshot().unwrap().sessions[0].attached;
    wait(|| attached() == 1);
    client.kill().unwrap();
    client.wait().unwrap();
    wait(|| attached() == 0);
}

#[test]
fn attaching_never_starts_a_server() {
    let rig = Rig::new();
    let output = rig.tmux.attach_command(&name("s")).env_remove("TMUX").output().unwrap();
    assert!(!output.status.success());
    assert!(!rig.tmux.socket().exists());
}
