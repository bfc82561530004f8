//! The reference's acceptance list, 35 to 91: adding at run time, names, the shell, removing.

use agent_box_testkit::within;

use crate::scene::{
    edit_registry, entry, id_of, names, quiet_box, say, state, supervised_box, wait_launches,
    wait_state,
};

#[test]
fn a_session_is_added_at_run_time_and_its_name_is_taken_then() {
    let (scene, _supervisor) = supervised_box();
    say(&scene, &["add", "helper", "--agent", "codex"]);
    wait_state(&scene, "helper", "live");
    assert_eq!(entry(&scene, "helper")["agent"], "codex");
    let id = id_of(&scene, "helper");
    scene.run(&["add", "helper", "--agent", "shell"]).expect_code(2);
    assert_eq!(entry(&scene, "helper")["agent"], "codex");
    assert_eq!(id_of(&scene, "helper"), id);
    let listed = say(&scene, &["ls"]);
    let row = listed.lines().find(|line| line.starts_with("helper")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["helper", "codex", "live"]);

    say(&scene, &["rm", "helper"]);
    assert!(scene.tmux().sessions().is_empty());
    within(3).always("it stays away", || scene.tmux().sessions().is_empty());
    assert!(entry(&scene, "helper").is_null());
}

#[test]
fn names_are_chosen_by_kind_then_directory_and_no_name_is_given_twice() {
    let (scene, _supervisor) = supervised_box();
    say(&scene, &["add", "--agent", "codex"]);
    wait_state(&scene, "codex", "live");
    assert_eq!(entry(&scene, "codex")["agent"], "codex");
    say(&scene, &["add", "--agent", "codex"]);
    let second = names(&scene)[1].clone();
    let hex = second.strip_prefix("codex-").unwrap_or_else(|| panic!("{second}"));
    assert!(hex.len() == 4 && hex.chars().all(|c| c.is_ascii_hexdigit()), "{second}");
    wait_state(&scene, &second, "live");

    scene.put("repo/x", "");
    for expected in ["claude", "repo", "repo-2", "repo-3"] {
        let place = scene.home().join("repo");
        say(&scene, &["add", "--agent", "claude", "--cwd", place.to_str().unwrap()]);
        assert!(entry(&scene, expected).is_object(), "{expected}: {:?}", names(&scene));
    }
    say(&scene, &["add", "--agent", "claude"]);
    assert!(names(&scene).last().unwrap().starts_with("claude-"));
}

#[test]
fn an_inherited_tmux_directory_leads_nowhere() {
    let (scene, _supervisor) = supervised_box();
    say(&scene, &["add", "hostile", "--agent", "generic"]);
    wait_state(&scene, "hostile", "live");
    let rm = scene.command(&["rm", "hostile"]).env("TMUX_TMPDIR", "/run/user/1000");
    rm.env("TMUX", "/run/user/1000/tmux,1,2").run().expect_success();
    assert!(scene.tmux().sessions().is_empty());
    assert!(entry(&scene, "hostile").is_null());
}

#[test]
fn names_have_150_characters_at_most_and_longer_ones_can_only_be_removed() {
    let scene = quiet_box();
    let longest = "n".repeat(150);
    say(&scene, &["add", &longest, "--agent", "shell"]);
    assert!(entry(&scene, &longest).is_object());
    say(&scene, &["rm", &longest]);
    assert!(names(&scene).is_empty());
    let too_long = "n".repeat(151);
    let refused = scene.run(&["add", &too_long, "--agent", "shell"]).expect_code(2);
    assert!(refused.stderr.contains("at most 150 characters"), "{}", refused.stderr);
    assert!(names(&scene).is_empty());
    edit_registry(&scene, |document| {
        document["sessions"][&too_long] = serde_json::json!({"agent": "shell"});
    });
    say(&scene, &["rm", &too_long]);
    assert!(names(&scene).is_empty());
}

#[test]
fn a_shell_that_ends_is_followed_by_a_fresh_one_and_a_killed_session_comes_back() {
    let (scene, _supervisor) = supervised_box();
    say(&scene, &["add", "scratch", "--agent", "shell"]);
    wait_state(&scene, "scratch", "live");
    assert_eq!(entry(&scene, "scratch")["agent"], "shell");
    let pane = || scene.tmux().pane_pid("scratch");
    let first = pane();
    scene.tmux().type_line("scratch", "exit 3");
    within(10).until("a fresh shell runs", || pane().is_some() && pane() != first);
    wait_state(&scene, "scratch", "live");

    say(&scene, &["add", "main", "--agent", "claude"]);
    let launch = wait_launches(&scene, "main", 1);
    wait_state(&scene, "main", "live");
    scene.tmux().run(&["kill-session", "-t", "=main"]);
    let again = wait_launches(&scene, "main", 2);
    assert_eq!(again.conversation(), launch.conversation());
    assert!(!launch.is_alive());
    wait_state(&scene, "main", "live");
    assert!(state(&scene, "scratch").starts_with("live"));
}
