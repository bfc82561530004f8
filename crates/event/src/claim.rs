//! Who already works on something: a lease that begins at the spawn and has to be renewed.
//!
//! It begins with the batch and not with the agent's first sign of life, so an agent that takes
//! minutes to start is not given a sibling. It ends with the session, or when the session has
//! been silent for too long: a dead or hung holder must not keep others from working.

use crate::{Event, Object, Topic, objects_of};

/// How long a holder may be silent. Agents think for minutes; half an hour without a hook, a
/// message or a change in the pane is not thinking.
pub const LEASE_MS: u64 = 30 * 60_000;

/// A session's claim on what it was spawned for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The id of the session that holds it.
    pub session: String,
    /// The topic of the batch.
    pub topic: Topic,
    /// What inside the topic.
    pub objects: Vec<Object>,
    /// When it was spawned, or last gave a sign of life.
    pub renewed_ms: u64,
}

/// What is known of the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Listed, and its agent runs or is about to.
    Alive,
    /// Ended, stopped or removed.
    Gone,
    /// Nobody could say; the lease's own time decides.
    Unknown,
}

/// A lease with what was just seen of its holder.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// What was granted.
    pub lease: &'a Lease,
    /// Who has it.
    pub holder: Holder,
}

impl Claim<'_> {
    /// Whether it still counts.
    pub fn is_held(&self, now_ms: u64) -> bool {
        self.holder != Holder::Gone && now_ms < self.lease.renewed_ms.saturating_add(LEASE_MS)
    }

    /// Whether the event is about what is claimed. Sources are told apart, so is case in keys.
    pub fn covers(&self, event: &Event<'_>) -> bool {
        event.topic == Some(&self.lease.topic)
            && objects_of(event).iter().any(|object| self.lease.objects.contains(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::payload;

    #[test]
    fn a_lease_ends_with_its_holder_or_its_time() {
        let lease = Lease {
            session: "s".to_owned(),
            topic: Topic::parse("github:o/r").unwrap(),
            objects: vec![Object::Issue(7)],
            renewed_ms: 1000,
        };
        let end = 1000 + LEASE_MS;
        for (holder, now, expected) in [
            (Holder::Alive, 0, true),
            (Holder::Alive, end - 1, true),
            (Holder::Alive, end, false),
            (Holder::Alive, end + 1, false),
            (Holder::Unknown, end - 1, true),
            (Holder::Unknown, end, false),
            (Holder::Gone, 1000, false),
        ] {
            let claim = Claim { lease: &lease, holder };
            assert_eq!(claim.is_held(now), expected, "{holder:?} {now}");
        }
        let covers = |topic: &str, number: &str| {
            let (topic, payload) = (Topic::parse(topic), payload(&[("issue.number", number)]));
            let topic = topic.ok();
            let event =
                Event { topic: topic.as_ref(), kind: "issues", sender: None, payload: &payload };
            Claim { lease: &lease, holder: Holder::Alive }.covers(&event)
        };
        assert!(covers("github:o/r", "7"));
        assert!(!covers("github:o/r", "8"));
        assert!(!covers("gitea:o/r", "7"));
        assert!(!covers("", "7"));
    }
}
