//! Which waiting events become a batch now, which wait on, and until when.
//!
//! Events wait in one lane per topic. A lane starts at once after a quiet time; while its window
//! is open, what comes is coalesced into the next batch. Free slots go round: a lane's turn comes
//! by when its oldest event arrived or when it last started, whichever is later, so a busy key
//! goes behind all that were waiting, and nothing that arrives later overtakes. A sender without
//! budget holds back its own events only.
//!
//! All times are the deliveries' own or the caller's, so downtime shortens nothing and drops
//! nothing: after a restart the same lanes give the same answer.

use crate::{Budgets, Exhausted, Start, Topic};

/// An event that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its place in the inbox; the order of arrival.
    pub sequence: u64,
    /// When it was stored.
    pub received_ms: u64,
    /// Who acted.
    pub sender: Option<String>,
}

/// What waits for one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// What it is about.
    pub topic: Topic,
    /// The events, those of a deferred batch included, in any order.
    pub waiting: Vec<Member>,
    /// When its last batch was started, if it had one.
    pub started_ms: Option<u64>,
    /// Whether a batch of it is being handed over.
    pub is_running: bool,
    /// Not before this, after an attempt that failed.
    pub not_before_ms: u64,
}

/// What limits the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time between two batches of one topic.
    pub window_ms: u64,
    /// How many hook sessions there may be.
    pub cap: usize,
    /// How many may be started.
    pub budgets: Budgets,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window_ms: 60_000, cap: 4, budgets: Budgets::default() }
    }
}

/// A batch to freeze and hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What it is about.
    pub topic: Topic,
    /// Its events' places in the inbox, in order.
    pub members: Vec<u64>,
}

/// Why events wait on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A batch of the topic is being handed over.
    Running,
    /// An attempt failed; the next is at this time.
    Retry(u64),
    /// The window is open until this time.
    Window(u64),
    /// There are as many hook sessions as there may be.
    Cap,
    /// A budget is used up.
    Budget(Exhausted),
}

impl Hold {
    /// When it ends by itself.
    pub fn until_ms(&self) -> Option<u64> {
        match self {
            Self::Retry(until) | Self::Window(until) => Some(*until),
            Self::Budget(exhausted) => exhausted.frees_ms,
            Self::Running | Self::Cap => None,
        }
    }
}

/// Events that wait on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What they are about.
    pub topic: Topic,
    /// Their places in the inbox, in order.
    pub members: Vec<u64>,
    /// Why.
    pub hold: Hold,
}

/// What to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// Start these, in this order.
    pub batches: Vec<Batch>,
    /// These wait on.
    pub held: Vec<Held>,
}

impl Dispatch {
    /// When to look again if nothing else happens.
    pub fn wake_ms(&self) -> Option<u64> {
        self.held.iter().filter_map(|held| held.hold.until_ms()).min()
    }
}

/// Decides about every waiting event: each is in exactly one batch or held for one reason.
///
/// `in_use` counts hook sessions and batches being handed over; `starts` are those of the last
/// day at least.
pub fn dispatch(
    lanes: &[Lane],
    in_use: usize,
    starts: &[Start],
    limits: &Limits,
    now_ms: u64,
) -> Dispatch {
    let mut result = Dispatch::default();
    let mut starts = starts.to_vec();
    let mut free = limits.cap.saturating_sub(in_use);
    // INVARIANT: a lane's turn does not move while it waits and no later one is before it
    // (every_waiting_lane_gets_its_turn).
    let mut order: Vec<(u64, &Lane)> = lanes.iter().filter_map(turn).collect();
    order.sort_by_key(|(turn, lane)| (*turn, &lane.topic));
    for (_, lane) in order {
        let mut waiting: Vec<&Member> = lane.waiting.iter().collect();
        waiting.sort_by_key(|member| member.sequence);
        if let Some(hold) = hold_of_lane(lane, limits, now_ms) {
            result.hold(lane, &waiting, hold);
            continue;
        }
        let source = lane.topic.source();
        let mut members = Vec::new();
        for member in waiting {
            let sender = member.sender.as_deref();
            match limits.budgets.check(&starts, source, sender, now_ms) {
                Ok(()) => members.push(member),
                Err(exhausted) => result.hold(lane, &[member], Hold::Budget(exhausted)),
            }
        }
        if members.is_empty() {
            continue;
        }
        if free == 0 {
            result.hold(lane, &members, Hold::Cap);
            continue;
        }
        free -= 1;
        let mut senders: Vec<String> = members.iter().filter_map(|it| it.sender.clone()).collect();
        senders.sort();
        senders.dedup();
        starts.push(Start { at_ms: now_ms, source: source.clone(), senders });
        result.batches.push(Batch { topic: lane.topic.clone(), members: places(&members) });
    }
    result
}

impl Dispatch {
    fn hold(&mut self, lane: &Lane, members: &[&Member], hold: Hold) {
        let topic = lane.topic.clone();
        // The members of one lane come one after another, so one reason is one entry.
        match self.held.last_mut() {
            Some(last) if last.topic == topic && last.hold == hold => {
                last.members.extend(places(members));
            }
            _ => self.held.push(Held { topic, members: places(members), hold }),
        }
    }
}

fn turn(lane: &Lane) -> Option<(u64, &Lane)> {
    let oldest = lane.waiting.iter().map(|member| member.received_ms).min()?;
    Some((oldest.max(lane.started_ms.unwrap_or(0)), lane))
}

fn hold_of_lane(lane: &Lane, limits: &Limits, now_ms: u64) -> Option<Hold> {
    let window = lane.started_ms.map_or(0, |started| started.saturating_add(limits.window_ms));
    if lane.is_running {
        Some(Hold::Running)
    } else if now_ms < lane.not_before_ms {
        Some(Hold::Retry(lane.not_before_ms))
    } else if now_ms < window {
        Some(Hold::Window(window))
    } else {
        None
    }
}

fn places(members: &[&Member]) -> Vec<u64> {
    members.iter().map(|member| member.sequence).collect()
}

#[cfg(test)]
mod tests;
