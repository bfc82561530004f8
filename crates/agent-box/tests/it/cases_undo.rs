//! Taking changes back, also those that a session was removed or replaced by.

use agent_box_testkit::within;

use crate::scene::{
    add_claude, ask, entry, id_of, names, quiet_box, registry, say, state, supervise,
    supervised_box, wait_conversation, wait_launches, wait_mirrored, wait_state,
};

#[test]
fn undo_brings_a_removed_session_back_with_its_conversation() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &["--prompt", "first task"]);
    wait_state(&scene, "one", "live");
    let launch = wait_conversation(&scene, "one", 1);
    let id = id_of(&scene, "one");
    say(&scene, &["rm", "one"]);
    let history = say(&scene, &["history"]);
    assert!(history.contains("add one") && history.contains("rm one"), "{history}");

    say(&scene, &["undo"]);
    let again = wait_launches(&scene, "one", 2);
    assert!(again.is_resumed());
    assert_eq!(again.conversation(), launch.conversation());
    assert_ne!(again.prompt(), Some("first task"));
    assert_eq!(id_of(&scene, "one"), id);
    wait_state(&scene, "one", "live");
    // And once more: what `undo` did is undone.
    say(&scene, &["undo"]);
    assert!(names(&scene).is_empty());
    assert!(!again.is_alive());
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn undo_gives_a_name_back_to_its_earlier_holder() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "foo", &["--prompt", "old task"]);
    wait_mirrored(&scene, "foo");
    let old = wait_conversation(&scene, "foo", 1);
    say(&scene, &["rm", "foo"]);
    add_claude(&scene, "foo", &["--prompt", "new task"]);
    let new = wait_launches(&scene, "foo", 2);
    wait_mirrored(&scene, "foo");
    say(&scene, &["undo", "2"]);
    let again = wait_launches(&scene, "foo", 3);
    assert!(again.is_resumed());
    assert_eq!(again.conversation(), old.conversation());
    assert!(!again.has_prompt("new task"));
    assert!(!new.is_alive());
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn undo_of_a_stop_starts_the_session_and_undo_of_an_add_ends_it() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_mirrored(&scene, "one");
    let first = wait_launches(&scene, "one", 1);
    say(&scene, &["stop", "one"]);
    assert!(!first.is_alive());
    say(&scene, &["undo"]);
    let second = wait_launches(&scene, "one", 2);
    assert_eq!(second.conversation(), first.conversation());
    wait_state(&scene, "one", "live");
    add_claude(&scene, "two", &[]);
    let two = wait_launches(&scene, "two", 1);
    say(&scene, &["undo"]);
    assert!(!two.is_alive());
    assert!(second.is_alive());
    assert_eq!(names(&scene), ["one"]);
}

#[test]
fn undo_without_a_supervisor_is_carried_out_by_the_next_one() {
    let (mut scene, supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_mirrored(&scene, "one");
    let first = wait_launches(&scene, "one", 1);
    supervisor.kill();
    say(&scene, &["rm", "one"]);
    say(&scene, &["undo"]);
    assert!(!first.is_alive());
    let _supervisor = supervise(&mut scene);
    let second = wait_launches(&scene, "one", 2);
    assert_eq!(second.conversation(), first.conversation());
    within(1).always("there is one", || scene.stubs().living().len() <= 1);
}

#[test]
fn undo_takes_back_several_changes_and_refuses_more_than_there_were() {
    let scene = quiet_box();
    for name in ["one", "two", "three"] {
        say(&scene, &["add", name, "--agent", "shell"]);
    }
    say(&scene, &["undo", "2"]);
    assert_eq!(names(&scene), ["one"]);
    scene.run(&["undo", "99"]).expect_code(2);
    assert_eq!(names(&scene), ["one"]);
}

#[test]
fn the_last_32_changes_can_be_taken_back_and_no_more() {
    let scene = quiet_box();
    say(&scene, &["add", "one", "--agent", "shell"]);
    for n in 1..=40 {
        say(&scene, &["limits", "one", "--cpu-weight", &n.to_string()]);
    }
    let weight = |scene: &_| registry(scene)["sessions"]["one"]["limits"]["cpuWeight"].clone();
    scene.run(&["undo", "33"]).expect_code(2);
    assert_eq!(weight(&scene), 40);
    say(&scene, &["undo", "32"]);
    assert_eq!(weight(&scene), 8);
}

#[test]
fn repair_after_a_removal_does_not_bring_the_removed_session_back() {
    let (scene, _supervisor) = supervised_box();
    for name in ["stays", "goes"] {
        add_claude(&scene, name, &["--prompt", name]);
        wait_mirrored(&scene, name);
    }
    say(&scene, &["rm", "goes"]);
    crate::scene::put_registry(&scene, "{");
    ask(&scene, &["repair", "--yes"]);
    assert_eq!(names(&scene), ["stays"]);
    assert_eq!(state(&scene, "stays"), "live");
    within(1).always("it stays away", || scene.stubs().launches_of("goes").len() == 1);
    assert!(entry(&scene, "goes").is_null());
}

#[test]
fn parallel_adds_leave_no_hand_edits_in_the_history_and_undo_takes_the_last_one_back() {
    let (scene, _supervisor) = supervised_box();
    for round in 0..3 {
        let adding: Vec<_> = (0..12)
            .map(|n| {
                let name = format!("r{round}-{n}");
                scene.command(&["add", &name, "--agent", "claude", "--prompt", "a task"]).start()
            })
            .collect();
        for one in adding {
            one.wait().expect_success();
        }
    }
    within(25).until("all run", || scene.stubs().launches().len() >= 36);
    for name in names(&scene) {
        wait_mirrored(&scene, &name);
    }
    let history = ask(&scene, &["history"]);
    let by_hand = history.as_array().unwrap().iter().filter(|it| it["kind"] == "hand edit");
    assert_eq!(by_hand.count(), 0, "{history}");
    let last = names(&scene).pop().unwrap();
    let undone = ask(&scene, &["undo"]);
    assert_eq!(undone["removed"], serde_json::json!([last]));
}

#[test]
fn undo_steps_over_a_change_that_left_nothing_to_take_back() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &[]);
    wait_mirrored(&scene, "one");
    crate::scene::edit_registry(&scene, |document| document["note"] = "nothing of ours".into());
    within(10)
        .until("the edit is in the history", || say(&scene, &["history"]).contains("hand edit"));
    let undone = ask(&scene, &["undo"]);
    assert_eq!(undone["removed"], serde_json::json!(["one"]));
    assert!(names(&scene).is_empty());
}
