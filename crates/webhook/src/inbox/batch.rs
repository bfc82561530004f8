//! Batches: frozen before the wrapper runs, and then settled, deferred or parked, each once.
//!
//! ```text
//!            ┌ attempt, retry_at, hold ┐
//! freeze ──▶ frozen ◀──────────────────┘▶ settle: settled   members spawned, lease begins
//!                                    ├──▶ defer:  deferred  members wait in their lane again
//!                                    └──▶ park:   parked    members failed
//! ```

use agent_box_event::{BatchId, Object, Topic, WaitReason, contract::Answer};
use rusqlite::{Row, params};

use super::look::{known, number, number_or_none, parsed, signed};
use super::{Counter, InboxError, Look, Tx};

/// What to freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBatch {
    /// The lane that the members wait in.
    pub topic: Topic,
    /// Their places, in the order in which the agent reads them.
    pub members: Vec<u64>,
    /// The watch that wanted them, as it is written.
    pub watch: String,
    /// The watch's note.
    pub note: Option<String>,
    /// What the wrapper gets on its standard input.
    pub text: String,
    /// Whether an event of it assigns something to this box.
    pub is_assigned: bool,
    /// What the session will have a claim on.
    pub objects: Vec<Object>,
    /// When.
    pub at_ms: u64,
}

/// A batch whose wrapper run is not known to have ended with a settling answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenBatch {
    /// Which.
    pub id: BatchId,
    /// What it is about.
    pub topic: Topic,
    /// The members' places, as they were frozen.
    pub members: Vec<u64>,
    /// The watch, as it is written.
    pub watch: String,
    /// The watch's note.
    pub note: Option<String>,
    /// For the wrapper's standard input.
    pub text: String,
    /// Whether an event of it assigns something to this box.
    pub is_assigned: bool,
    /// What the session will have a claim on.
    pub objects: Vec<Object>,
    /// When it was frozen.
    pub frozen_ms: u64,
    /// How many attempts were made, one that goes on included.
    pub attempts: u32,
    /// Not before this time again.
    pub not_before_ms: u64,
    /// Whether the session list said nothing when it was last asked: then a change of the list
    /// comes before that time.
    pub is_held: bool,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// On its way to the wrapper.
    Frozen,
    /// It has its session.
    Settled(Answer),
    /// The box was full; its members went back.
    Deferred,
    /// Given up, and why.
    Parked(String),
}

/// A batch for `explain`, whatever its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastBatch {
    /// Which.
    pub id: BatchId,
    /// What became of it.
    pub state: BatchState,
    /// When it was frozen.
    pub frozen_ms: u64,
    /// How many attempts were made, one that goes on included.
    pub attempts: u32,
    /// When the wrapper was last started for it.
    pub attempted_ms: Option<u64>,
    /// Not before this time again, if it is frozen.
    pub not_before_ms: u64,
    /// When it was settled, deferred or parked.
    pub ended_ms: Option<u64>,
}

impl Look {
    /// The batches that are frozen, the lowest first.
    pub fn unsettled_batches(&self) -> Result<Vec<FrozenBatch>, InboxError> {
        let batches = self.all(
            "SELECT number, topic, watch, note, text, is_assigned, objects, frozen_ms, attempts,
                not_before_ms,
                EXISTS (SELECT 1 FROM members WHERE batch = number AND reason = 'sessions')
             FROM batches WHERE state = 'frozen' ORDER BY number",
            [],
            |row| self.read_frozen(row),
        )?;
        let with_members = |mut batch: FrozenBatch| {
            batch.members = self.members_of(batch.id.number)?;
            Ok(batch)
        };
        batches.into_iter().map(with_members).collect()
    }

    fn read_frozen(&self, row: &Row<'_>) -> Result<FrozenBatch, InboxError> {
        let (topic, objects): (String, String) = (row.get(1)?, row.get(6)?);
        Ok(FrozenBatch {
            id: BatchId { inbox: self.id(), number: number(row, 0)? },
            topic: parsed(Topic::parse(&topic))?,
            members: Vec::new(),
            watch: row.get(2)?,
            note: row.get(3)?,
            text: row.get(4)?,
            is_assigned: row.get(5)?,
            objects: read_objects(&objects)?,
            frozen_ms: number(row, 7)?,
            attempts: u32::try_from(number(row, 8)?).unwrap_or(u32::MAX),
            not_before_ms: number(row, 9)?,
            is_held: row.get(10)?,
        })
    }

    /// The members of a batch, as they were frozen; of a deferred one, none.
    fn members_of(&self, batch: u64) -> Result<Vec<u64>, InboxError> {
        let sql = "SELECT sequence FROM members WHERE batch = ?1 ORDER BY place";
        self.all(sql, [signed(batch)], |row| number(row, 0))
    }

    /// The lowest batch that is not ended, else the one that will be frozen next.
    pub fn lowest_unsettled(&self) -> Result<BatchId, InboxError> {
        let lowest =
            self.one("SELECT MIN(number) FROM batches WHERE state = 'frozen'", [], |row| {
                number_or_none(row, 0)
            })?;
        let number = match lowest.flatten() {
            Some(lowest) => lowest,
            None => self.next_number()?,
        };
        Ok(BatchId { inbox: self.id(), number })
    }

    /// What the batch that is frozen next is numbered.
    fn next_number(&self) -> Result<u64, InboxError> {
        let last = "SELECT seq FROM sqlite_sequence WHERE name = 'batches'";
        Ok(self.one(last, [], |row| number(row, 0))?.map_or(1, |last| last + 1))
    }

    /// A batch, whatever became of it; deferred ones are forgotten after a while.
    pub fn batch(&self, number: u64) -> Result<Option<PastBatch>, InboxError> {
        self.one(
            "SELECT number, state, session_id, session_name, why, frozen_ms, attempts,
                attempted_ms, not_before_ms, ended_ms
             FROM batches WHERE number = ?1",
            [signed(number)],
            |row| self.read_past(row),
        )
    }

    fn read_past(&self, row: &Row<'_>) -> Result<PastBatch, InboxError> {
        let word: String = row.get(1)?;
        let text = |column: usize| row.get::<_, Option<String>>(column);
        let state = match (word.as_str(), text(2)?, text(3)?, text(4)?) {
            ("frozen", ..) => Some(BatchState::Frozen),
            ("settled", Some(session_id), Some(name), _) => {
                Some(BatchState::Settled(Answer { session_id, name }))
            }
            ("deferred", ..) => Some(BatchState::Deferred),
            ("parked", _, _, Some(why)) => Some(BatchState::Parked(why)),
            _ => None,
        };
        Ok(PastBatch {
            id: BatchId { inbox: self.id(), number: number(row, 0)? },
            state: known(&word, state)?,
            frozen_ms: number(row, 5)?,
            attempts: u32::try_from(number(row, 6)?).unwrap_or(u32::MAX),
            attempted_ms: number_or_none(row, 7)?,
            not_before_ms: number(row, 8)?,
            ended_ms: number_or_none(row, 9)?,
        })
    }

    /// A batch of this inbox that must still be frozen.
    fn frozen(&self, id: BatchId) -> Result<PastBatch, InboxError> {
        let unknown = || InboxError::Unknown(format!("batch {id}"));
        let ours = id.inbox == self.id();
        let batch = self.batch(id.number)?.filter(|_| ours).ok_or_else(unknown)?;
        // INVARIANT: only from there can a batch go anywhere, and where it went it stays
        // (no_other_transition_is_possible).
        let ended = match batch.state {
            BatchState::Frozen => return Ok(batch),
            BatchState::Settled(_) => "settled",
            BatchState::Deferred => "deferred",
            BatchState::Parked(_) => "parked",
        };
        Err(InboxError::Refused(format!("batch {id} is {ended} already")))
    }

    /// A frozen batch whose wrapper was started; without that it cannot have ended.
    fn attempted(&self, id: BatchId) -> Result<(PastBatch, u64), InboxError> {
        let batch = self.frozen(id)?;
        let never = || InboxError::Refused(format!("batch {id} was never attempted"));
        let attempted_ms = batch.attempted_ms.ok_or_else(never)?;
        Ok((batch, attempted_ms))
    }
}

impl Tx<'_> {
    /// Takes waiting members out of their lane into a batch that never changes again.
    ///
    /// # Errors
    /// When a member does not wait in that lane, and when the lane has a frozen batch already.
    pub fn freeze(&mut self, batch: &NewBatch) -> Result<BatchId, InboxError> {
        let topic = batch.topic.to_string();
        if batch.members.is_empty() {
            return Err(InboxError::Refused(format!("a batch of {topic} without members")));
        }
        let frozen = "SELECT COUNT(*) FROM batches WHERE state = 'frozen' AND topic = ?1";
        if self.number(frozen, [&topic])? > 0 {
            return Err(InboxError::Refused(format!("a batch of {topic} is on its way already")));
        }
        let number = self.insert(
            "INSERT INTO batches (topic, watch, note, text, is_assigned, objects, state, frozen_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'frozen', ?7)",
            params![
                topic,
                batch.watch,
                batch.note,
                batch.text,
                batch.is_assigned,
                objects_text(&batch.objects),
                signed(batch.at_ms),
            ],
        )?;
        let id = BatchId { inbox: self.id(), number };
        for (place, member) in batch.members.iter().enumerate() {
            if self.waiting(*member)?.topic != batch.topic {
                let why = format!("delivery #{member} waits in another lane than {topic}");
                return Err(InboxError::Refused(why));
            }
            self.change(
                "UPDATE members SET state = 'frozen', reason = NULL, batch = ?2, place = ?3
                 WHERE sequence = ?1",
                params![signed(*member), signed(number), signed(place as u64)],
            )?;
            self.tell_member(*member, "frozen", &format!("batch {id}"), batch.at_ms)?;
        }
        Ok(id)
    }

    /// Notes that the wrapper is about to run; answers with the number of the attempt.
    ///
    /// A run of which nobody recorded how it ended is no attempt, and neither is one that was
    /// held: the next run has the same number, so a receiver that dies often spends no attempts.
    /// What put it off is over with it, so that the next receiver does not wait for that again.
    ///
    /// # Errors
    /// When the batch is not frozen.
    pub fn attempt(&mut self, batch: BatchId, at_ms: u64) -> Result<u32, InboxError> {
        self.frozen(batch)?;
        // `why` of a frozen batch is how its last attempt ended; without it that one goes on.
        self.change(
            "UPDATE batches SET attempts = attempts + (attempts = 0 OR why IS NOT NULL),
                why = NULL, attempted_ms = ?2, not_before_ms = 0
             WHERE number = ?1",
            params![signed(batch.number), signed(at_ms)],
        )?;
        let attempts = self.frozen(batch)?.attempts;
        self.set_members(batch, "frozen", None, None)?;
        self.tell_members(batch, "attempted", &format!("attempt {attempts}"), at_ms)?;
        Ok(attempts)
    }

    /// The batch has its session: members are spawned, the session's lease begins.
    ///
    /// # Errors
    /// When the batch is not frozen, or was never attempted.
    pub fn settle(
        &mut self,
        batch: BatchId,
        answer: &Answer,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        let (_, attempted_ms) = self.attempted(batch)?;
        self.end_batch(batch, "settled", at_ms)?;
        self.change(
            "UPDATE batches SET session_id = ?2, session_name = ?3 WHERE number = ?1",
            params![signed(batch.number), answer.session_id, answer.name],
        )?;
        self.begin_lease(batch, &answer.session_id, at_ms)?;
        self.set_members(batch, "spawned", None, Some(&answer.session_id))?;
        self.set_lane(&self.topic_of(batch)?, Some(attempted_ms), 0)?;
        self.count(Counter::Spawned, 1)?;
        let detail = format!("session {} ({})", answer.session_id, answer.name);
        self.tell_members(batch, "spawned", &detail, at_ms)
    }

    /// The box is full: members wait in their lane again, which does not start before
    /// `not_before_ms`; the batch is never run again.
    ///
    /// # Errors
    /// When the batch is not frozen, or was never attempted.
    pub fn defer(
        &mut self,
        batch: BatchId,
        not_before_ms: u64,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.attempted(batch)?;
        self.end_batch(batch, "deferred", at_ms)?;
        self.set_lane(&self.topic_of(batch)?, None, not_before_ms)?;
        self.tell_members(batch, "deferred", "the box is full", at_ms)?;
        self.count(Counter::Deferred, 1)?;
        self.change(
            "UPDATE members SET state = 'waiting', reason = 'cap', batch = NULL, place = NULL
             WHERE batch = ?1",
            [signed(batch.number)],
        )?;
        Ok(())
    }

    /// The attempt failed: the same batch again, not before `not_before_ms`.
    ///
    /// # Errors
    /// When the batch is not frozen, or was never attempted.
    pub fn retry_at(
        &mut self,
        batch: BatchId,
        not_before_ms: u64,
        why: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.again(batch, not_before_ms, WaitReason::Retry, why, at_ms)?;
        self.change(
            "UPDATE batches SET why = ?2 WHERE number = ?1",
            params![signed(batch.number), why],
        )?;
        Ok(())
    }

    /// The wrapper could not say anything about the batch: the same again, at the latest at
    /// `not_before_ms`, without an attempt being spent.
    ///
    /// # Errors
    /// When the batch is not frozen, or was never attempted.
    pub fn hold(
        &mut self,
        batch: BatchId,
        not_before_ms: u64,
        why: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.again(batch, not_before_ms, WaitReason::Sessions, why, at_ms)
    }

    fn again(
        &mut self,
        batch: BatchId,
        not_before_ms: u64,
        reason: WaitReason,
        why: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.attempted(batch)?;
        self.change(
            "UPDATE batches SET not_before_ms = ?2 WHERE number = ?1",
            params![signed(batch.number), signed(not_before_ms)],
        )?;
        let reason = reason.as_str();
        self.set_members(batch, "frozen", Some(reason), None)?;
        self.tell_members(batch, "waiting", &format!("{reason}; {why}"), at_ms)
    }

    /// Batches that are frozen from now on have numbers above this one, which the session list
    /// knows; answers with whether that was news. Then the inbox is older than the list: it was
    /// put back from a copy, and its next numbers are other batches' already.
    pub fn number_above(&mut self, claimed: BatchId) -> Result<bool, InboxError> {
        if claimed.inbox != self.id() || claimed.number < self.next_number()? {
            return Ok(false);
        }
        let known = self.change(
            "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'batches'",
            [signed(claimed.number)],
        )?;
        if known == 0 {
            self.change(
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('batches', ?1)",
                [signed(claimed.number)],
            )?;
        }
        Ok(true)
    }

    /// Given up: members are failed, and can be replayed.
    ///
    /// # Errors
    /// When the batch is not frozen.
    pub fn park(&mut self, batch: BatchId, why: &str, at_ms: u64) -> Result<(), InboxError> {
        let attempted_ms = self.frozen(batch)?.attempted_ms;
        self.end_batch(batch, "parked", at_ms)?;
        self.change(
            "UPDATE batches SET why = ?2 WHERE number = ?1",
            params![signed(batch.number), why],
        )?;
        self.set_members(batch, "failed", None, Some(why))?;
        self.set_lane(&self.topic_of(batch)?, attempted_ms, 0)?;
        self.count(Counter::Parked, 1)?;
        self.tell_members(batch, "failed", why, at_ms)
    }

    /// Once a batch has ended, nobody reads its text again.
    fn end_batch(&mut self, batch: BatchId, state: &str, at_ms: u64) -> Result<(), InboxError> {
        self.change(
            "UPDATE batches SET state = ?2, ended_ms = ?3, text = '' WHERE number = ?1",
            params![signed(batch.number), state, signed(at_ms)],
        )?;
        Ok(())
    }

    fn begin_lease(
        &mut self,
        batch: BatchId,
        session_id: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.change(
            "INSERT OR REPLACE INTO leases (session_id, topic, objects, renewed_ms)
             SELECT ?2, topic, objects, ?3 FROM batches WHERE number = ?1",
            params![signed(batch.number), session_id, signed(at_ms)],
        )?;
        Ok(())
    }

    fn topic_of(&self, batch: BatchId) -> Result<String, InboxError> {
        let sql = "SELECT topic FROM batches WHERE number = ?1";
        let topic = self.one(sql, [signed(batch.number)], |row| Ok(row.get(0)?))?;
        topic.ok_or_else(|| InboxError::Unknown(format!("batch {batch}")))
    }

    fn set_members(
        &mut self,
        batch: BatchId,
        state: &str,
        reason: Option<&str>,
        outcome: Option<&str>,
    ) -> Result<(), InboxError> {
        self.change(
            "UPDATE members SET state = ?2, reason = ?3, outcome = ?4 WHERE batch = ?1",
            params![signed(batch.number), state, reason, outcome],
        )?;
        Ok(())
    }

    fn tell_members(
        &mut self,
        batch: BatchId,
        word: &str,
        detail: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        for member in self.members_of(batch.number)? {
            self.tell_member(member, word, detail, at_ms)?;
        }
        Ok(())
    }

    fn tell_member(
        &mut self,
        member: u64,
        word: &str,
        detail: &str,
        at_ms: u64,
    ) -> Result<(), InboxError> {
        self.touched.insert(member, at_ms);
        self.append(member, word, Some(detail), at_ms)
    }
}

/// Objects as they are stored: one in a line, which none of them holds.
fn objects_text(objects: &[Object]) -> String {
    let one_line = |object: &Object| object.to_string().replace(['\n', '\r'], " ");
    objects.iter().map(one_line).collect::<Vec<_>>().join("\n")
}

pub(super) fn read_objects(text: &str) -> Result<Vec<Object>, InboxError> {
    text.lines().map(|line| known(line, Object::parse(line))).collect()
}
