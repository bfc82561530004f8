//! The hook that claude calls when a turn begins or ends, as claude calls it.

use agent_box_testkit::{Finished, Running, within};
use serde_json::{Value, json};

use crate::scene::{PROGRAM, id_of, parse};
use crate::webhook_box::{WebhookBox, issue, marker};

fn start(the_box: &WebhookBox, input: &Value) -> Running {
    let command = the_box.scene.command(&["hook", "turn"]);
    let command = command.env("AGENT_BOX_SESSION_UUID", id_of(&the_box.scene, "x"));
    let command = command.env("LOCAL_WEBHOOK_SESSION", the_box.key("x"));
    command.stdin(input.to_string()).start()
}

fn turn(the_box: &WebhookBox, input: &Value) -> Finished {
    start(the_box, input).wait().expect_success()
}

fn subscribed() -> WebhookBox {
    let the_box = WebhookBox::new(PROGRAM);
    the_box.scene.run(&["add", "x", "--agent", "shell"]).expect_success();
    the_box.scene.run(&["webhook", "subscribe", "o/r", "--session", "x"]).expect_success();
    the_box
}

/// Seen red with a hook that keeps a turn going twice.
#[test]
fn what_waits_is_handed_over_when_a_turn_begins_and_keeps_one_going_once() {
    let mut the_box = subscribed();
    let _receiver = the_box.serve();
    let begin = json!({"hook_event_name": "UserPromptSubmit", "prompt": "hi"});
    let end = json!({"hook_event_name": "Stop", "stop_hook_active": false});
    let end_again = json!({"hook_event_name": "Stop", "stop_hook_active": true});
    for input in [&begin, &end, &end_again] {
        assert_eq!(turn(&the_box, input).stdout, "", "nothing waits");
    }
    let send = |number| {
        let id = format!("d-{number}");
        assert_eq!(the_box.send("issues", &id, &issue("o/r", number)), Some(200));
        the_box.wait_queued(&id);
    };
    send(1);
    assert_eq!(turn(&the_box, &end_again).stdout, "", "it waits for the next turn");
    let said = parse(&turn(&the_box, &begin));
    assert_eq!(said["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    let text = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains(&marker(1)) && !text.contains("sent before"), "{text}");
    the_box.wait_state("d-1", "delivered");
    assert_eq!(turn(&the_box, &begin).stdout, "", "once");
    send(2);
    let said = parse(&turn(&the_box, &end));
    assert_eq!(said["decision"], "block");
    assert!(said["reason"].as_str().unwrap().contains(&marker(2)), "{said}");
    the_box.wait_state("d-2", "delivered");
}

/// Seen red without the deadline.
#[test]
fn a_receiver_that_is_gone_or_hangs_keeps_no_agent() {
    let mut the_box = subscribed();
    let begin = json!({"hook_event_name": "UserPromptSubmit"});
    let finished = turn(&the_box, &begin);
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("", ""), "nobody listens");
    let receiver = the_box.serve();
    receiver.freeze();
    let mut hook = start(&the_box, &begin);
    within(8).until("the hook has given up", || hook.has_ended());
    let finished = hook.wait().expect_success();
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("", ""));
    receiver.thaw();
}
