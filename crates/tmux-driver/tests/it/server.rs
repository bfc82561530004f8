//! Starting a server, what it holds, and leaving somebody else's alone.

use std::path::Path;
use std::process::Command;

use agent_box_tmux_driver::{StartPolicy, TmuxError};

use crate::rig::{Rig, chmod, name, raw};

#[test]
fn a_started_server_does_not_hold_on_to_a_directory() {
    let rig = Rig::new();
    rig.idle("s");
    let server = rig.server_pid().as_raw_nonzero();
    assert_eq!(std::fs::read_link(format!("/proc/{server}/cwd")).unwrap(), Path::new("/"));
}

#[test]
fn a_started_server_stays_without_sessions_and_keeps_later_settings() {
    let rig = Rig::new();
    rig.idle("s");
    let server = rig.server_pid();
    let option = |name: &str| {
        let shown = rig.raw(&["show-options", "-gv", name]);
        String::from_utf8(shown.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(option("history-limit"), "50000");
    assert_eq!(option("remain-on-exit"), "off");
    rig.raw(&["set-option", "-g", "mouse", "off"]);
    rig.tmux.kill_session(&name("s"), None).unwrap();
    rig.idle("s");
    assert_eq!(rig.server_pid(), server);
    assert_eq!(option("mouse"), "off");
}

#[test]
fn a_server_that_is_not_ours_is_neither_started_nor_configured() {
    let rig = Rig::with(StartPolicy::Never);
    assert!(matches!(rig.run("s", &["sleep", "9"]), Err(TmuxError::NoServer { .. })));
    assert!(matches!(rig.tmux.start_server(), Err(TmuxError::NoServer { .. })));
    assert!(!rig.tmux.socket().exists());

    rig.make_dir("t");
    chmod(&rig.path().join("t"), 0o700);
    raw(rig.tmux.socket(), &["new-session", "-d", "-s", "theirs", "sleep", "1000000"]);
    rig.idle("s");
    let limit = rig.raw(&["show-options", "-gv", "history-limit"]).stdout;
    assert_eq!(limit, b"2000\n");
}

#[test]
fn a_socket_directory_that_others_can_enter_is_refused() {
    let rig = Rig::new();
    let directory = rig.make_dir("t");
    chmod(&directory, 0o750);
    let refused = |result| matches!(result, Err(TmuxError::SocketDirectory { directory: d, .. }) if d == directory);
    assert!(refused(rig.tmux.start_server()));
    assert!(refused(rig.tmux.snapshot().map(drop)));
    chmod(&directory, 0o700);
    rig.tmux.start_server().unwrap();
}

#[test]
fn a_started_server_holds_only_the_listed_environment() {
    const POISONED: &str = "AGENT_BOX_TEST_POISONED";
    let poison = [
        ("TMUX", "/nowhere,1,0"),
        ("TMUX_PANE", "%0"),
        ("TMUX_TMPDIR", "/nowhere"),
        ("SSH_AUTH_SOCK", "/nowhere"),
        ("DISPLAY", ":9"),
        ("CLAUDECODE", "1"),
        ("XDG_RUNTIME_DIR", "/nowhere"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere"),
    ];
    #[expect(
        clippy::disallowed_methods,
        reason = "tells the inner run of this test from the outer"
    )]
    if std::env::var(POISONED).is_err() {
        // A process cannot poison itself without unsafe code, so this test runs itself again.
        let this = "server::a_started_server_holds_only_the_listed_environment";
        let inner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", this])
            .envs(poison)
            .env(POISONED, "1")
            .output()
            .unwrap();
        assert!(inner.status.success(), "{}", String::from_utf8_lossy(&inner.stdout));
        assert!(String::from_utf8_lossy(&inner.stdout).contains("1 passed"));
        return;
    }
    let rig = Rig::new();
    let out = rig.path().join("out");
    let script = r#"env -0 >"$0.new" && mv "$0.new" "$0""#;
    rig.run("s", &["sh", "-c", script, out.to_str().unwrap()]).unwrap();
    let server = rig.server_pid().as_raw_nonzero();
    let server = std::fs::read(format!("/proc/{server}/environ")).unwrap();
    assert_eq!(names(&server), ["HOME", "PATH", "SHELL"]);
    // tmux adds its own variables to those of a pane, and the shell in it adds some more.
    let added = ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE"];
    let known = [["HOME", "PATH", "SHELL", "PWD", "OLDPWD", "_"].as_slice(), &added].concat();
    let unknown = names(&rig.await_file("out")).into_iter().find(|n| !known.contains(&n.as_str()));
    assert_eq!(unknown, None);
}

/// The variables of an environment as `/proc` and `env -0` show it.
fn names(environment: &[u8]) -> Vec<String> {
    let lines = String::from_utf8_lossy(environment);
    let lines = lines.split('\0').filter(|line| !line.is_empty());
    let mut names: Vec<String> =
        lines.map(|line| line.split('=').next().unwrap().to_owned()).collect();
    names.sort();
    names
}
