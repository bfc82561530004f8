//! The hook that claude calls when a turn begins or ends: waiting events are handed over then.
//!
//! A hook must never get in the way of the agent: whatever is wrong, nothing is printed and the
//! exit code is 0, and the events wait on. What was printed is acknowledged, in this order.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use agent_box_session::env;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::cli::Context;
use crate::peers::wire::{Hello, Role};
use crate::peers::{Client, Reading, shown};

/// The agent waits for the hook; this is all that it waits.
const DEADLINE: Duration = Duration::from_secs(2);
/// So many events are handed over at most, and so many bytes: claude cuts longer outputs of
/// hooks (seen: 10,000 characters). One event is handed over whatever its length.
const MOST: usize = 20;
const MOST_BYTES: usize = 9_000;
/// More than this on standard input is not claude's.
const MOST_INPUT: u64 = 16 * 1024 * 1024;

/// When the hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The user, or somebody for him, begins a turn.
    Begin,
    /// The agent ends one.
    End,
    /// Another, or an end that a hook has kept going once already: only a sign of life.
    Other,
}

/// Hands over what waits for the session that calls. Returns when it is done or gives up.
pub fn turn(context: &Context) {
    let work = async {
        let input = tokio::task::spawn_blocking(read_input).await.ok()?;
        hand_over(context, moment(&input?)).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        let _ = runtime.block_on(async { timeout(DEADLINE, work).await });
        // A standard input that never ends must not keep the agent.
        runtime.shutdown_background();
    }
}

/// All of it, before anything else: claude waits for its pipe to be read.
fn read_input() -> Option<Value> {
    let mut text = Vec::new();
    std::io::stdin().lock().take(MOST_INPUT).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn moment(input: &Value) -> Moment {
    match input["hook_event_name"].as_str() {
        Some("UserPromptSubmit") => Moment::Begin,
        Some("Stop") if input["stop_hook_active"] != Value::Bool(true) => Moment::End,
        _ => Moment::Other,
    }
}

async fn hand_over(context: &Context, moment: Moment) -> Option<()> {
    let hello = Hello {
        key: context.key()?,
        session_id: context.text(env::SESSION_UUID).map(str::to_owned),
        pid: std::process::id(),
        role: Role::Reader,
        after: None,
    };
    let mut client = Client::connect(&context.paths.peers(), hello).await.ok()?;
    if moment == Moment::Other {
        return Some(());
    }
    let reading = client.read(MOST).await.ok()?;
    let (text, last) = compose(reading)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", answer(moment, &text)).and_then(|()| out.flush()).ok()?;
    drop(out);
    client.acknowledge(last?).await.ok()?;
    client.settled().await.ok()
}

/// The text, and the last message that is in it.
fn compose(mut reading: Reading) -> Option<(String, Option<u64>)> {
    let (mut parts, mut bytes, mut last) = (Vec::new(), 0, None);
    for message in &reading.messages {
        let part = shown(message);
        bytes += part.len();
        if bytes > MOST_BYTES && last.is_some() {
            reading.waiting += (reading.messages.len() - parts.len()) as u64;
            break;
        }
        last = Some(message.seq);
        parts.push(part);
    }
    parts.extend(reading.remarks());
    (!parts.is_empty()).then(|| (parts.join("\n"), last))
}

fn answer(moment: Moment, text: &str) -> Value {
    if moment == Moment::End {
        return json!({ "decision": "block", "reason": text });
    }
    let output = json!({ "hookEventName": "UserPromptSubmit", "additionalContext": text });
    json!({ "hookSpecificOutput": output })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::wire::Message;

    #[test]
    fn a_turn_is_kept_going_once_and_only_by_its_end() {
        let check =
            |input: Value, expected: Moment| assert_eq!(moment(&input), expected, "{input}");
        check(json!({"hook_event_name": "UserPromptSubmit"}), Moment::Begin);
        check(json!({"hook_event_name": "Stop"}), Moment::End);
        check(json!({"hook_event_name": "Stop", "stop_hook_active": false}), Moment::End);
        check(json!({"hook_event_name": "Stop", "stop_hook_active": true}), Moment::Other);
        check(json!({"hook_event_name": "SubagentStop"}), Moment::Other);
        check(json!([]), Moment::Other);
        assert_eq!(answer(Moment::End, "x"), json!({"decision": "block", "reason": "x"}));
        let begin = json!({"hookSpecificOutput":
            {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}});
        assert_eq!(answer(Moment::Begin, "x"), begin);
    }

    #[test]
    fn what_does_not_fit_is_not_acknowledged_and_said() {
        let message =
            |seq, bytes| Message { seq, content: "x".repeat(bytes), ..Message::default() };
        let compose = |sizes: &[usize], waiting| {
            let messages = (1..).zip(sizes).map(|(seq, bytes)| message(seq, *bytes)).collect();
            compose(Reading { messages, waiting, left_out: 0 })
        };
        assert_eq!(compose(&[], 0), None);
        let (text, last) = compose(&[MOST_BYTES / 2, MOST_BYTES / 2, 1], 4).unwrap();
        assert_eq!(last, Some(2));
        assert!(
            text.ends_with("5 more events wait; `agent-box webhook read` shows them"),
            "{text}"
        );
        assert_eq!(compose(&[5 * MOST_BYTES, 1], 0).unwrap().1, Some(1), "one at least");
    }
}
