//! What an agent reads of an event: the frame, and the short facts beside it.

use agent_box_event::{Event, Fence, Frame, Line, Subscription, Untrusted, summary};
use serde_json::{Map, Value};

use crate::inbox::{Delivery, Format};

/// So much event text fits into a batch's message, in bytes.
const BATCH_TEXT: usize = 512 * 1024;
/// The same for one event for a running session.
const SESSION_TEXT: usize = 32 * 1024;

/// Draws the mark of a message.
pub(crate) fn draw() -> Fence {
    // A machine that has no randomness cannot mark a message so that it cannot be forged.
    Fence::new(getrandom::u64().expect("BUG: the kernel gives randomness once it is up"))
}

/// The line of one event.
pub(crate) fn line(delivery: &Delivery, event: &Event<'_>) -> Line {
    match delivery.format {
        Format::GitHub => summary::github(event, &delivery.source),
        Format::Generic => summary::generic(event, &delivery.source),
    }
}

/// One event for a running session, with which delivery it was and which subscription wanted it.
pub(crate) fn text_for_session(
    delivery: &Delivery,
    event: &Event<'_>,
    row: &Subscription,
    now_ms: u64,
    fence: Fence,
) -> String {
    let mut frame = Frame::new(fence);
    let id = Untrusted::new(delivery.id.as_str());
    frame.event(line(delivery, event).say(" (delivery ").show(&id).say(")"));
    frame.trusted(&row.describe(now_ms));
    frame.render(SESSION_TEXT)
}

/// A message as an agent reads it: marked if it may have been seen before.
pub(crate) fn marked(text: &str, is_repeated: bool) -> String {
    let text = text.trim_end_matches('\n');
    if is_repeated {
        format!("[agent-box: this event was sent before and may have been seen]\n{text}")
    } else {
        text.to_owned()
    }
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
    let (source, id) = (&delivery.source, Some(&delivery.id));
    let meta = match delivery.format {
        Format::GitHub => summary::github_meta(event, source, id),
        Format::Generic => summary::generic_meta(event, source, id),
    };
    let member = |(name, value): (&str, String)| (name.to_owned(), Value::String(value));
    Value::Object(meta.into_iter().map(member).collect::<Map<_, _>>())
}
