//! A batch gets its session: cap, seed, entry and claim under one lock.

use std::fmt;

use agent_box_event::contract::{Answer, Asker, Request};
use agent_box_event::{BatchId, Topic, hook_name};
use agent_box_session::{AddRefusal, Agent, ParseNameError, SessionId, SessionName, SessionSpec};
use agent_box_session_store::{Change, Event, EventKind, IoError, TransactError, Transaction};
use agent_box_testpoint as testpoint;
use thiserror::Error;

use crate::agent::AgentError;
use crate::cap::{self, Cap, Live};
use crate::claims::{Claims, ClaimsError};
use crate::prompt::{Assignment, Facts, Seeded, prompt};
use crate::surrounded::Surrounded;

/// Who adds these sessions, in the history and the journal.
const BY: &str = "webhook";

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There were no events.
    Nothing,
    /// It has its session, now or since an earlier run.
    Accepted(Answer),
    /// It has to wait.
    Full(Full),
}

/// The cap is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full {
    /// So many hook sessions count.
    pub used: u64,
    /// So many may.
    pub max: u64,
    /// Why tmux was not asked, if it was not.
    pub without_tmux: Option<String>,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used, max, without_tmux } = self;
        if let Some(reason) = without_tmux {
            write!(f, "cannot ask tmux ({reason}), so all listed hook-* sessions count: ")?;
        }
        write!(
            f,
            "{used} hook-* sessions are running or queued to start, at most {max} may; the events \
             wait until one ends (`agent-box ls` shows them, `agent-box rm NAME` ends one)"
        )
    }
}

/// A batch got no session, and nothing was changed.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// No agent can take it.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The name cannot be a session's.
    #[error(transparent)]
    Name(#[from] ParseNameError),
    /// Every name for it is in use by sessions that are not this batch's.
    #[error("the names {first} to {last} are taken by other sessions; remove one of them")]
    NameTaken {
        /// The batch's own name.
        first: String,
        /// The last one that was tried.
        last: String,
    },
    /// Nobody waits for the answer any more.
    #[error("the receiver that asked (process {}) is gone; its successor asks again", .0.pid)]
    Orphaned(Asker),
    /// The entry cannot be made.
    #[error(transparent)]
    Add(#[from] AddRefusal),
    /// Nobody knows which batches have their session.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
    /// The registry is locked, damaged or cannot be written.
    #[error(transparent)]
    Registry(#[from] TransactError<std::convert::Infallible>),
    /// A file beside it cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl SpawnError {
    /// Whether this says something about the session list and nothing about the batch: it can be
    /// asked again when the list is mended, as often as that takes.
    pub fn is_about_the_list(&self) -> bool {
        matches!(self, Self::Claims(_) | Self::Registry(_) | Self::Io(_) | Self::Orphaned(_))
    }
}

/// What a transaction says instead of committing.
enum No {
    Full(Full),
    Error(SpawnError),
}

impl<E: Into<SpawnError>> From<E> for No {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// What a transaction did.
enum Done {
    Added(SessionId, SessionName, Agent),
    Before(SessionId, String),
}

/// A batch on its way.
struct Batch<'a> {
    request: &'a Request,
    events: &'a str,
    agent: Result<Agent, AgentError>,
    words: Vec<String>,
    cap: u64,
    live: Live,
    topic: Option<Topic>,
}

impl Surrounded {
    /// Gives the events their session. `warn` hears what the operator should know.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing was changed then.
    pub fn spawn(
        &self,
        request: &Request,
        events: &str,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Outcome, SpawnError> {
        if events.trim().is_empty() {
            return Ok(Outcome::Nothing);
        }
        let Cap { max, complaint } = self.cap();
        let arguments = self.arguments();
        for complaint in complaint.iter().chain(&arguments.complaint) {
            warn(complaint);
        }
        let batch = Batch {
            request,
            events,
            agent: self.choice().agent(),
            words: arguments.words,
            cap: max,
            live: cap::look(&self.tmux),
            topic: topic(request),
        };
        let mut seeded = None;
        let summary = match &request.topic {
            Some(topic) => format!("add a session for the webhook watch {topic}"),
            None => "add a session for webhook events".to_owned(),
        };
        let change = Change::Operator { by: BY.to_owned(), summary };
        testpoint::hit("spawn.ready");
        let done = self.store.transact(change, |tx| {
            testpoint::hit("spawn.locked");
            self.add(tx, &batch, &mut seeded, warn)
        });
        let done = match done {
            Ok(done) => done,
            Err(TransactError::Refused(No::Full(full))) => {
                if let Err(error) = self.note_refusal(request, full.used, full.max) {
                    warn(&format!("the refusal is not on record: {error}"));
                }
                return Ok(Outcome::Full(full));
            }
            Err(error) => {
                if let Some(name) = seeded.filter(|name| !self.lists(name)) {
                    self.unseed(&name);
                }
                return Err(match error {
                    TransactError::Refused(No::Error(error)) => error,
                    TransactError::Refused(No::Full(_)) => unreachable!("BUG: handled above"),
                    TransactError::Lock(error) => TransactError::Lock(error).into(),
                    TransactError::Damaged(error) => TransactError::Damaged(error).into(),
                    TransactError::Io(error) => TransactError::Io(error).into(),
                });
            }
        };
        testpoint::hit("spawn.written");
        Ok(Outcome::Accepted(match done {
            Done::Before(session, name) => Answer { session_id: session.to_string(), name },
            Done::Added(session, name, agent) => {
                let text = format!("added ({agent}) for webhook events");
                let event = Event::new(self.store.now(), EventKind::Added, text);
                let event = event.about(session, &name).by(BY);
                // The entry stands; the receiver has to hear of it.
                if let Err(error) = self.store.journal().append(&event) {
                    warn(&error.to_string());
                }
                Answer { session_id: session.to_string(), name: name.to_string() }
            }
        }))
    }

    /// Everything under the lock.
    fn add(
        &self,
        tx: &mut Transaction<'_>,
        batch: &Batch<'_>,
        seeded: &mut Option<SessionName>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Done, No> {
        let request = batch.request;
        // INVARIANT: asked under the lock. What a later receiver is told about this batch, it is
        // told after the lock was free again (`a_wrapper_whose_receiver_is_gone_changes_nothing`).
        if let Some(asker) = request.asker
            && !is_there(asker)
        {
            return Err(SpawnError::Orphaned(asker).into());
        }
        let claims = Claims::read(tx.extra(agent_box_event::contract::CLAIMED_BATCHES))?;
        // By hand there is no batch: a name of its own, and nothing is claimed.
        let named = request.batch.unwrap_or_else(|| unclaimed(tx.mint()));
        let wanted = hook_name(request.key.as_ref(), &named);
        if let Some(id) = &request.batch
            && let Some(session) = claims.session(id)?
        {
            return Ok(Done::Before(session, name_of(tx, session)?.unwrap_or(wanted.name)));
        }
        let used = cap::in_use(&tx.registry, &batch.live);
        if used >= batch.cap {
            let without_tmux = match &batch.live {
                Live::Seen(_) => None,
                Live::Unknown(reason) => Some(reason.clone()),
            };
            return Err(No::Full(Full { used, max: batch.cap, without_tmux }));
        }
        let agent = batch.agent.clone()?;
        if wanted.is_key_left_out {
            let key = request.key.as_ref().map_or("", |key| key.as_str());
            warn(&format!(
                "the key {key} does not fit into a name; the session is {}",
                wanted.name
            ));
        }
        let name = free_name(tx, &wanted.name)?;
        let mut subscribed = Seeded::Nothing;
        if let Some(topic) = &batch.topic {
            *seeded = Some(name.clone());
            match self.seed(&name, topic, &request.objects) {
                Ok(()) => {
                    let is_part = !request.objects.is_empty();
                    subscribed = Seeded::Topic(topic.source(), topic.key(), is_part);
                }
                Err(reason) => warn(&format!("{name} starts without a subscription: {reason}")),
            }
        }
        let facts = Facts {
            name: name.as_str(),
            watch: request.topic.as_deref(),
            note: request.note.as_deref(),
            assignment: if request.is_assigned { Assignment::Present } else { Assignment::Absent },
            seeded: subscribed,
        };
        let spec = SessionSpec {
            // Remote control of codex takes no prompt.
            remote_control: agent != Agent::Codex,
            extra_args: batch.words.clone(),
            initial_prompt: Some(prompt(&facts, batch.events)),
            ..SessionSpec::new(agent.clone())
        };
        let session = tx.add(name.clone(), spec, BY)?;
        if let Some(id) = &request.batch {
            let claims = claims.claim(id, session, request.lowest.as_ref());
            tx.set_extra(agent_box_event::contract::CLAIMED_BATCHES, claims);
        }
        Ok(Done::Added(session, name, agent))
    }

    /// Whether the name is listed after all, or nobody can say: the very last flush of a
    /// transaction fails after its rename.
    fn lists(&self, name: &SessionName) -> bool {
        self.store.read().map_or(true, |document| document.registry.is_taken(name.as_str()))
    }
}

fn is_there(asker: Asker) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", asker.pid));
    // Not to be told is not to be gone, but then nothing may be written either.
    stat.is_ok_and(|stat| Asker::of_stat(&stat) == Some(asker))
}

/// What the events are about, if it is known.
fn topic(request: &Request) -> Option<Topic> {
    Some(Topic::new(request.source.clone()?, request.key.clone()?))
}

/// A number that no inbox draws, for events that are handed over by hand.
fn unclaimed(random: SessionId) -> BatchId {
    // The last bytes of a v7 id are random.
    let bytes = random.as_uuid().as_bytes();
    let number = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    BatchId { inbox: 0, number: u64::from(number) }
}

/// The name that the claimed session has or had.
fn name_of(tx: &mut Transaction<'_>, session: SessionId) -> Result<Option<String>, IoError> {
    if let Some((name, _)) = tx.registry.by_id(session) {
        return Ok(Some(name.to_string()));
    }
    tx.load_tombstones()?;
    let removed = tx.identities.removed.get(&session).map(|it| &it.identity);
    let identity = removed.or_else(|| tx.identities.live.get(&session));
    Ok(identity.map(|identity| identity.name.to_string()))
}

/// The wanted name, or it with `-2` … `-9` where sessions of somebody else have it. No other batch
/// is called so, for its name ends in eight digits.
fn free_name(tx: &Transaction<'_>, wanted: &str) -> Result<SessionName, SpawnError> {
    let numbered = (2..=9).map(|n| format!("{wanted}-{n}"));
    let free = std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|name| !tx.registry.is_taken(name) && SessionName::for_creation(name).is_ok());
    match free {
        Some(name) => Ok(SessionName::for_creation(&name)?),
        None => {
            Err(SpawnError::NameTaken { first: wanted.to_owned(), last: format!("{wanted}-9") })
        }
    }
}
