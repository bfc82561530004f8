//! Deliveries while the session list is damaged, or older than the inbox, or newer.

use std::fs;

use agent_box_testkit::within;

use crate::scene::PROGRAM;
use crate::webhook_box::{WebhookBox, issue, marker};

/// Seen red with a wrapper whose failures are all alike.
#[test]
fn what_comes_while_the_list_is_damaged_starts_once_when_it_is_repaired() {
    let mut the_box = WebhookBox::new(PROGRAM);
    the_box.scene.run(&["add", "main", "--agent", "shell"]).expect_success();
    let _receiver = the_box.serve();
    the_box.watch();
    assert_eq!(the_box.send("issues", "before", &issue("o/q", 1)), Some(200));
    the_box.wait_state("before", "spawned");
    fs::File::create(the_box.scene.registry()).unwrap();
    for number in 2..5 {
        let id = format!("while-{number}");
        assert_eq!(the_box.send("issues", &id, &issue(&format!("o/{number}"), number)), Some(200));
        within(25).until("it waits for the list", || {
            the_box.delivery(&id).is_some_and(|it| it.state.to_string() == "waiting (sessions)")
        });
        let told = the_box.scene.run(&["webhook", "explain", &format!("github/{id}")]);
        let told = told.expect_success().stdout;
        assert!(told.contains("when the session list can be read again"), "{told}");
    }
    the_box.scene.run(&["repair", "--yes"]).expect_success();
    for number in 2..5 {
        the_box.wait_state(&format!("while-{number}"), "spawned");
    }
    let hooks = the_box.hooks();
    assert_eq!(hooks.len(), 4, "{hooks:?}");
    for number in 1..5 {
        let with = hooks.iter().filter(|(_, prompt)| prompt.contains(&marker(number)));
        assert_eq!(with.count(), 1, "{number}");
    }
}

/// Seen red with batches that are numbered on from the copy: they were answered by the claims of
/// others, and no session had their events.
#[test]
fn an_inbox_that_was_put_back_from_a_copy_takes_no_batch_for_another() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let receiver = the_box.serve();
    the_box.watch();
    let _ = receiver.terminate();
    let copy = fs::read(the_box.paths.inbox()).unwrap();
    let receiver = the_box.serve();
    assert_eq!(the_box.send("issues", "lost", &issue("o/r", 1)), Some(200));
    the_box.wait_state("lost", "spawned");
    let _ = receiver.terminate();
    fs::File::create(the_box.paths.inbox())
        .and_then(|mut file| std::io::Write::write_all(&mut file, &copy))
        .unwrap();
    let _receiver = the_box.serve();
    assert_eq!(the_box.send("issues", "new", &issue("o/s", 2)), Some(200));
    the_box.wait_state("new", "spawned");
    let hooks = the_box.hooks();
    assert!(hooks.iter().any(|(_, prompt)| prompt.contains(&marker(2))), "{hooks:?}");
    assert_eq!(hooks.len(), 2, "{hooks:?}");
}
