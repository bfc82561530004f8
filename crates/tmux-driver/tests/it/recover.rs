//! A live server whose socket was unlinked is found again, and never doubled.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use agent_box_tmux_driver::{Recovery, StartPolicy, TmuxError};

use crate::rig::{Rig, Stopped, chmod, wait};

#[test]
fn an_unlinked_socket_is_recovered_and_the_server_not_doubled() {
    let rig = Rig::new();
    rig.idle("old");
    let server = rig.server_pid();

    std::fs::remove_file(rig.tmux.socket()).unwrap();
    assert_eq!(rig.names(), ["old"]);

    // The cleaner took the whole directory, and the driver was restarted since.
    std::fs::remove_dir_all(rig.path().join("t")).unwrap();
    let tmux = rig.handle(StartPolicy::Start);
    tmux.start_server().unwrap();
    assert_eq!(rig.server_pid(), server);

    std::fs::remove_dir_all(rig.path().join("t")).unwrap();
    rig.idle("new");
    assert_eq!(rig.names(), ["new", "old"]);
    assert_eq!(rig.server_pid(), server);
}

#[test]
fn a_server_in_the_foreground_is_recovered_by_clients_that_may_not_start_one() {
    let rig = Rig::with(StartPolicy::Never);
    let directory = rig.make_dir("t");
    chmod(&directory, 0o700);
    let mut server = Command::new("tmux")
        .arg("-S")
        .arg(rig.tmux.socket())
        .args(["-u", "-f", "/dev/null", "-D"])
        .env_remove("TMUX")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait(|| rig.tmux.snapshot().is_ok());
    std::fs::remove_file(rig.tmux.socket()).unwrap();
    assert_eq!(rig.tmux.recover_socket().unwrap(), Recovery::Recovered);
    assert_eq!(rig.tmux.recover_socket().unwrap(), Recovery::Reachable);
    assert_eq!(rig.tmux.snapshot().unwrap().server.pid, server.id());
    rig.raw(&["kill-server"]);
    server.wait().unwrap();
}

#[test]
fn a_stopped_server_without_a_socket_is_not_doubled() {
    let rig = Rig::new();
    rig.idle("old");
    let stopped = Stopped::new(rig.server_pid());
    std::fs::remove_file(rig.tmux.socket()).unwrap();
    assert!(matches!(rig.run("new", &["sleep", "9"]), Err(TmuxError::TimedOut { .. })));
    assert!(!rig.tmux.socket().exists());
    drop(stopped);
    wait(|| rig.tmux.snapshot().is_ok());
    assert_eq!(rig.names(), ["old"]);
}

#[test]
fn without_a_server_there_is_nothing_to_recover() {
    let rig = Rig::started();
    assert_eq!(rig.tmux.recover_socket().unwrap(), Recovery::Reachable);
    rig.raw(&["kill-server"]);
    wait(|| rig.tmux.recover_socket().unwrap() == Recovery::NoServer);
    assert!(matches!(rig.tmux.snapshot(), Err(TmuxError::NoServer { .. })));
}

#[test]
fn only_a_tmux_server_is_signalled() {
    let rig = Rig::new();
    chmod(&rig.make_dir("t"), 0o700);
    // This process listens on the path and would be ended by SIGUSR1.
    let _listener = UnixListener::bind(rig.tmux.socket()).unwrap();
    std::fs::remove_file(rig.tmux.socket()).unwrap();
    assert_eq!(rig.tmux.recover_socket().unwrap(), Recovery::NoServer);
}
