//! The match pass: every delivery that nobody has looked at is decided, and all that it causes
//! is recorded in one write.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agent_box_event::{DeliveryState, TopicPattern, WaitReason};
use serde_json::Value;
use tokio::task::JoinSet;

use super::decision::{Effects, Known, SessionFilter, decide};
use super::rules::RulesNow;
use super::{Engine, draw};
use crate::inbox::{InboxError, Look, QueueLimits, Unmatched};
use crate::{Parsed, now_ms};

/// So many are decided before their writes are waited for: they share commits.
const AT_ONCE: usize = 64;

impl Engine {
    pub(super) async fn match_all(&mut self) -> Result<(), InboxError> {
        loop {
            let unmatched = self.inbox.read(|look| look.unmatched(AT_ONCE)).await?;
            if unmatched.is_empty() {
                return Ok(());
            }
            // Whoever subscribed before an event came was listed before that: what the kernel has
            // told by now is enough to know every session that can be meant.
            self.look_around(now_ms()).await?;
            let rules = self.rules.now();
            // A message without a session's id would reach whoever has its name next.
            let are_unknown = rules.sessions.iter().any(|(key, _)| self.roster.is_unknown(key));
            if rules.is_blind || are_unknown {
                return Ok(());
            }
            self.match_some(unmatched).await?;
        }
    }

    async fn match_some(&mut self, unmatched: Vec<Unmatched>) -> Result<(), InboxError> {
        let now = now_ms();
        let leases = self.inbox.read(Look::leases).await?;
        let rules = self.rules.now();
        let sessions = self.session_filters(&rules);
        let known = Known {
            watches: &rules.watches,
            sessions: &sessions,
            roster: &self.roster,
            leases: &leases,
            me: rules.me.as_ref(),
            minimum: rules.settings.minimum,
            now_ms: now,
        };
        let mut writes = JoinSet::new();
        let mut delivered: Vec<(Option<String>, TopicPattern)> = Vec::new();
        let mut has_tells = false;
        for it in unmatched {
            let sequence = it.delivery.sequence;
            let effects = effects_of(&it, known);
            has_tells |= !effects.tells.is_empty();
            for row in &effects.delivered {
                if !delivered.contains(row) {
                    delivered.push(row.clone());
                }
            }
            if let Some(wait) = &effects.wait {
                self.reasons.insert(sequence, wait.reason);
                if wait.reason == WaitReason::Claim {
                    self.claimed.insert(sequence);
                }
            }
            let inbox = self.inbox.clone();
            writes.spawn(async move {
                let topic = it.delivery.topic();
                let written = inbox
                    .write(move |tx| record(tx, sequence, topic.as_ref(), &effects, now))
                    .await;
                (sequence, written)
            });
        }
        let mut failed = None;
        while let Some(written) = writes.join_next().await {
            let (sequence, written) = written.expect("BUG: a write neither panics nor is ended");
            match written {
                Ok(()) => agent_box_testpoint::hit("webhook.matched"),
                Err(error @ InboxError::Refused(_)) => self.give_up(sequence, &error).await?,
                Err(error) => failed = Some(error),
            }
        }
        if has_tells {
            self.wires.enqueued.send_modify(|count| *count += 1);
        }
        self.rules.note_delivered(&delivered, now);
        failed.map_or(Ok(()), Err)
    }

    /// One delivery that cannot be recorded must not keep those behind it.
    async fn give_up(&self, sequence: u64, error: &InboxError) -> Result<(), InboxError> {
        tracing::error!(sequence, %error, "what a delivery causes cannot be recorded");
        let why = format!("what it causes cannot be recorded: {error}");
        let now = now_ms();
        let state = DeliveryState::Failed(why);
        self.inbox.write(move |tx| tx.step(sequence, &state, None, now)).await
    }

    pub(super) fn session_filters(&self, rules: &RulesNow) -> Vec<SessionFilter> {
        let sessions = rules.sessions.iter();
        sessions
            .map(|(key, filter)| SessionFilter {
                key: key.clone(),
                filter: filter.clone(),
                heard_ms: self.standing.heard_ms(key),
            })
            .collect()
    }
}

fn effects_of(it: &Unmatched, known: Known<'_>) -> Effects {
    // Some senders' bodies are no JSON; then rules find no fields.
    let payload = Parsed(serde_json::from_slice(&it.body).unwrap_or(Value::Null));
    let decided = catch_unwind(AssertUnwindSafe(|| decide(&it.delivery, &payload, known, draw)));
    decided.unwrap_or_else(|_| Effects {
        state: DeliveryState::Failed("deciding about it panicked; please report this".to_owned()),
        note: None,
        tells: Vec::new(),
        wait: None,
        delivered: Vec::new(),
    })
}

fn record(
    tx: &mut crate::inbox::Tx<'_>,
    sequence: u64,
    topic: Option<&agent_box_event::Topic>,
    effects: &Effects,
    now: u64,
) -> Result<(), InboxError> {
    tx.step(sequence, &effects.state, effects.note.as_deref(), now)?;
    for tell in &effects.tells {
        let (session, limits) = (&tell.session, QueueLimits::default());
        tx.enqueue(sequence, session, &tell.text, &tell.meta, limits, now)?;
    }
    if let (Some(wait), Some(topic)) = (&effects.wait, topic) {
        tx.wait(sequence, topic, &wait.watch, wait.note.as_deref(), wait.reason, now)?;
    }
    Ok(())
}
