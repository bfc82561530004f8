//! The dispatch pass: lanes become frozen batches, batches are handed to the wrapper, and what it
//! answers is recorded.

use std::collections::BTreeSet;

use agent_box_event::contract::{Answer, Asker, Request};
use agent_box_event::{
    Batch, BatchId, Hold, Lane, Lease, Limits, NextStep, Topic, WaitReason, after_exit, dispatch,
    is_assignment, objects_of,
};
use serde_json::Value;
use tokio::task::JoinError;

use super::decision::{Again, Known, SessionFilter, ask_again, event_of};
use super::message::{line, text_for_batch};
use super::roster::Roster;
use super::rules::RulesNow;
use super::wrapper::{Run, Wrapper};
use super::{Engine, draw};
use crate::inbox::{FrozenBatch, Inbox, InboxError, Look, MessageState, NewBatch, Told};
use crate::{Parsed, now_ms};

/// So many events go into one batch at most; the others are the lane's next one.
const MOST_MEMBERS: usize = 200;
/// The cap while the wrapper never said one; it refuses by its own in any case.
const CAP: usize = 4;
/// Starts older than this count against no budget.
const DAY_MS: u64 = 24 * 3_600_000;

/// A run of the wrapper that ended.
#[derive(Debug)]
pub(super) struct Ran {
    batch: BatchId,
    /// How many runs there were; the inbox may have failed before this one began.
    begun: Result<u32, InboxError>,
    run: Run,
    /// What was known of the sessions' files when it began.
    changes: u64,
}

/// What the dispatch looks at, in one state of the inbox.
struct View {
    lanes: Vec<Lane>,
    starts: Vec<agent_box_event::Start>,
    frozen: Vec<FrozenBatch>,
    leases: Vec<Lease>,
}

impl Engine {
    /// Runs again what is frozen and not under way.
    pub(super) async fn rerun_frozen(&mut self, now: u64) -> Result<(), InboxError> {
        let (frozen, members) =
            self.inbox.read(|look| Ok((look.unsettled_batches()?, claimed(look)?))).await?;
        self.claimed = members;
        self.start_due(frozen, now);
        Ok(())
    }

    /// Starts what can be started; answers with when something that waits ends by itself.
    pub(super) async fn dispatch(&mut self, now: u64) -> Result<Option<u64>, InboxError> {
        if !self.parts.wrapper.is_usable() {
            // What is wanted waits for an installation that is whole, and is not given up.
            if !std::mem::replace(&mut self.is_unusable_said, true) {
                let program = self.parts.wrapper.program.display();
                tracing::error!("no session is started for events: {program} is missing");
            }
            return Ok(None);
        }
        self.is_unusable_said = false;
        let view = move |look: &Look| {
            Ok(View {
                lanes: look.lanes()?,
                starts: look.starts(now.saturating_sub(DAY_MS))?,
                frozen: look.unsettled_batches()?,
                leases: look.leases()?,
            })
        };
        let view = self.inbox.read(view).await?;
        let retries = view.frozen.iter().map(|batch| batch.not_before_ms);
        let retry_ms = retries.filter(|at| *at > now).min();
        let busy: BTreeSet<Topic> = view.frozen.iter().map(|it| it.topic.clone()).collect();
        self.start_due(view.frozen, now);
        if view.lanes.is_empty() {
            self.claimed.clear();
            self.reasons.clear();
            return Ok(retry_ms);
        }
        let rules = self.rules.now();
        if rules.is_blind {
            return Ok(retry_ms);
        }
        if self.roster.status.is_none() && self.parts.wrapper.program.is_file() {
            // Without the list nobody knows which batches have their session.
            let waiting = view.lanes.iter().flat_map(|lane| &lane.waiting);
            let reasons = waiting.map(|it| (it.sequence, WaitReason::Sessions)).collect();
            self.record_reasons(reasons, now).await?;
            return Ok(retry_ms);
        }
        let sessions = self.session_filters(&rules);
        self.ask_claimed(&view.leases, &rules, &sessions, now).await?;
        let lanes = self.open_lanes(view.lanes, &busy);
        let limits = self.limits(&rules);
        let in_use = if self.is_full { limits.cap } else { self.in_use() };
        let decided = dispatch(&lanes, in_use, &view.starts, &limits, now);
        let mut reasons = Vec::new();
        for held in &decided.held {
            let reason = reason_of(held.hold);
            reasons.extend(held.members.iter().map(|sequence| (*sequence, reason)));
        }
        self.record_reasons(reasons, now).await?;
        for batch in decided.batches.iter().cloned() {
            self.freeze(batch, &view.leases, &rules, &sessions).await?;
        }
        Ok([decided.wake_ms(), retry_ms].into_iter().flatten().min())
    }

    /// The lanes with what may be started: not what is claimed, nothing while a batch is under
    /// way, and not more than fits into a batch.
    fn open_lanes(&mut self, lanes: Vec<Lane>, busy: &BTreeSet<Topic>) -> Vec<Lane> {
        let waiting: BTreeSet<u64> =
            lanes.iter().flat_map(|lane| &lane.waiting).map(|member| member.sequence).collect();
        self.claimed.retain(|sequence| waiting.contains(sequence));
        self.reasons.retain(|sequence, _| waiting.contains(sequence));
        let open = |mut lane: Lane| {
            lane.is_running |= busy.contains(&lane.topic);
            lane.waiting.retain(|member| !self.claimed.contains(&member.sequence));
            lane.waiting.sort_by_key(|member| member.sequence);
            lane.waiting.truncate(MOST_MEMBERS);
            lane
        };
        lanes.into_iter().map(open).collect()
    }

    fn limits(&self, rules: &RulesNow) -> Limits {
        let said = self.roster.status.as_ref().and_then(|it| usize::try_from(it.max).ok());
        let window = rules.settings.window.as_millis();
        Limits {
            window_ms: u64::try_from(window).unwrap_or(u64::MAX),
            cap: said.unwrap_or(CAP),
            budgets: rules.settings.budgets,
        }
    }

    /// Hook sessions and runs under way. A run that has written the registry counts twice until
    /// it has ended: a slot is found free a moment later, and never twice.
    fn in_use(&self) -> usize {
        let live = self.roster.status.as_ref().and_then(|it| usize::try_from(it.live).ok());
        live.unwrap_or(0) + self.running.len()
    }

    async fn record_reasons(
        &mut self,
        reasons: Vec<(u64, WaitReason)>,
        now: u64,
    ) -> Result<(), InboxError> {
        let is_news = |it: &(u64, WaitReason)| self.reasons.get(&it.0) != Some(&it.1);
        let news: Vec<(u64, WaitReason)> = reasons.into_iter().filter(is_news).collect();
        if news.is_empty() {
            return Ok(());
        }
        let write = news.clone();
        self.inbox
            .write(move |tx| {
                write.iter().try_for_each(|(sequence, reason)| tx.reason(*sequence, *reason, now))
            })
            .await?;
        self.reasons.extend(news);
        Ok(())
    }

    /// Asks again about what waits for a claim, when something may have changed.
    async fn ask_claimed(
        &mut self,
        leases: &[Lease],
        rules: &RulesNow,
        sessions: &[SessionFilter],
        now: u64,
    ) -> Result<(), InboxError> {
        if !std::mem::take(&mut self.are_claims_stale) {
            return Ok(());
        }
        for sequence in self.claimed.clone() {
            let known = known(rules, sessions, &self.roster, leases, now);
            match self.ask(sequence, known).await? {
                Some(Asked { again: Again::Claimed, .. }) => {}
                Some(Asked { again: Again::Wanted { .. }, .. }) | None => {
                    self.claimed.remove(&sequence);
                }
                Some(Asked { again: Again::Withdrawn(why), .. }) => {
                    self.inbox.write(move |tx| tx.withdraw(sequence, &why, now)).await?;
                    self.claimed.remove(&sequence);
                }
            }
        }
        Ok(())
    }

    async fn ask(&self, sequence: u64, known: Known<'_>) -> Result<Option<Asked>, InboxError> {
        let look = move |look: &Look| {
            let told = look.messages_of(sequence)?;
            Ok((look.delivery(sequence)?, look.body(sequence)?, told))
        };
        let (delivery, body, told) = self.inbox.read(look).await?;
        let Some(delivery) = delivery else { return Ok(None) };
        let payload = Parsed(
            body.map_or(Value::Null, |body| serde_json::from_slice(&body).unwrap_or(Value::Null)),
        );
        let again = ask_again(&delivery, &payload, known, |owner| has_it(&told, owner));
        let topic = delivery.topic();
        let event = event_of(&delivery, topic.as_ref(), &payload);
        Ok(Some(Asked {
            again,
            line: line(&delivery, &event),
            objects: objects_of(&event),
            is_assigned: is_assignment(&event, known.me),
        }))
    }

    /// Asks about each member once more, freezes those that are still wanted, and starts the run.
    async fn freeze(
        &mut self,
        batch: Batch,
        leases: &[Lease],
        rules: &RulesNow,
        sessions: &[SessionFilter],
    ) -> Result<(), InboxError> {
        let now = now_ms();
        let (mut withdrawn, mut claimed) = (Vec::new(), Vec::new());
        let (mut members, mut lines, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        let (mut by, mut is_assigned) = (None, false);
        for sequence in batch.members {
            let known = known(rules, sessions, &self.roster, leases, now);
            let Some(asked) = self.ask(sequence, known).await? else { continue };
            match asked.again {
                Again::Withdrawn(why) => withdrawn.push((sequence, why)),
                Again::Claimed => claimed.push(sequence),
                Again::Wanted { watch, note } => {
                    members.push(sequence);
                    lines.push(asked.line);
                    is_assigned |= asked.is_assigned;
                    let news = asked.objects.into_iter().filter(|it| !objects.contains(it));
                    objects.extend(news.collect::<Vec<_>>());
                    // The newest speaks for the batch.
                    by = Some((watch, note));
                }
            }
        }
        self.claimed.extend(&claimed);
        self.reasons.extend(claimed.iter().map(|sequence| (*sequence, WaitReason::Claim)));
        let new = by.map(|(watch, note)| NewBatch {
            topic: batch.topic.clone(),
            members,
            watch: watch.to_string(),
            note,
            text: text_for_batch(lines, draw()),
            is_assigned,
            objects,
            at_ms: now,
        });
        let frozen = self
            .inbox
            .write(move |tx| {
                for (sequence, why) in &withdrawn {
                    tx.withdraw(*sequence, why, now)?;
                }
                for sequence in &claimed {
                    tx.reason(*sequence, WaitReason::Claim, now)?;
                }
                let Some(new) = new else { return Ok(None) };
                Ok(Some((tx.freeze(&new)?, new)))
            })
            .await?;
        let Some((id, new)) = frozen else { return Ok(()) };
        agent_box_testpoint::hit("webhook.frozen");
        self.start(FrozenBatch {
            id,
            topic: new.topic,
            members: new.members,
            watch: new.watch,
            note: new.note,
            text: new.text,
            is_assigned: new.is_assigned,
            objects: new.objects,
            frozen_ms: now,
            attempts: 0,
            not_before_ms: 0,
            is_held: false,
        });
        Ok(())
    }

    fn start_due(&mut self, frozen: Vec<FrozenBatch>, now: u64) {
        if !self.parts.wrapper.is_usable() {
            return;
        }
        for batch in frozen {
            // What the list's state held is asked again once that may have changed, which it
            // may have since an earlier receiver asked.
            let seen = self.held.get(&batch.id.number);
            let is_changed = batch.is_held && seen != Some(&self.changes);
            let is_due = batch.not_before_ms <= now || is_changed;
            if is_due && !self.running.contains_key(&batch.id.number) {
                self.start(batch);
            }
        }
    }

    fn start(&mut self, batch: FrozenBatch) {
        self.held.remove(&batch.id.number);
        self.running.insert(batch.id.number, batch.topic.clone());
        let (inbox, wrapper) = (self.inbox.clone(), self.parts.wrapper.clone());
        self.runs.spawn(hand_over(inbox, wrapper, batch, self.changes));
    }

    /// A run ended: what follows is recorded. If that fails, the batch is frozen still and runs
    /// again, which the wrapper answers as before.
    pub(super) async fn ran(&mut self, ran: Result<Ran, JoinError>) {
        let ran = ran.expect("BUG: a run neither panics nor is ended before the engine");
        self.running.remove(&ran.batch.number);
        if let Err(error) = self.settle(ran).await {
            tracing::error!(%error, "cannot record how a run of the wrapper ended; it runs again");
            self.pause_until_ms = now_ms() + super::TROUBLE_MS;
        }
    }

    async fn settle(&mut self, ran: Ran) -> Result<(), InboxError> {
        let Ran { batch, begun, run, changes } = ran;
        let (attempts, now) = (begun?, now_ms());
        let step = after_exit(run.exit, attempts, now);
        if let Some(answer) = &run.answer {
            tracing::info!(%batch, session = answer.name, "a batch has its session");
        } else {
            let (exit, reason) = (run.exit, &run.reason);
            tracing::info!(%batch, ?step, ?exit, reason, "a batch was handed over");
        }
        let reason = match run.exit {
            Some(code) => format!("{} (exit code {code})", run.reason),
            None => run.reason,
        };
        let answer = run.answer.unwrap_or_else(|| Answer {
            // A command of the operator's own that names no session; nobody holds such a lease.
            session_id: format!("batch {batch}"),
            name: "unnamed".to_owned(),
        });
        self.inbox
            .write(move |tx| match step {
                NextStep::Settled => tx.settle(batch, &answer, now),
                NextStep::Wait => tx.defer(batch, now, now),
                NextStep::RetryAt(at) => tx.retry_at(batch, at, &reason, now),
                NextStep::HoldUntil(at) => tx.hold(batch, at, &reason, now),
                NextStep::Park => tx.park(batch, &reason, now),
            })
            .await?;
        agent_box_testpoint::hit("webhook.settled");
        if let NextStep::HoldUntil(_) = step {
            self.held.insert(batch.number, changes);
        }
        // A slot that was freed while the wrapper refused is not waited for.
        self.is_full |= step == NextStep::Wait && changes == self.changes;
        if step == NextStep::Settled {
            self.are_claims_stale = true;
            // Its lease is judged by a list that has it.
            self.roster_at_ms = now;
        }
        Ok(())
    }
}

/// What was found of one waiting delivery.
struct Asked {
    again: Again,
    line: agent_box_event::Line,
    objects: Vec<agent_box_event::Object>,
    is_assigned: bool,
}

fn known<'a>(
    rules: &'a RulesNow,
    sessions: &'a [SessionFilter],
    roster: &'a Roster,
    leases: &'a [Lease],
    now_ms: u64,
) -> Known<'a> {
    let (me, minimum) = (rules.me.as_ref(), rules.settings.minimum);
    Known { watches: &rules.watches, sessions, roster, leases, me, minimum, now_ms }
}

/// Whether the session with this id or key was told and took it.
fn has_it(told: &[Told], owner: &str) -> bool {
    told.iter().any(|it| {
        it.state == MessageState::Acknowledged
            && (it.session.session_id.as_deref() == Some(owner) || it.session.key == owner)
    })
}

/// The deliveries that wait for a claim.
fn claimed(look: &Look) -> Result<BTreeSet<u64>, InboxError> {
    let mut claimed = BTreeSet::new();
    for member in look.lanes()?.iter().flat_map(|lane| &lane.waiting) {
        let reason = look.member(member.sequence)?.and_then(|it| it.reason);
        if reason == Some(WaitReason::Claim) {
            claimed.insert(member.sequence);
        }
    }
    Ok(claimed)
}

fn reason_of(hold: Hold) -> WaitReason {
    match hold {
        Hold::Running | Hold::Window(_) => WaitReason::Window,
        Hold::Retry(_) => WaitReason::Retry,
        Hold::Cap => WaitReason::Cap,
        Hold::Budget(_) => WaitReason::Budget,
    }
}

async fn hand_over(inbox: Inbox, wrapper: Wrapper, batch: FrozenBatch, changes: u64) -> Ran {
    let (id, now) = (batch.id, now_ms());
    let counted = inbox
        .write(move |tx| {
            let attempts = tx.attempt(id, now)?;
            Ok((attempts, tx.lowest_unsettled()?))
        })
        .await;
    let (attempts, lowest) = match counted {
        Ok(counted) => counted,
        Err(error) => {
            let run = Run { exit: None, answer: None, reason: String::new() };
            return Ran { batch: id, begun: Err(error), run, changes };
        }
    };
    agent_box_testpoint::hit("webhook.attempted");
    let request = Request {
        batch: Some(id),
        lowest: Some(lowest),
        source: Some(batch.topic.source().clone()),
        key: Some(batch.topic.key().clone()),
        topic: Some(batch.watch),
        note: batch.note,
        count: batch.members.len() as u64,
        is_assigned: batch.is_assigned,
        objects: batch.objects,
        asker: myself(),
    };
    let run = wrapper.spawn(&request, batch.text).await;
    agent_box_testpoint::hit("webhook.spawned");
    Ran { batch: id, begun: Ok(attempts), run, changes }
}

/// This process, by which an orphaned wrapper knows that it is one.
fn myself() -> Option<Asker> {
    Asker::of_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}
