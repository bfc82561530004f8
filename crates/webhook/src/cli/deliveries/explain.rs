//! The story of a delivery.

use agent_box_event::{DeliveryState, Event, Line, WaitReason, objects_of, print_rfc3339, summary};
use serde_json::{Value, json};

use super::age::{ago, until};
use super::{as_json, name, print, state};
use crate::inbox::{
    BatchState, Delivery, Format, InboxError, Look, Membership, MessageState, PastBatch, Reference,
    Relation, Step, Told,
};
use crate::{Parsed, now_ms};

/// All that is known of one delivery.
#[derive(Debug)]
pub(super) struct Story {
    delivery: Delivery,
    /// What an agent would read of it, and what it is about; nothing once its body is gone.
    says: Option<(Line, Vec<String>)>,
    wanted: Option<Membership>,
    batch: Option<PastBatch>,
    told: Vec<Told>,
    steps: Vec<Step>,
}

pub(super) fn stories(look: &Look, reference: &Reference) -> Result<Vec<Story>, InboxError> {
    let story = |delivery: Delivery| {
        let sequence = delivery.sequence;
        let wanted = look.member(sequence)?;
        let batch = match wanted.as_ref().and_then(|it| it.batch) {
            Some(number) => look.batch(number)?,
            None => None,
        };
        Ok(Story {
            says: look.body(sequence)?.map(|body| says(&delivery, &body)),
            wanted,
            batch,
            told: look.messages_of(sequence)?,
            steps: look.steps(sequence)?,
            delivery,
        })
    };
    look.find(reference)?.into_iter().map(story).collect()
}

/// The event in a line, and its objects.
fn says(delivery: &Delivery, body: &[u8]) -> (Line, Vec<String>) {
    let payload = Parsed(serde_json::from_slice(body).unwrap_or(Value::Null));
    let topic = delivery.topic();
    let event = Event {
        topic: topic.as_ref(),
        kind: &delivery.kind,
        sender: delivery.sender.as_deref(),
        payload: &payload,
    };
    let line = match delivery.format {
        Format::GitHub => summary::github(&event, &delivery.source),
        Format::Generic => summary::generic(&event, &delivery.source),
    };
    let objects = objects_of(&event).iter().map(ToString::to_string).collect();
    (line, objects)
}

pub(super) fn print(stories: &[Story], is_json: bool) {
    if is_json {
        print::json(&stories.iter().map(Story::to_json).collect());
        return;
    }
    let now = now_ms();
    for story in stories {
        story.print(now);
    }
}

impl Story {
    fn print(&self, now: u64) {
        let delivery = &self.delivery;
        let about = delivery.key.as_ref().map_or("nothing that it names", |key| key.as_str());
        let (number, kind) = (delivery.sequence, &delivery.kind);
        print::line(&format!("#{number} {}  {kind} of {about}", name(delivery)));
        let say = |what: &str, text: String| print::line(&format!("  {what:<10}  {text}"));
        let at = |ms: u64| format!("{}, {}", print_rfc3339(ms), ago(now, ms));
        say("state", state(delivery));
        say("next", self.next(now));
        say("received", format!("{}, {} bytes", at(delivery.received_ms), delivery.size));
        say("sender", delivery.sender.clone().unwrap_or_else(|| "not named".to_owned()));
        match &self.says {
            None => say("says", "its body is not kept any more".to_owned()),
            Some((line, objects)) => {
                print::event(&format!("  {:<10}  ", "says"), line);
                if !objects.is_empty() {
                    say("objects", objects.join(", "));
                }
            }
        }
        if delivery.is_id_ours {
            say("id", "made here, since the sender gave none".to_owned());
        }
        if let Some(relation) = relation(delivery.relation) {
            say("relation", relation);
        }
        if let Some(last) = delivery.duplicate_ms {
            say("duplicates", format!("{}, the last {}", delivery.duplicates, ago(now, last)));
        }
        if let Some(wanted) = &self.wanted {
            let note = wanted.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            say("watch", format!("{}{note}", wanted.watch));
        }
        if let Some(batch) = &self.batch {
            say("batch", batch_text(batch, now));
        }
        for told in &self.told {
            say("session", told_text(told, now));
        }
        for step in &self.steps {
            let detail = step.detail.as_deref().unwrap_or_default();
            let line = format!("  {}  {:<9}  {detail}", print_rfc3339(step.at_ms), step.word);
            print::line(line.trim_end());
        }
    }

    /// What will happen, or what can be done.
    fn next(&self, now: u64) -> String {
        let replay = format!("`agent-box webhook replay {}` asks again", self.delivery.sequence);
        let open = self.delivery.settled_ms.is_none();
        let text = match &self.delivery.state {
            DeliveryState::Received => {
                "the receiver looks at it as soon as it runs and can read filters and sessions"
            }
            DeliveryState::Waiting(WaitReason::Cap) => {
                "it starts when a hook session is gone; `agent-box ls` lists them"
            }
            DeliveryState::Waiting(WaitReason::Window) => {
                "it starts when the time between two batches of its topic is over"
            }
            DeliveryState::Waiting(WaitReason::Claim) => {
                "it starts when the session that works on the same thing is gone, \
                 or is dropped if that one gets it"
            }
            DeliveryState::Waiting(WaitReason::Budget) => {
                "it starts when the day's budget allows one more"
            }
            DeliveryState::Waiting(WaitReason::Retry) => {
                let at = self.batch.as_ref().map_or(0, |batch| batch.not_before_ms);
                return format!("the wrapper is tried again {}", until(now, at));
            }
            DeliveryState::Waiting(WaitReason::Sessions) => {
                "it starts when the session list can be read again; `agent-box status` says what \
                 is wrong with it"
            }
            DeliveryState::Matched if self.is_frozen() => "the wrapper starts a session for it",
            DeliveryState::Waiting(WaitReason::Session) => {
                "it waits for its session; `agent-box webhook read` shows it there"
            }
            DeliveryState::Matched => "what wanted it is being looked up",
            DeliveryState::Failed(_) if open => "other parts of it are still on their way",
            DeliveryState::Failed(_) | DeliveryState::Declined(_) => return replay,
            DeliveryState::Duplicate | DeliveryState::Delivered(_) | DeliveryState::Spawned(_) => {
                "nothing; it is done"
            }
        };
        text.to_owned()
    }

    fn is_frozen(&self) -> bool {
        self.batch.as_ref().is_some_and(|batch| batch.state == BatchState::Frozen)
    }

    fn to_json(&self) -> Value {
        let mut json = as_json(&self.delivery);
        let batch = self.batch.as_ref().map(|batch| {
            let (state, session) = match &batch.state {
                BatchState::Frozen => ("frozen", None),
                BatchState::Settled(answer) => ("settled", Some(answer)),
                BatchState::Deferred => ("deferred", None),
                BatchState::Parked(_) => ("parked", None),
            };
            json!({
                "id": batch.id.to_string(),
                "state": state,
                "attempts": batch.attempts,
                "frozenAt": print_rfc3339(batch.frozen_ms),
                "attemptedAt": batch.attempted_ms.map(print_rfc3339),
                "endedAt": batch.ended_ms.map(print_rfc3339),
                "sessionId": session.map(|it| &it.session_id),
                "sessionName": session.map(|it| &it.name),
            })
        });
        let told = self.told.iter().map(|told| {
            json!({
                "key": told.session.key,
                "sessionId": told.session.session_id,
                "state": told.state.as_str(),
                "times": told.times,
                "enqueuedAt": print_rfc3339(told.enqueued_ms),
                "toldAt": told.told_ms.map(print_rfc3339),
            })
        });
        let steps = self.steps.iter().map(|step| {
            json!({ "at": print_rfc3339(step.at_ms), "word": step.word, "detail": step.detail })
        });
        json["summary"] = json!(self.says.as_ref().map(|it| it.0.as_str()));
        json["objects"] = json!(self.says.as_ref().map(|it| &it.1));
        json["watch"] = json!(self.wanted.as_ref().map(|it| &it.watch));
        json["note"] = json!(self.wanted.as_ref().and_then(|it| it.note.as_ref()));
        json["batch"] = json!(batch);
        json["sessions"] = told.collect();
        json["steps"] = steps.collect();
        json
    }
}

fn relation(relation: Relation) -> Option<String> {
    match relation {
        Relation::New => None,
        Relation::OtherBody(of) => Some(format!("same id as #{of}, which has another body")),
        Relation::SameContent(of) => Some(format!("same content as #{of}, which has another id")),
        Relation::Replay(of) => Some(format!("replay of #{of}")),
    }
}

fn batch_text(batch: &PastBatch, now: u64) -> String {
    let attempts = match batch.attempts {
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    };
    let became = match &batch.state {
        BatchState::Frozen => "on its way".to_owned(),
        BatchState::Settled(answer) => format!("session {} ({})", answer.name, answer.session_id),
        BatchState::Deferred => "deferred".to_owned(),
        BatchState::Parked(why) => format!("given up: {why}"),
    };
    format!("{}, frozen {}, {attempts}, {became}", batch.id, ago(now, batch.frozen_ms))
}

fn told_text(told: &Told, now: u64) -> String {
    let key = &told.session.key;
    let id = told.session.session_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    let became = match (told.state, told.told_ms) {
        (MessageState::Waiting, None) => "waits, not told yet".to_owned(),
        (MessageState::Waiting, Some(at)) => {
            let times = match told.times {
                0 => "offered ".to_owned(),
                1 => "told once, ".to_owned(),
                more => format!("told {more} times, the last "),
            };
            format!("{times}{}, not acknowledged", ago(now, at))
        }
        (MessageState::Acknowledged, _) => "acknowledged".to_owned(),
        (MessageState::LeftOut, _) => "left out, since its queue was full".to_owned(),
        (MessageState::Gone, _) => "gone before it was told".to_owned(),
    };
    format!("{key}{id}: {became}")
}
