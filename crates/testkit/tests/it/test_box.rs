//! A test box runs programs in its own home and leaves nothing behind.

use agent_box_testkit::{TestBox, process, within};

/// The program under test is a shell: the arguments are `-c SCRIPT`.
fn test_box() -> TestBox {
    TestBox::new("/bin/sh")
}

#[test]
fn a_command_gets_exactly_the_boxs_environment() {
    let mut test_box = test_box();
    test_box.set("EXTRA", "yes");
    let finished = test_box
        .command(&["-c", "env; cat; pwd; echo bad >&2; exit 4"])
        .env("ONCE", "too")
        .without("SHELL")
        .stdin("typed\n")
        .run()
        .expect_code(4);
    assert_eq!(finished.stderr, "bad\n");
    let has = |line: &str| finished.stdout.lines().any(|found| found == line);
    assert!(has("EXTRA=yes") && has("ONCE=too") && has("typed"), "{}", finished.stdout);
    assert!(has(&format!("HOME={}", test_box.home().display())));
    assert!(has(&test_box.project().to_string_lossy()));
    assert!(!finished.stdout.contains("SHELL=") && !finished.stdout.contains("CARGO"));
}

#[test]
fn a_supervisor_is_ready_when_it_says_so_and_can_be_ended() {
    let mut test_box = test_box();
    let script = "trap 'echo bye; exit 3' TERM; \
        python3 -c 'import os,socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\
        .sendto(b\"STATUS=x\\nREADY=1\", os.environ[\"NOTIFY_SOCKET\"])'; \
        while :; do sleep 0.01; done";
    let mut supervisor = test_box.supervise(&["-c", script]);
    supervisor.wait_ready();
    supervisor.freeze();
    supervisor.thaw();
    let finished = supervisor.terminate();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(3), "bye\n"));

    let supervisor = test_box.supervise(&["-c", "sleep 100"]);
    let pid = supervisor.pid();
    assert_eq!(supervisor.kill().code, None);
    assert!(!process::is_alive(pid));
}

#[test]
fn the_points_of_a_program_are_steered_by_files() {
    let test_box = test_box();
    let points = test_box.points();
    points.arm("here", "pause");
    // What a program with test points does there, in shell.
    let script = r#"cd "$AGENT_BOX_TESTPOINTS"; : >here.at.$$
        while [ -e here ] && [ -e here.at.$$ ]; do sleep 0.01; done; rm -f here.at.$$; echo on"#;
    let running = test_box.command(&["-c", script]).start();
    assert_eq!(points.wait_reached("here"), running.pid());
    points.release("here");
    assert_eq!(running.wait().expect_success().stdout, "on\n");
    assert!(points.waiting("here").is_empty());
}

#[test]
fn a_dropped_box_leaves_no_process_no_server_and_no_home() {
    let test_box = test_box();
    let running = test_box.command(&["-c", "trap '' TERM HUP; setsid sleep 100"]).start();
    assert!(test_box.tmux().start("a", &["sleep", "100"]).status.success());
    assert_eq!(test_box.tmux().sessions(), ["a"]);
    within(10).until("three processes", || test_box.processes().len() >= 3);
    let (home, processes) = (test_box.home().to_path_buf(), test_box.processes());
    assert!(processes.contains(&running.pid()));
    drop(test_box);
    assert!(!home.exists());
    assert!(processes.iter().all(|&pid| !process::is_alive(pid)), "{processes:?}");
}

#[test]
fn a_stopped_tmux_server_is_found_and_killed() {
    let test_box = test_box();
    assert!(test_box.tmux().start("a", &["sleep", "100"]).status.success());
    let server = test_box.tmux().server_pid().unwrap();
    process::send(server, rustix::process::Signal::STOP);
    within(10).until("the server is stopped", || process::is_stopped(server));
    test_box.tmux().kill_server();
    assert!(!process::is_alive(server));
    assert_eq!(test_box.tmux().server_pid(), None);
}

#[test]
fn a_zombie_is_neither_alive_nor_gone() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    within(10).until("a zombie", || process::state(pid) == process::State::Zombie);
    assert!(process::children(i32::try_from(std::process::id()).unwrap()).contains(&pid));
    assert!(process::start_time(pid).is_some() && process::arguments(pid).is_empty());
    child.wait().unwrap();
    assert_eq!(process::state(pid), process::State::Gone);
}
