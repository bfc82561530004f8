//! Telling sessions that nobody is connected for: the wrapper knows each agent's own way.
//!
//! Each message is offered once; what the agent cannot take that way waits for its next turn, or
//! for somebody who reads, and is not offered again: a notice that repeats is no notice.

use agent_box_event::contract::Told as Said;
use tokio::task::JoinError;

use super::{Engine, TICK_MS, marked};
use crate::inbox::{InboxError, Look, SessionRef};
use crate::now_ms;

/// So many messages are offered at a time.
const AT_ONCE: usize = 16;

/// What was tried for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempt {
    /// Every message up to this one was offered.
    offered: u64,
    is_running: bool,
    failures: u32,
    /// When to try again, after a failure.
    pub(super) again_ms: Option<u64>,
}

/// How an offer ended.
#[derive(Debug)]
pub(super) struct Told {
    session: SessionRef,
    numbers: Vec<u64>,
    said: Result<Said, String>,
}

impl Engine {
    pub(super) async fn tell_the_silent(&mut self, now: u64) -> Result<(), InboxError> {
        let queues = self.inbox.read(Look::waiting_sessions).await?;
        self.attempts.retain(|session, attempt| {
            attempt.is_running || queues.iter().any(|queue| queue.session == *session)
        });
        for queue in queues {
            let session = queue.session;
            let Some(id) = session.session_id.clone() else { continue };
            // What is stopped is offered its messages, for the first time, once it runs.
            let is_stopped = self.roster.session(&id).is_some_and(|it| !it.is_active);
            if queue.waiting == 0 || is_stopped || self.standing.takes(&session) {
                continue;
            }
            let attempt = self.attempts.entry(session.clone()).or_default();
            if attempt.is_running || attempt.again_ms.is_some_and(|again| now < again) {
                continue;
            }
            let (whose, after) = (session.clone(), attempt.offered);
            let messages =
                self.inbox.read(move |look| look.pending(&whose, Some(after), AT_ONCE)).await?;
            if messages.is_empty() {
                continue;
            }
            let numbers: Vec<u64> = messages.iter().map(|message| message.number).collect();
            let text: Vec<String> =
                messages.iter().map(|it| marked(&it.text, it.is_offered)).collect();
            let attempt = self.attempts.entry(session.clone()).or_default();
            attempt.is_running = true;
            let (wrapper, inbox) = (self.parts.wrapper.clone(), self.inbox.clone());
            self.tellings.spawn(async move {
                // First: what nobody acknowledges afterwards may have been seen.
                let (offered, at) = (numbers.clone(), now_ms());
                let said = match inbox.write(move |tx| tx.offer(&offered, at)).await {
                    Ok(()) => wrapper.deliver(&id, text.join("\n")).await,
                    Err(error) => Err(error.to_string()),
                };
                Told { session, numbers, said }
            });
        }
        Ok(())
    }

    pub(super) async fn told(&mut self, told: Result<Told, JoinError>) {
        let Told { session, numbers, said } = told.expect("BUG: an offer does not panic");
        let now = now_ms();
        let attempt = self.attempts.entry(session.clone()).or_default();
        attempt.is_running = false;
        let written = match said {
            Ok(Said::Delivered) => {
                (attempt.failures, attempt.again_ms) = (0, None);
                attempt.offered = numbers.last().copied().unwrap_or(attempt.offered);
                self.are_claims_stale = true;
                self.inbox.write(move |tx| tx.acknowledge(&numbers, now)).await
            }
            Ok(Said::Waiting(reason)) => {
                (attempt.failures, attempt.again_ms) = (0, None);
                attempt.offered = numbers.last().copied().unwrap_or(attempt.offered);
                tracing::info!(key = session.key, reason, "events wait for a session");
                self.inbox.write(move |tx| tx.not_taken(&numbers)).await
            }
            // The next look at the sessions shows that it is gone, and ends its queue.
            Ok(Said::Gone) => {
                attempt.again_ms = Some(now + TICK_MS);
                self.roster_at_ms = now;
                Ok(())
            }
            Err(reason) => {
                attempt.failures += 1;
                let factor = 2_u64.saturating_pow(attempt.failures.min(6));
                attempt.again_ms = Some(now + factor * 1_000);
                tracing::warn!(key = session.key, reason, "cannot tell a session of events");
                Ok(())
            }
        };
        if let Err(error) = written {
            tracing::error!(%error, "cannot record that a session was told; it is told again");
            let attempt = self.attempts.entry(session).or_default();
            attempt.offered = 0;
        }
    }
}
