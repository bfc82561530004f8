//! Deliveries from their answer to a working session, on the real receiver, wrapper, supervisor,
//! tmux and stub agents.

use agent_box_testkit::within;
use serde_json::json;

use crate::scene::{PROGRAM, entry, supervise, wait_launches, wait_state};
use crate::webhook_box::{WebhookBox, issue, marker};

/// The seed story. Seen red with a batch whose text has lost its events.
#[test]
fn a_delivery_while_the_supervisor_is_down_becomes_one_session_with_the_whole_prompt() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    the_box.watch();
    let failing = json!({
        "action": "completed",
        "workflow_run": {
            "id": 99, "name": "nightly build", "conclusion": "failure", "status": "completed",
            "head_branch": "main", "head_sha": "abc", "event": "push",
            "html_url": "https://github.com/o/r/actions/runs/99",
            "head_repository": { "full_name": "o/r" },
        },
        "repository": { "full_name": "o/r" },
        "sender": { "login": "joe" },
    });
    assert_eq!(the_box.send("workflow_run", "run-99", &failing), Some(200));
    the_box.wait_state("run-99", "spawned");
    let hooks = the_box.hooks();
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    let (name, prompt) = &hooks[0];
    for part in ["standing watch", "look", "nightly build", "failure", "BEGIN UNTRUSTED"] {
        assert!(prompt.contains(part), "{part} is missing in: {prompt}");
    }
    assert_eq!(entry(&the_box.scene, name)["hasRun"], false);

    let _supervisor = supervise(&mut the_box.scene);
    wait_state(&the_box.scene, name, "live");
    let launch = wait_launches(&the_box.scene, name, 1);
    assert!(launch.has_prompt(prompt), "{:?}", launch.prompt());
    within(10).until("its first launch is mirrored", || {
        let entry = entry(&the_box.scene, name);
        entry["hasRun"] == true && entry["initialPrompt"].is_null()
    });
    assert_eq!(the_box.send("workflow_run", "run-99", &failing), Some(200), "a retry");
    assert_eq!(the_box.hooks().len(), 1);
    assert_eq!(the_box.scene.stubs().launches().len(), 1);
    assert_eq!(the_box.delivery("run-99").unwrap().duplicates, 1);
    let story = the_box.scene.run(&["webhook", "explain", "run-99"]).expect_success().stdout;
    for part in ["github:o/*", "matched", "frozen", "attempt 1", "spawned", name] {
        assert!(story.contains(part), "{part} is missing in: {story}");
    }
}

/// Case C15. Seen red with a queue that is filled by name.
#[test]
fn a_successor_of_the_same_name_gets_nothing_that_was_meant_for_the_removed_session() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let receiver = the_box.serve();
    let run = |the_box: &WebhookBox, words: &[&str]| the_box.scene.run(words).expect_success();
    let subscribed = |the_box: &WebhookBox| {
        run(the_box, &["add", "x", "--agent", "shell"]);
        run(the_box, &["webhook", "subscribe", "o/r", "--session", "x"]);
    };
    subscribed(&the_box);
    assert_eq!(the_box.send("issues", "first", &issue("o/r", 1)), Some(200));
    the_box.wait_queued("first");
    // The receiver is away, so that it never sees the name free: only the successor.
    let _ = receiver.kill();
    run(&the_box, &["rm", "x"]);
    subscribed(&the_box);
    let _receiver = the_box.serve();
    assert_eq!(the_box.send("issues", "second", &issue("o/r", 2)), Some(200));
    the_box.wait_queued("second");
    let read = || run(&the_box, &["webhook", "read", "--session", "x"]).stdout;
    let text = read();
    assert!(text.contains(&marker(2)) && !text.contains(&marker(1)), "{text}");
    assert_eq!(read(), "no events wait\n");
    the_box.wait_state("second", "delivered");
    within(10)
        .until("the first is settled", || the_box.delivery("first").unwrap().state.is_settled());
}

/// Seen red with a daemon that hands out nothing to readers.
#[test]
fn a_subscribed_shell_session_reads_its_event_in_its_own_terminal() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    let _supervisor = supervise(&mut the_box.scene);
    let scene = &the_box.scene;
    scene.run(&["add", "x", "--agent", "shell", "--cwd", "."]).expect_success();
    wait_state(scene, "x", "live");
    let subscribe = format!("{PROGRAM} webhook subscribe o/r --note mine");
    scene.tmux().type_line("x", &subscribe);
    within(20).until("it is subscribed", || the_box.paths.filter(Some(&the_box.key("x"))).exists());
    assert_eq!(the_box.send("issues", "d", &issue("o/r", 7)), Some(200));
    the_box.wait_queued("d");
    scene.tmux().type_line("x", &format!("clear; {PROGRAM} webhook read"));
    within(20).until("it shows the event", || scene.tmux().screen("x").contains("marker-7"));
    the_box.wait_state("d", "delivered");
    scene.tmux().type_line("x", &format!("clear; {PROGRAM} webhook read"));
    within(20).until("nothing waits", || scene.tmux().screen("x").contains("no events wait"));
}

/// Seen red with claims that are not asked before a batch is frozen.
#[test]
fn a_second_event_about_what_a_session_works_on_goes_to_that_session() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    the_box.watch();
    assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200));
    the_box.wait_state("one", "spawned");
    let (name, _) = the_box.hooks().remove(0);
    assert_eq!(the_box.send("issues", "again", &issue("o/r", 1)), Some(200));
    assert_eq!(the_box.send("issues", "other", &issue("o/r", 2)), Some(200));
    within(20).until("the other has a session of its own", || the_box.hooks().len() == 2);
    assert_eq!(the_box.delivery("again").unwrap().state.to_string(), "waiting (claim)");
    // Taken by the session that works on it: nobody is started for it any more.
    let scene = &the_box.scene;
    let text = scene.run(&["webhook", "read", "--session", &name]).expect_success().stdout;
    assert!(text.contains(&marker(1)), "{text}");
    the_box.wait_state("again", "delivered");
    within(10).until("it does not wait in its lane", || {
        let sequence = the_box.delivery("again").unwrap().sequence;
        let member = the_box.inbox().look(|look| look.member(sequence)).unwrap();
        member.is_none_or(|member| member.reason.is_none())
    });
    assert_eq!(the_box.hooks().len(), 2);
}

/// Seen red with a claim that settles the event at once.
#[test]
fn an_event_that_its_owner_never_took_starts_a_session_once_the_owner_is_gone() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let _receiver = the_box.serve();
    the_box.watch();
    assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200));
    the_box.wait_state("one", "spawned");
    let (owner, _) = the_box.hooks().remove(0);
    assert_eq!(the_box.send("issues", "again", &issue("o/r", 1)), Some(200));
    the_box.wait_state("again", "waiting");
    the_box.scene.run(&["rm", &owner]).expect_success();
    the_box.wait_state("again", "spawned");
    let hooks = the_box.hooks();
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    assert_ne!(hooks[0].0, owner);
}

/// What a newcomer runs. Seen red with an `up` that starts no receiver.
#[test]
fn up_takes_deliveries_in_beside_the_supervisor_and_ends_both() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let mut up = the_box.scene.supervise(&["up"]);
    up.wait_ready();
    the_box.watch();
    within(20).until("deliveries are taken", || {
        the_box.send("issues", "one", &issue("o/r", 1)) == Some(200)
    });
    the_box.wait_state("one", "spawned");
    let (name, _) = the_box.hooks().remove(0);
    wait_state(&the_box.scene, &name, "live");
    up.terminate().expect_success();
    assert_eq!(the_box.send("issues", "two", &issue("o/r", 2)), None, "nobody listens any more");
    assert!(wait_launches(&the_box.scene, &name, 1).is_alive(), "the session goes on");
}
