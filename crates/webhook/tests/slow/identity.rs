//! A gh that never answers.

use std::process::Stdio;

use agent_box_testkit::{process, within};

use crate::verbs::{Scene, put};

#[test]
fn a_gh_that_hangs_is_ended_and_the_last_login_counts() {
    let mut scene = Scene::new();
    put(&scene.paths().identity(), "# fp=0\nLOCAL_WEBHOOK_SELF=octo\n");
    scene.put_program("gh", "#!/bin/sh\necho $$ > $HOME/pid\nexec sleep 600\n");
    let mut command = scene.command(&["self"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    within(20).until("it gives up", || child.try_wait().unwrap().is_some());
    let pid = std::fs::read_to_string(scene.home().join("pid")).unwrap();
    assert!(!process::is_alive(pid.trim().parse().unwrap()));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"octo\n".as_slice()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("did not end within 8 s"), "{said}");
}
