//! Whether an event starts a session: the standing watches, and what keeps them from acting.
//!
//! ```text
//! watches ── no row ─▶ unwatched        rows refuse ─▶ declined
//!    │ a row accepts
//! CI without a failing outcome, and the row has no rules ─▶ not failing
//!    │
//! a stranger's words, where that is asked ─▶ gated
//!    │
//! a lease on the object, or a listening session ─▶ owned
//!    │
//! wanted: the event waits for dispatch
//! ```
//!
//! The same is asked again of each waiting event before its batch is frozen.

use crate::{
    Association, Audience, Claim, Event, Filter, Login, Refusal, Routed, Subscription, Verdict,
    is_ci, is_failing, passes_association, route,
};

/// A session counts as listening for so long after it was last heard.
pub const LISTENER_MS: u64 = 2 * 60_000;

/// A running session's own filter.
#[derive(Clone, Copy, Debug)]
pub struct Listener<'a> {
    /// How the session is called in reasons.
    pub session: &'a str,
    /// Its subscriptions.
    pub filter: &'a Filter,
    /// When its end of the line last answered; a stopped or hung one does not keep others out.
    pub heard_ms: u64,
}

/// Why a session owns an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It was spawned for the same thing and is still at it.
    Lease,
    /// It listens, and the event is a CI result that it gets.
    Subscribed,
    /// It listens, and declared with an `include` that such events are its own, or was started
    /// for what they are about.
    Declared,
}

/// What becomes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consideration<'a> {
    /// No standing watch is about it.
    Unwatched,
    /// Watches are about it and refuse: places in the filter with reasons.
    Declined(Vec<(usize, Refusal)>),
    /// A CI result that is no failure, and no rule asked for those.
    NotFailing,
    /// The author is a stranger, and the box does not act for strangers.
    Gated,
    /// A session has it already.
    Owned(&'a str, Ownership),
    /// It starts a session, by the watch at this place.
    Wanted(usize),
}

/// Decides about one event. `watches` are governed by the policy already; `minimum` is what is
/// asked of authors in public repositories, if anything is.
pub fn consider<'a>(
    watches: &Filter,
    event: &Event<'_>,
    me: Option<&Login>,
    minimum: Option<Association>,
    claims: &[Claim<'a>],
    listeners: &[Listener<'a>],
    now_ms: u64,
) -> Consideration<'a> {
    let place = match route(watches, event, Audience::Standing, me, now_ms) {
        Routed::Disabled | Routed::OffTopic => return Consideration::Unwatched,
        Routed::Refused(refusals) => return Consideration::Declined(refusals),
        Routed::Accepted(place) => place,
    };
    let is_ci = is_ci(event.kind);
    if is_ci && !is_failing(event) && !watches.rows[place].is_declarative() {
        return Consideration::NotFailing;
    }
    if minimum.is_some_and(|minimum| !passes_association(event, minimum)) {
        return Consideration::Gated;
    }
    if let Some(claim) = claims.iter().find(|it| it.is_held(now_ms) && it.covers(event)) {
        return Consideration::Owned(&claim.lease.session, Ownership::Lease);
    }
    let is_heard = |it: &&Listener<'_>| now_ms < it.heard_ms.saturating_add(LISTENER_MS);
    for listener in listeners.iter().filter(is_heard).filter(|it| it.filter.enabled) {
        let verdicts = listener.filter.verdicts(event, Audience::Session, me, now_ms);
        let rows = listener.filter.rows.iter().zip(verdicts);
        let mut accepting = rows.filter(|(_, verdict)| *verdict == Verdict::Accepted);
        let ownership = if is_ci {
            accepting.next().map(|_| Ownership::Subscribed)
        } else {
            // Excludes never claim, nor does a row without rules: it only listens.
            let declares = |row: &Subscription| row.include.is_some() || !row.objects.is_empty();
            accepting.find(|(row, _)| declares(row)).map(|_| Ownership::Declared)
        };
        if let Some(ownership) = ownership {
            return Consideration::Owned(listener.session, ownership);
        }
    }
    Consideration::Wanted(place)
}

#[cfg(test)]
mod tests;
