//! What an agent reads of an event: the frame, and the short facts beside it.

use agent_box_event::{Cut, Event, Fence, Frame, Line, Subscription, Untrusted, sanitize};
use serde_json::{Map, Value};

use crate::inbox::Delivery;

/// So much event text fits into a batch's message, in bytes.
const BATCH_TEXT: usize = 512 * 1024;
/// The same for one event for a running session.
const SESSION_TEXT: usize = 32 * 1024;

/// One line about an event.
fn summary(event: &Event<'_>) -> Line {
    let topic = event.topic.expect("BUG: an event without a topic reaches nobody");
    let line = Line::new(topic.source()).show(&Untrusted::new(event.kind));
    line.say(" for ").show(&Untrusted::new(topic.key().as_str()))
}

/// Draws the mark of a message.
pub(crate) fn draw() -> Fence {
    // A machine that has no randomness cannot mark a message so that it cannot be forged.
    Fence::new(getrandom::u64().expect("BUG: the kernel gives randomness once it is up"))
}

/// One event, with the line that says which subscription wanted it.
pub(crate) fn text_for_session(
    event: &Event<'_>,
    row: &Subscription,
    now_ms: u64,
    fence: Fence,
) -> String {
    let mut frame = Frame::new(fence);
    frame.event(summary(event));
    frame.trusted(&row.describe(now_ms));
    frame.render(SESSION_TEXT)
}

/// The line of one event of a batch, and how much of its message it takes.
pub(crate) fn line_for_batch(event: &Event<'_>) -> Line {
    summary(event)
}

/// A batch's events, oldest first.
pub(crate) fn text_for_batch(lines: Vec<Line>, fence: Fence) -> String {
    let mut frame = Frame::new(fence);
    for line in lines {
        frame.event(line);
    }
    frame.render(BATCH_TEXT)
}

/// That events were left out, in the box's own words.
pub(crate) fn text_of_left_out(count: u64, fence: Fence) -> String {
    let mut frame = Frame::new(fence);
    frame.trusted(&format!(
        "{count} more events were left out, because too many waited; \
         `agent-box webhook deliveries` lists them"
    ));
    frame.render(SESSION_TEXT)
}

/// The short facts beside an event: names of letters, digits and `_`, values of one line.
pub(crate) fn meta_of(delivery: &Delivery, event: &Event<'_>) -> Value {
    let mut meta = Map::new();
    let mut put = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let value = Untrusted::new(value);
            let plain = sanitize(value.for_decisions(), Cut::VALUE);
            meta.insert(name.to_owned(), Value::String(plain));
        }
    };
    put("event", Some(&delivery.kind));
    put("source", Some(delivery.source.as_str()));
    put("delivery", Some(delivery.id.as_str()));
    let key = delivery.key.as_ref().map(agent_box_event::EventKey::as_str);
    if delivery.format == crate::inbox::Format::GitHub {
        put("repo", key);
        put("sender", delivery.sender.as_deref());
        put("action", event.text("action"));
        put("ref", event.text("ref"));
        for kind in ["workflow_run", "workflow_job", "check_run", "check_suite"] {
            put("status", event.text(&format!("{kind}.status")));
            put("conclusion", event.text(&format!("{kind}.conclusion")));
        }
        put("state", event.text("review.state").or_else(|| event.text("state")));
        let number = ["pull_request.number", "issue.number", "number"];
        let number = number.into_iter().find_map(|path| event.number(path));
        put("number", number.map(|it| it.to_string()).as_deref());
    } else {
        put("key", key);
    }
    Value::Object(meta)
}
