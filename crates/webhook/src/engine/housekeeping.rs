//! What is looked after beside deliveries: who is there, whose lease ends, what is kept.

use std::sync::Arc;

use agent_box_event::{BatchId, Claim};

use super::{Engine, Sign, TICK_MS};
use crate::inbox::{InboxError, Tx};
use crate::now_ms;

/// After a change of the launch records, sessions are asked for at most so often.
const LAUNCHES_MS: u64 = 250;
/// The first pause before sessions are looked at again without a change; it doubles up to a tick.
/// A session's processes end a moment after it left the list, and nobody writes a file then.
const AGAIN_MS: u64 = 1_000;
/// A lease is renewed in the inbox at most so often.
const RENEW_MS: u64 = 60_000;
/// What need not be kept is removed so often.
const RETAIN_MS: u64 = 24 * 3_600_000;

impl Engine {
    /// Asks which sessions there are, if that may have changed.
    pub(super) async fn look_around(&mut self, now: u64) -> Result<(), InboxError> {
        let seen = self.watch.as_mut().map(super::SessionWatch::seen).unwrap_or_default();
        if seen.registry || seen.launches {
            self.changes += 1;
            self.roster_pause_ms = AGAIN_MS;
            let soon = now + if seen.registry { 0 } else { LAUNCHES_MS };
            self.roster_at_ms = self.roster_at_ms.min(soon);
        }
        if now < self.roster_at_ms {
            return Ok(());
        }
        self.roster_at_ms = now.saturating_add(self.roster_pause_ms);
        self.roster_pause_ms = self.roster_pause_ms.saturating_mul(2).min(TICK_MS);
        // A directory that was made since is watched from now on.
        if let Some(watch) = &mut self.watch {
            watch.renew();
        }
        match self.parts.wrapper.status().await {
            Ok(status) => {
                if self.roster.status.is_none() {
                    self.number_on(&status.claimed).await?;
                }
                self.roster.status = Some(status);
                self.blind = None;
            }
            Err(reason) if self.blind.as_ref() == Some(&reason) => {}
            Err(reason) => {
                tracing::warn!(reason, "cannot learn which sessions there are");
                self.blind = Some(reason);
            }
        }
        // Who holds a claim may have changed, and if only by being silent for too long.
        self.are_claims_stale = true;
        // Whoever said that the box is full is asked again.
        self.is_full = false;
        self.publish_roster();
        Ok(())
    }

    /// Sees to it that no new batch has the number of one that has its session. Once is enough:
    /// nobody else can put the inbox back while this program has it.
    async fn number_on(&mut self, claimed: &[BatchId]) -> Result<(), InboxError> {
        let ids = claimed.to_vec();
        let write = move |tx: &mut Tx<'_>| {
            let raised = ids.into_iter().map(|id| Ok((id, tx.number_above(id)?)));
            raised.collect::<Result<Vec<_>, InboxError>>()
        };
        for (id, is_news) in self.inbox.write(write).await? {
            if is_news {
                tracing::warn!(
                    "the inbox is older than the session list, which knows batches up to {id}: it \
                     was put back from a copy. What it held then may start a second time"
                );
            }
        }
        Ok(())
    }

    fn publish_roster(&mut self) {
        self.roster.connected = self.standing.keys();
        self.wires.roster.send_replace(Arc::new(self.roster.clone()));
    }

    /// Ends what has ended, and removes what need not be kept.
    pub(super) async fn keep_house(&mut self, now: u64) -> Result<(), InboxError> {
        let (leases, queues) =
            self.inbox.read(|look| Ok((look.leases()?, look.waiting_sessions()?))).await?;
        for lease in leases {
            let holder = self.roster.holder(&lease.session);
            if !(Claim { lease: &lease, holder }).is_held(now) {
                let session = lease.session.clone();
                self.inbox.write(move |tx| tx.end_lease(&session)).await?;
                self.are_claims_stale = true;
            }
        }
        for queue in queues {
            if !self.roster.is_gone(&queue.session) {
                continue;
            }
            let session = queue.session.clone();
            self.inbox
                .write(move |tx| match &session.session_id {
                    Some(id) => tx.forget_session(id, now),
                    None => tx.forget_key(&session.key, now),
                })
                .await?;
            self.attempts.remove(&queue.session);
            self.are_claims_stale = true;
        }
        if now >= self.retain_at_ms {
            self.retain_at_ms = now + RETAIN_MS;
            let retention = self.parts.retention;
            let removed = self.inbox.write(move |tx| tx.retain(now, &retention)).await?;
            if removed.is_more {
                self.retain_at_ms = now;
            }
        }
        Ok(())
    }

    /// Takes in a sign of life.
    pub(super) async fn heard(&mut self, sign: Sign) {
        match sign {
            Sign::Connected(session) => {
                self.standing.connected(session);
                self.publish_roster();
            }
            Sign::Left(session) => {
                self.standing.left(&session);
                self.publish_roster();
            }
            Sign::Alive(session, at_ms, is_channel) => {
                if is_channel {
                    self.standing.heard(&session, at_ms);
                }
                if let Some(id) = session.session_id {
                    self.renew(id, at_ms).await;
                }
            }
            Sign::Acknowledged => self.are_claims_stale = true,
            Sign::Legacy(keys, at_ms) => {
                if self.standing.legacy(keys, at_ms) {
                    self.publish_roster();
                }
            }
        }
    }

    async fn renew(&mut self, session_id: String, at_ms: u64) {
        let renewed = self.renewed.entry(session_id.clone()).or_default();
        if at_ms < renewed.saturating_add(RENEW_MS) {
            return;
        }
        *renewed = at_ms;
        if self.renewed.len() > 1000 {
            self.renewed.retain(|_, at| now_ms() < at.saturating_add(RENEW_MS));
        }
        let written = self.inbox.write(move |tx| tx.renew_lease(&session_id, at_ms)).await;
        if let Err(error) = written {
            tracing::warn!(%error, "cannot renew a lease");
        }
    }
}
