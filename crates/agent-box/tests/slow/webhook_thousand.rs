//! A thousand deliveries through a small cap, with the receiver killed three times on the way.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use agent_box_testkit::{Deadline, Running, within};

use crate::webhook_box::{WebhookBox, issue};

const PROGRAM: &str = env!("CARGO_BIN_EXE_agent-box");
const DELIVERIES: u64 = 1000;
const REPOSITORIES: u64 = 40;

/// Notes the prompt that it was started with, once for each start, and removes itself.
const AGENT: &str = r#"#!/bin/sh
for prompt; do :; done
note=$(mktemp "$HOME/prompts/XXXXXXXXXX")
printf '%s' "$prompt" > "$note"
exec "$HOME/agent-box" rm "$AGENT_BOX_SESSION_NAME"
"#;

/// Every event is read by exactly one agent, never more than four sessions are there, and nothing
/// is left over. Seen red with a start that does not run frozen batches again.
#[test]
fn a_thousand_deliveries_with_cap_4_and_three_crashes_are_each_worked_on_once() {
    let mut the_box = WebhookBox::new(PROGRAM);
    let home = the_box.scene.home().to_owned();
    fs::create_dir(home.join("prompts")).unwrap();
    std::os::unix::fs::symlink(PROGRAM, home.join("agent-box")).unwrap();
    the_box.scene.put("quitter", AGENT);
    fs::set_permissions(home.join("quitter"), fs::Permissions::from_mode(0o700)).unwrap();
    the_box
        .scene
        .set("AGENT_BOX_AGENT_BINS", format!("quitter={}", home.join("quitter").display()));
    the_box.scene.set("AGENT_BOX_DEFAULT_AGENT", "quitter");
    the_box.scene.set("AGENT_BOX_HOOK_SESSION_MAX", "4");
    let mut supervisor = the_box.scene.supervise(&["supervise"]);
    supervisor.wait_ready();
    let first = serve(&the_box);
    the_box.watch();

    let mut most = 0;
    let the_box = &the_box;
    let receiver = thread::scope(|scope| {
        let mut receiver = first;
        let senders: Vec<_> = (0..4).map(|from| scope.spawn(move || send(the_box, from))).collect();
        for crash in 1..=3 {
            wait_spawned(the_box, crash * DELIVERIES / 5, &mut most);
            let _ = receiver.kill();
            receiver = serve(the_box);
        }
        for sender in senders {
            sender.join().unwrap();
        }
        receiver
    });
    wait_spawned(the_box, DELIVERIES, &mut most);
    within(60).until("every agent has removed itself", || the_box.hooks().is_empty());
    assert!((1..=4).contains(&most), "there were {most} sessions at once");

    let mut read: BTreeMap<u64, usize> = BTreeMap::new();
    for note in fs::read_dir(home.join("prompts")).unwrap() {
        let prompt = fs::read_to_string(note.unwrap().path()).unwrap();
        for text in prompt.split("marker-").skip(1) {
            let number = text.split("-end").next().unwrap().parse().unwrap();
            *read.entry(number).or_default() += 1;
        }
    }
    let expected: BTreeMap<u64, usize> = (0..DELIVERIES).map(|number| (number, 1)).collect();
    assert_eq!(read, expected, "0 lost, 0 doubled");
    let _ = receiver.kill();
}

/// A sender that tries again with the same id when the receiver does not answer.
fn send(the_box: &WebhookBox, from: u64) {
    for number in (from..DELIVERIES).step_by(4) {
        let payload = issue(&format!("o/r{}", number % REPOSITORIES), number);
        let id = format!("d-{number}");
        let is_answered = || the_box.send("issues", &id, &payload) == Some(200);
        within(60).until(&format!("{id} is answered"), is_answered);
    }
}

/// Starts a receiver and waits until it takes connections.
fn serve(the_box: &WebhookBox) -> Running {
    let mut receiver = the_box.scene.command(&["webhook", "serve"]).start();
    within(20).until("the receiver is there", || {
        assert!(!receiver.has_ended(), "{}", receiver.output());
        UnixStream::connect(the_box.paths.ingress()).is_ok()
    });
    receiver
}

/// Waits until so many deliveries have their session; notes the most hook sessions that were
/// listed at once.
fn wait_spawned(the_box: &WebhookBox, count: u64, most: &mut usize) {
    Deadline::after(Duration::from_mins(15)).until(&format!("{count} are spawned"), || {
        *most = (*most).max(the_box.hooks().len());
        let all = the_box.deliveries();
        all.iter().filter(|it| it.state.as_str() == "spawned").count() as u64 >= count
    });
}
