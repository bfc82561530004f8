//! What the receiver and the spawn wrapper agree on: exit codes, variables, and the JSON that the
//! wrapper prints and keeps. Names stand here once; both sides and the documentation use them.

mod asker;
mod status;

use thiserror::Error;

use crate::{BatchId, Cut, EventKey, Json, Number, Object, Source, sanitize};

pub use asker::Asker;
pub use status::{SessionStatus, Status, Told};

/// Exit code: the batch has its session, now or since an earlier run.
pub const ACCEPTED: i32 = 0;
/// Exit code: the box is full; ask again.
pub const DEFERRED: i32 = 75;
/// Exit code: the session list cannot be read or written now, which says nothing about the batch;
/// nothing was changed. Every other code is a failure.
pub const UNREADABLE: i32 = 74;

/// Variable: the source of the batch.
pub const SPAWN_SOURCE: &str = "LOCAL_WEBHOOK_SPAWN_SOURCE";
/// Variable: the events' key.
pub const SPAWN_KEY: &str = "LOCAL_WEBHOOK_SPAWN_KEY";
/// Variable: the pattern of the watch that wanted it.
pub const SPAWN_TOPIC: &str = "LOCAL_WEBHOOK_SPAWN_TOPIC";
/// Variable: the watch's note.
pub const SPAWN_NOTE: &str = "LOCAL_WEBHOOK_SPAWN_NOTE";
/// Variable: how many events.
pub const SPAWN_COUNT: &str = "LOCAL_WEBHOOK_SPAWN_COUNT";
/// Variable: the batch's id.
pub const BATCH_ID: &str = "AGENT_BOX_BATCH_ID";
/// Variable: the receiver's lowest unsettled batch; claims below it are pruned.
pub const BATCH_LOWEST: &str = "AGENT_BOX_BATCH_LOWEST";
/// Variable: `1` if an event of the batch assigns something to this box.
pub const BATCH_ASSIGNED: &str = "AGENT_BOX_BATCH_ASSIGNED";
/// Variable: what the events are about, one object in a line.
pub const BATCH_OBJECTS: &str = "AGENT_BOX_BATCH_OBJECTS";
/// Variable: the receiver's process; a wrapper whose receiver is gone changes nothing.
pub const BATCH_ASKER: &str = "AGENT_BOX_BATCH_ASKER";

/// Registry: the top-level object that maps batch ids to session ids.
pub const CLAIMED_BATCHES: &str = "claimedBatches";

/// What the receiver asks for; the events' text comes on standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Absent when somebody runs the wrapper by hand: then nothing is claimed.
    pub batch: Option<BatchId>,
    /// With what claims are pruned.
    pub lowest: Option<BatchId>,
    /// Who sent the events.
    pub source: Option<Source>,
    /// What they are about.
    pub key: Option<EventKey>,
    /// The watch that wanted them, as it is written.
    pub topic: Option<String>,
    /// The watch's note.
    pub note: Option<String>,
    /// How many events.
    pub count: u64,
    /// Whether one of them assigns something to this box, by its fields and not by its text.
    pub is_assigned: bool,
    /// What the events are about, inside the topic.
    pub objects: Vec<Object>,
    /// Who asks; absent when somebody runs the wrapper by hand.
    pub asker: Option<Asker>,
}

/// Why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{variable}: {reason}; only the receiver should set it")]
pub struct RequestError {
    variable: &'static str,
    reason: String,
}

impl Request {
    /// The variables to set; whatever else the wrapper's environment holds is not part of this.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let line = |text: &String| sanitize(text, Cut::NONE);
        let given = [
            (BATCH_ID, self.batch.as_ref().map(BatchId::to_string)),
            (BATCH_LOWEST, self.lowest.as_ref().map(BatchId::to_string)),
            (SPAWN_SOURCE, self.source.as_ref().map(Source::to_string)),
            (SPAWN_KEY, self.key.as_ref().map(|key| key.as_str().to_owned())),
            (SPAWN_TOPIC, self.topic.as_ref().map(line)),
            (SPAWN_NOTE, self.note.as_ref().map(line)),
            (SPAWN_COUNT, Some(self.count.to_string())),
            (BATCH_ASSIGNED, self.is_assigned.then(|| "1".to_owned())),
            (BATCH_OBJECTS, (!self.objects.is_empty()).then(|| objects_text(&self.objects))),
            (BATCH_ASKER, self.asker.as_ref().map(Asker::to_string)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Reads the variables; unset and empty ones are absent.
    pub fn read(variable: impl Fn(&'static str) -> Option<String>) -> Result<Self, RequestError> {
        let given = |name| variable(name).filter(|value| !value.is_empty());
        let count = given(SPAWN_COUNT).map(|text| text.parse::<u64>());
        Ok(Self {
            batch: parsed(BATCH_ID, given(BATCH_ID).map(|it| BatchId::parse(&it)))?,
            lowest: parsed(BATCH_LOWEST, given(BATCH_LOWEST).map(|it| BatchId::parse(&it)))?,
            source: parsed(SPAWN_SOURCE, given(SPAWN_SOURCE).map(|it| Source::parse(&it)))?,
            key: parsed(SPAWN_KEY, given(SPAWN_KEY).map(|it| EventKey::parse(&it)))?,
            topic: given(SPAWN_TOPIC),
            note: given(SPAWN_NOTE),
            count: parsed(SPAWN_COUNT, count)?.unwrap_or_default(),
            is_assigned: given(BATCH_ASSIGNED).as_deref() == Some("1"),
            objects: parsed(BATCH_OBJECTS, given(BATCH_OBJECTS).map(|it| read_objects(&it)))?
                .unwrap_or_default(),
            asker: parsed(
                BATCH_ASKER,
                given(BATCH_ASKER).map(|it| Asker::parse(&it).ok_or("it names no process")),
            )?,
        })
    }
}

/// As many as an environment can hold without trouble; a batch of so many has no one subject.
const MOST_OBJECTS: usize = 200;

fn objects_text(objects: &[Object]) -> String {
    let line = |object: &Object| sanitize(&object.to_string(), Cut::VALUE);
    objects.iter().take(MOST_OBJECTS).map(line).collect::<Vec<_>>().join("\n")
}

fn read_objects(text: &str) -> Result<Vec<Object>, &'static str> {
    text.lines().map(|line| Object::parse(line).ok_or("it names no object")).collect()
}

fn parsed<T, E: ToString>(
    variable: &'static str,
    value: Option<Result<T, E>>,
) -> Result<Option<T>, RequestError> {
    let refused = |error: E| RequestError { variable, reason: error.to_string() };
    value.transpose().map_err(refused)
}

/// What the wrapper prints on [`ACCEPTED`]; a repeated run prints the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The session's id.
    pub session_id: String,
    /// The session's name.
    pub name: String,
}

impl Answer {
    const SESSION_ID: &'static str = "sessionId";
    const NAME: &'static str = "name";

    /// The answer as it is printed.
    pub fn to_json(&self) -> Json {
        object([(Self::SESSION_ID, self.session_id.as_str()), (Self::NAME, self.name.as_str())])
    }

    /// Reads an answer; fields of newer wrappers are ignored.
    pub fn read(json: &Json) -> Option<Self> {
        let text = |name| json.get(name)?.as_text().map(str::to_owned);
        Some(Self { session_id: text(Self::SESSION_ID)?, name: text(Self::NAME)? })
    }
}

/// What the wrapper keeps about its refusals at the cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalRecord {
    /// When it last refused, as written.
    pub at: String,
    /// When it first did.
    pub first_at: String,
    /// How often, ever.
    pub count: u64,
    /// The number of hook sessions that it refused on.
    pub live: u64,
    /// The cap then.
    pub max: u64,
    /// The watch, if one was named.
    pub topic: Option<String>,
    /// The events' key, if there was one.
    pub key: Option<String>,
}

impl RefusalRecord {
    const AT: &'static str = "at";
    const FIRST_AT: &'static str = "firstAt";
    const COUNT: &'static str = "count";
    const LIVE: &'static str = "live";
    const MAX: &'static str = "max";
    const TOPIC: &'static str = "topic";
    const KEY: &'static str = "key";

    /// The record after one more refusal: the first time stays, the count goes up.
    #[must_use]
    pub fn after(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.first_at.clone_from(&before.first_at);
            self.count = before.count.saturating_add(1);
        }
        self
    }

    /// The record as it is kept.
    pub fn to_json(&self) -> Json {
        let number = |number: u64| Json::Number(Number::integer(number));
        let mut members = vec![
            (Self::AT, Json::text(&self.at)),
            (Self::FIRST_AT, Json::text(&self.first_at)),
            (Self::COUNT, number(self.count)),
            (Self::LIVE, number(self.live)),
            (Self::MAX, number(self.max)),
        ];
        members.extend(self.topic.as_ref().map(|topic| (Self::TOPIC, Json::text(topic))));
        members.extend(self.key.as_ref().map(|key| (Self::KEY, Json::text(key))));
        Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
    }

    /// Reads a record, older writers' included.
    pub fn read(json: &Json) -> Option<Self> {
        let text = |name| json.get(name).and_then(Json::as_text).map(str::to_owned);
        let number = |name| json.get(name).and_then(Json::as_u64);
        Some(Self {
            at: text(Self::AT)?,
            first_at: text(Self::FIRST_AT)?,
            count: number(Self::COUNT)?,
            live: number(Self::LIVE)?,
            max: number(Self::MAX)?,
            topic: text(Self::TOPIC),
            key: text(Self::KEY),
        })
    }
}

fn object<const N: usize>(members: [(&str, &str); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), Json::text(it))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            batch: Some(BatchId { inbox: 1, number: 7 }),
            lowest: Some(BatchId { inbox: 1, number: 5 }),
            source: Some(Source::parse("github").unwrap()),
            key: Some(EventKey::parse("o/r").unwrap()),
            topic: Some("github:o/*".to_owned()),
            note: Some("watch the build".to_owned()),
            count: 3,
            is_assigned: true,
            objects: vec![Object::PullRequest(7), Object::Branch("o/r@main".to_owned())],
            asker: Some(Asker { pid: 42, started: 777 }),
        }
    }

    fn read(request: &Request) -> Result<Request, RequestError> {
        let variables = request.variables();
        Request::read(|name| variables.iter().find(|(key, _)| *key == name).map(|it| it.1.clone()))
    }

    #[test]
    fn requests_and_answers_read_what_was_written() {
        assert_eq!(read(&request()).unwrap(), request());
        assert_eq!(read(&Request::default()).unwrap(), Request::default());
        let answer = Answer { session_id: "i".to_owned(), name: "hook-x".to_owned() };
        assert_eq!(Answer::read(&answer.to_json()), Some(answer));
        assert_eq!(Answer::read(&Json::Null), None);
        assert_eq!(Answer::read(&object([("name", "hook-x")])), None);
    }

    #[test]
    fn no_variable_holds_what_an_environment_cannot() {
        let objects = vec![Object::Branch("a\0b\nrun:9".to_owned()); 1000];
        let hostile = Request { note: Some("a\0b\nc".to_owned()), objects, ..request() };
        for (name, value) in hostile.variables() {
            assert!(!value.contains('\0') && value.len() < 100_000, "{name}");
            assert!(name == BATCH_OBJECTS || !value.contains('\n'), "{name}");
        }
        let read = read(&hostile).unwrap();
        assert!(read.objects.iter().all(|it| matches!(it, Object::Branch(_))), "no object more");
    }

    #[test]
    fn a_variable_that_cannot_be_read_is_named_and_not_taken_for_absent() {
        for name in [
            BATCH_ID,
            BATCH_LOWEST,
            BATCH_OBJECTS,
            BATCH_ASKER,
            SPAWN_SOURCE,
            SPAWN_KEY,
            SPAWN_COUNT,
        ] {
            let error = Request::read(|it| (it == name).then(|| "no good".to_owned()));
            assert!(error.unwrap_err().to_string().starts_with(name));
        }
    }

    #[test]
    fn refusals_are_counted_from_the_first() {
        let refusal = |at: &str, live| RefusalRecord {
            at: at.to_owned(),
            first_at: at.to_owned(),
            count: 1,
            live,
            max: 4,
            topic: None,
            key: Some("o/r".to_owned()),
        };
        let first = refusal("t1", 4).after(None);
        let second = refusal("t2", 5).after(Some(&first));
        assert_eq!((second.first_at.as_str(), second.at.as_str()), ("t1", "t2"));
        assert_eq!((second.count, second.live), (2, 5));
        assert_eq!(RefusalRecord::read(&second.to_json()), Some(second));
        assert_eq!(RefusalRecord::read(&Json::Null), None);
    }
}
