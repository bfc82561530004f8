//! How the box itself is.

use crate::scene::{add_claude, ask, put_registry, quiet_box, say, supervise, wait_state};

#[test]
fn status_tells_of_supervisor_server_and_list() {
    let mut scene = quiet_box();
    let status = ask(&scene, &["status"]);
    assert!(status["supervisor"].is_null(), "{status}");
    assert!(status["tmux"]["trouble"].as_str().unwrap().contains("does not run"), "{status}");

    let supervisor = supervise(&mut scene);
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let status = ask(&scene, &["status"]);
    let holder = status["supervisor"].as_str().unwrap();
    assert!(holder.contains(&supervisor.pid().to_string()), "{status}");
    assert_eq!(status["tmux"]["pid"], scene.tmux().server_pid().unwrap());
    assert_eq!(status["tmux"]["outdated"], false);
    assert_eq!(status["sessions"], 1);

    // Another tmux was installed since.
    let newer = scene.command(&["status"]).env("AGENT_BOX_TMUX_INSTALLED", "/bin/cat").run();
    assert!(newer.expect_success().stdout.contains("until the next reboot"));

    put_registry(&scene, "");
    let damaged = scene.run(&["status"]).expect_code(3);
    assert!(damaged.stdout.contains("is empty"), "{}", damaged.stdout);
    assert!(say(&scene, &["--help"]).contains("status"));
}
