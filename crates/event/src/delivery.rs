//! One signed request: its id, whether it came before, what became of it, how long it is kept.

use std::fmt;

use thiserror::Error;

use crate::source::shortened;

/// The id that a sender gave a delivery: 1 to 200 printable ASCII characters.
///
/// It stands in a header that no signature covers, so it only ever separates deliveries and
/// never joins different bodies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(String);

/// Why a text cannot be a delivery's id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{}` cannot be a delivery id; use 1 to 200 printable ASCII characters without blanks",
    .0.escape_debug()
)]
pub struct ParseDeliveryIdError(String);

impl DeliveryId {
    /// Accepts a whole id.
    pub fn parse(text: &str) -> Result<Self, ParseDeliveryIdError> {
        let legal = !text.is_empty()
            && text.len() <= 200
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if legal { Ok(Self(text.to_owned())) } else { Err(ParseDeliveryIdError(shortened(text))) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The SHA-256 of a body as it was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyDigest(pub [u8; 32]);

/// A delivery that the inbox still knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Its id.
    pub id: DeliveryId,
    /// Its body's digest.
    pub digest: BodyDigest,
}

/// How a delivery relates to those before it from the same source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival<'a> {
    /// Nothing like it is known.
    New,
    /// Same id, same body: answered 200, counted, without effect.
    Duplicate,
    /// A known id with another body: an event of its own, flagged.
    OtherBody,
    /// A known body under a new id: an event of its own, shown with the one it equals.
    SameContent(&'a DeliveryId),
}

/// Compares a delivery with what is remembered of its source: what has its id or its digest.
pub fn judge_arrival<'a>(
    id: &DeliveryId,
    digest: &BodyDigest,
    remembered: &'a [Remembered],
) -> Arrival<'a> {
    let same_id = || remembered.iter().filter(|it| it.id == *id);
    if same_id().any(|it| it.digest == *digest) {
        Arrival::Duplicate
    } else if same_id().next().is_some() {
        Arrival::OtherBody
    } else if let Some(twin) = remembered.iter().find(|it| it.digest == *digest) {
        Arrival::SameContent(&twin.id)
    } else {
        Arrival::New
    }
}

/// Why something waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The key's window.
    Window,
    /// As many hook sessions as may be.
    Cap,
    /// A session has claimed what it is about.
    Claim,
    /// The day's starts are used up.
    Budget,
    /// The last attempt failed and the next one is timed.
    Retry,
    /// Its session has not taken it yet.
    Session,
    /// Nobody can say which sessions there are: their list cannot be read.
    Sessions,
}

impl WaitReason {
    const ALL: [Self; 7] = [
        Self::Window,
        Self::Cap,
        Self::Claim,
        Self::Budget,
        Self::Retry,
        Self::Session,
        Self::Sessions,
    ];

    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Cap => "cap",
            Self::Claim => "claim",
            Self::Budget => "budget",
            Self::Retry => "retry",
            Self::Session => "session",
            Self::Sessions => "sessions",
        }
    }
}

/// What has become of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Stored, and not looked at yet.
    Received,
    /// Came before.
    Duplicate,
    /// Wanted by a session or a watch.
    Matched,
    /// Wanted by nobody, and why.
    Declined(String),
    /// Wanted, and not yet.
    Waiting(WaitReason),
    /// Told to a session, by id.
    Delivered(String),
    /// Started a session, by id.
    Spawned(String),
    /// Given up after the last attempt, and why; can be replayed.
    Failed(String),
}

impl DeliveryState {
    /// The word that is stored and shown, without the detail.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Duplicate => "duplicate",
            Self::Matched => "matched",
            Self::Declined(_) => "declined",
            Self::Waiting(_) => "waiting",
            Self::Delivered(_) => "delivered",
            Self::Spawned(_) => "spawned",
            Self::Failed(_) => "failed",
        }
    }

    /// What is stored and shown beside the word.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Received | Self::Duplicate | Self::Matched => None,
            Self::Waiting(reason) => Some(reason.as_str()),
            Self::Declined(it) | Self::Delivered(it) | Self::Spawned(it) | Self::Failed(it) => {
                Some(it)
            }
        }
    }

    /// Reads a stored word and its detail; `None` is a state of a newer inbox, and unsettled.
    pub fn read(word: &str, detail: Option<&str>) -> Option<Self> {
        let text = || detail.map(str::to_owned);
        match word {
            "received" => Some(Self::Received),
            "duplicate" => Some(Self::Duplicate),
            "matched" => Some(Self::Matched),
            "declined" => text().map(Self::Declined),
            "waiting" => {
                let reason = WaitReason::ALL.into_iter().find(|it| Some(it.as_str()) == detail);
                reason.map(Self::Waiting)
            }
            "delivered" => text().map(Self::Delivered),
            "spawned" => text().map(Self::Spawned),
            "failed" => text().map(Self::Failed),
            _ => None,
        }
    }

    /// Whether nothing more will happen to it by itself.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Received | Self::Matched | Self::Waiting(_))
    }
}

impl fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail() {
            None => f.pad(self.as_str()),
            Some(detail) => write!(f, "{} ({detail})", self.as_str()),
        }
    }
}

/// For so long at least a delivery is remembered, that its duplicates are known.
pub const REMEMBER_MS: u64 = 7 * 24 * 3_600_000;

/// Whether retention may remove a delivery: never one that is unsettled, nor within
/// [`REMEMBER_MS`] of when it was settled, whatever the operator's `keep_ms`.
pub fn may_forget(state: &DeliveryState, settled_ms: u64, keep_ms: u64, now_ms: u64) -> bool {
    state.is_settled() && now_ms >= settled_ms.saturating_add(keep_ms.max(REMEMBER_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> DeliveryId {
        DeliveryId::parse(text).unwrap()
    }

    #[test]
    fn duplicates_need_the_same_id_and_the_same_body() {
        let (one, two) = (BodyDigest([1; 32]), BodyDigest([2; 32]));
        let known = [Remembered { id: id("a"), digest: one }];
        let check = |name: &str, digest, expected: &Arrival<'_>| {
            assert_eq!(judge_arrival(&id(name), &digest, &known), *expected);
        };
        check("a", one, &Arrival::Duplicate);
        check("a", two, &Arrival::OtherBody);
        check("b", one, &Arrival::SameContent(&id("a")));
        check("b", two, &Arrival::New);
        let both = [known[0].clone(), Remembered { id: id("a"), digest: two }];
        assert_eq!(
            judge_arrival(&id("a"), &two, &both),
            Arrival::Duplicate,
            "a retry of the second"
        );
    }

    #[test]
    fn retention_keeps_the_unsettled_and_a_week_of_the_rest() {
        let end = 1000 + REMEMBER_MS;
        let settled = DeliveryState::Declined("x".to_owned());
        assert!(!may_forget(&settled, 1000, 0, end - 1));
        assert!(may_forget(&settled, 1000, 0, end));
        assert!(may_forget(&settled, 1000, 0, end + 1));
        assert!(!may_forget(&settled, 1000, REMEMBER_MS + 1, end));
        for state in [
            DeliveryState::Received,
            DeliveryState::Matched,
            DeliveryState::Waiting(WaitReason::Cap),
        ] {
            assert!(!may_forget(&state, 0, 0, u64::MAX), "{state}");
        }
        assert_eq!(DeliveryState::Waiting(WaitReason::Cap).to_string(), "waiting (cap)");
    }

    #[test]
    fn states_read_what_is_stored() {
        let text = || "why".to_owned();
        let mut states = vec![
            DeliveryState::Received,
            DeliveryState::Duplicate,
            DeliveryState::Matched,
            DeliveryState::Declined(text()),
            DeliveryState::Delivered(text()),
            DeliveryState::Spawned(text()),
            DeliveryState::Failed(text()),
        ];
        states.extend(WaitReason::ALL.map(DeliveryState::Waiting));
        for state in states {
            assert_eq!(DeliveryState::read(state.as_str(), state.detail()), Some(state));
        }
        for (word, detail) in
            [("waiting", None), ("waiting", Some("x")), ("failed", None), ("", None)]
        {
            assert_eq!(DeliveryState::read(word, detail), None, "{word}");
        }
    }

    #[test]
    fn ids_are_printable_and_short() {
        assert_eq!(id("72d3162e-cc78-11e3").to_string(), "72d3162e-cc78-11e3");
        for bad in ["", "a b", "a\n", "ü", &"x".repeat(201)] {
            assert!(DeliveryId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
