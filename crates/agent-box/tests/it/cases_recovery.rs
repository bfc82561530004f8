//! What goes away under a running box, and what it does then: files, sockets, the whole machine.

use std::fs;

use agent_box_testkit::{TestBox, process, within};
use rustix::process::Signal;
use serde_json::json;

use crate::scene::{
    add_claude, ask, edit_registry, entry, id_of, names, quiet_box, record, say, state, supervise,
    supervised_box, wait_conversation, wait_launches, wait_mirrored, wait_state,
};

#[test]
fn after_a_reboot_everything_wanted_comes_back_with_its_conversation() {
    let (mut scene, supervisor) = supervised_box();
    scene.stubs().plan(r#"{"failed": [{"exit": 4}]}"#);
    for name in ["works", "failed", "parked"] {
        add_claude(&scene, name, &["--prompt", name]);
    }
    wait_state(&scene, "failed", "post-mortem");
    wait_state(&scene, "works", "live");
    let launch = wait_conversation(&scene, "works", 1);
    wait_launches(&scene, "parked", 1);
    say(&scene, &["stop", "parked"]);
    let id = id_of(&scene, "works");
    let mut stale = record(&scene, &id);
    assert_eq!(stale["state"]["is"], "starting", "{stale}");
    supervisor.kill();
    scene.tmux().kill_server();
    within(10).until("the machine is down", || {
        for pid in scene.processes() {
            process::send(pid, Signal::KILL);
        }
        scene.processes().is_empty()
    });
    // Nobody wrote an end, and the launcher's number belongs to somebody else in this boot.
    stale["state"]["launcher"]["pid"] = json!(std::process::id());
    stale["state"]["launcher"]["boot_id"] = json!("0193b2c0-0000-4000-8000-00000000000a");
    scene.put(format!(".local/state/agent-box/launches/{id}.json"), &stale.to_string());

    let _supervisor = supervise(&mut scene);
    let again = wait_launches(&scene, "works", 2);
    assert!(again.is_resumed());
    assert_eq!(again.conversation(), launch.conversation());
    assert!(!again.has_prompt("works"));
    within(10).until("the post-mortem is shown again", || {
        scene.tmux().sessions().contains(&"failed".to_owned())
    });
    assert_eq!(state(&scene, "failed"), "post-mortem(4)");
    assert!(state(&scene, "parked").starts_with("stopped"));
    assert_eq!(scene.stubs().launches_of("failed").len(), 1);
    assert_eq!(scene.stubs().launches_of("parked").len(), 1);
}

#[test]
fn a_list_behind_a_link_is_watched_and_the_link_stays() {
    let mut scene = quiet_box();
    scene.put("dotfiles/list.json", r#"{"version": 1, "sessions": {}}"#);
    fs::create_dir_all(scene.config()).unwrap();
    std::os::unix::fs::symlink(scene.home().join("dotfiles/list.json"), scene.registry()).unwrap();
    let _supervisor = supervise(&mut scene);
    scene.put("dotfiles/list.json", r#"{"version": 1, "sessions": {"one": {"agent": "generic"}}}"#);
    within(10)
        .until("an edit of the target is seen", || scene.stubs().launches_of("one").len() == 1);
    say(&scene, &["add", "two", "--agent", "generic"]);
    wait_state(&scene, "two", "live");
    assert!(fs::symlink_metadata(scene.registry()).unwrap().is_symlink());
    assert!(scene.read("dotfiles/list.json").contains("two"));
}

#[test]
fn a_lost_tmux_socket_is_found_again_and_no_second_server_starts() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1);
    let server = scene.tmux().server_pid().unwrap();
    fs::remove_file(scene.tmux().socket()).unwrap();
    add_claude(&scene, "two", &[]);
    wait_state(&scene, "two", "live");
    assert_eq!(scene.tmux().server_pid(), Some(server));
    assert_eq!(state(&scene, "one"), "live");
    assert!(agent.is_alive());
    assert_eq!(scene.stubs().launches_of("one").len(), 1);
}

#[test]
fn a_state_directory_that_is_lost_ends_nothing_of_another_store() {
    let (mut scene, supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1);
    wait_mirrored(&scene, "one");
    supervisor.kill();
    fs::remove_dir_all(scene.state()).unwrap();
    let _supervisor = supervise(&mut scene);
    // Its tags name a store that nobody knows any more: it is a stranger's session of our name.
    wait_state(&scene, "one", "error");
    within(1).always("it is left alone", || agent.is_alive());
    assert_eq!(scene.stubs().launches().len(), 1);
}

/// An agent that ends with 0 whenever it is asked to end.
fn polite(scene: &TestBox, name: &str) -> i32 {
    scene.stubs().plan_every(r#"{"polite_hup": true}"#);
    add_claude(scene, name, &[]);
    wait_state(scene, name, "live");
    wait_launches(scene, name, 1).pid()
}

#[test]
fn a_polite_agent_that_is_made_to_end_is_not_taken_for_finished() {
    let (scene, _supervisor) = supervised_box();
    polite(&scene, "one");
    say(&scene, &["restart", "one"]);
    wait_launches(&scene, "one", 2);
    wait_state(&scene, "one", "live");
    scene.tmux().run(&["kill-session", "-t", "=one"]);
    wait_launches(&scene, "one", 3);
    wait_state(&scene, "one", "live");
    scene.tmux().kill_server();
    wait_launches(&scene, "one", 4);
    wait_state(&scene, "one", "live");
    assert!(entry(&scene, "one").get("stopped").is_none());
}

#[test]
fn a_hung_or_killed_launcher_blocks_neither_removal_nor_return() {
    let (scene, _supervisor) = supervised_box();
    for name in ["hung", "killed"] {
        add_claude(&scene, name, &[]);
        wait_state(&scene, name, "live");
    }
    let hung = wait_launches(&scene, "hung", 1);
    process::send(scene.tmux().pane_pid("hung").unwrap(), Signal::STOP);
    say(&scene, &["rm", "hung"]);
    assert!(!hung.is_alive());
    let killed = wait_launches(&scene, "killed", 1);
    process::send(scene.tmux().pane_pid("killed").unwrap(), Signal::KILL);
    let again = wait_launches(&scene, "killed", 2);
    assert_eq!(again.conversation(), killed.conversation());
    assert!(!killed.is_alive());
    within(10).until("the terminal is gone", || scene.tmux().sessions() == ["killed"]);
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn an_operator_does_not_wait_for_a_backoff() {
    let (scene, _supervisor) = supervised_box();
    scene.stubs().plan(r#"{"one": [{"signal": 9}, {"signal": 9}, {"signal": 9}]}"#);
    add_claude(&scene, "one", &[]);
    wait_launches(&scene, "one", 3);
    wait_state(&scene, "one", "backing-off");
    // Four seconds to go.
    say(&scene, &["restart", "one"]);
    within(2).until("it runs at once", || scene.stubs().launches_of("one").len() == 4);
    wait_state(&scene, "one", "live");
    say(&scene, &["stop", "one"]);
    say(&scene, &["rm", "one"]);
    assert!(scene.stubs().living().is_empty());
}

#[test]
fn a_suspended_agent_is_said_to_be_so_and_can_be_removed() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    let agent = wait_launches(&scene, "one", 1);
    process::send(agent.pid(), Signal::TSTP);
    wait_state(&scene, "one", "suspended");
    say(&scene, &["rm", "one"]);
    assert!(!agent.is_alive());
}

#[test]
fn a_directory_of_settings_that_was_replaced_is_watched_again() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_state(&scene, "one", "live");
    wait_mirrored(&scene, "one");
    let agent = wait_launches(&scene, "one", 1);
    // As a restore from a backup does it.
    let aside = scene.home().join("aside");
    let run = |program: &str, words: &[&std::ffi::OsStr]| {
        assert!(std::process::Command::new(program).args(words).status().unwrap().success());
    };
    run("mv", &[scene.config().as_ref(), aside.as_ref()]);
    within(1).always("a list that is gone is no empty one", || agent.is_alive());
    run("mkdir", &["-p".as_ref(), scene.config().as_ref()]);
    run("cp", &["-a".as_ref(), aside.join(".").as_ref(), scene.config().as_ref()]);
    edit_registry(&scene, |document| {
        document["sessions"]["two"] = json!({"agent": "generic"});
    });
    within(20).until("the new one is watched", || scene.stubs().launches_of("two").len() == 1);
    assert_eq!(scene.stubs().launches_of("one").len(), 1);
    assert_eq!(names(&scene), ["one", "two"]);
    assert_eq!(ask(&scene, &["ls"])["damage"], json!(null));
}
