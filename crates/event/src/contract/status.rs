//! What the receiver learns about sessions from the wrapper's `status --json` and `deliver`, so
//! that it need not know the registry, tmux or any agent.

use crate::{BatchId, Json, Number};

/// The answer of `status --json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Hook sessions that count against the cap.
    pub live: u64,
    /// The cap.
    pub max: u64,
    /// Every listed session.
    pub sessions: Vec<SessionStatus>,
    /// The highest batch that has its session, of each inbox: an inbox that is put back from an
    /// older copy must not give these numbers to other batches.
    pub claimed: Vec<BatchId>,
}

/// One session of a [`Status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// Its id.
    pub session_id: String,
    /// Its name.
    pub name: String,
    /// What runs in it, as the registry says.
    pub agent: String,
    /// Whether it is wanted and not stopped or parked: whether it can still hold a claim.
    pub is_active: bool,
}

/// The answer of `deliver`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The agent has it.
    Delivered,
    /// Nothing was lost, and the agent has not seen it: why, for whoever asks.
    Waiting(String),
    /// There is no such session any more.
    Gone,
}

const HOOK_SESSIONS: &str = "hookSessions";
const LIVE: &str = "live";
const MAX: &str = "max";
const SESSIONS: &str = "sessions";
const CLAIMED: &str = "claimedUpTo";
const SESSION_ID: &str = "sessionId";
const NAME: &str = "name";
const AGENT: &str = "agent";
const ACTIVE: &str = "active";
const TOLD: &str = "told";
const REASON: &str = "reason";

impl Status {
    /// The status as it is printed.
    pub fn to_json(&self) -> Json {
        let number = |number: u64| Json::Number(Number::integer(number));
        let hooks = object(vec![(LIVE, number(self.live)), (MAX, number(self.max))]);
        let sessions = self.sessions.iter().map(SessionStatus::to_json).collect();
        let claimed = self.claimed.iter().map(|id| Json::Text(id.to_string())).collect();
        object(vec![
            (HOOK_SESSIONS, hooks),
            (SESSIONS, Json::List(sessions)),
            (CLAIMED, Json::List(claimed)),
        ])
    }

    /// Reads a status; `None` if a part is missing, for less than all is not a status.
    pub fn read(json: &Json) -> Option<Self> {
        let hooks = json.get(HOOK_SESSIONS)?;
        let Json::List(sessions) = json.get(SESSIONS)? else { return None };
        let Json::List(claimed) = json.get(CLAIMED)? else { return None };
        let batch = |id: &Json| BatchId::parse(id.as_text()?).ok();
        Some(Self {
            live: hooks.get(LIVE)?.as_u64()?,
            max: hooks.get(MAX)?.as_u64()?,
            sessions: sessions.iter().map(SessionStatus::read).collect::<Option<_>>()?,
            claimed: claimed.iter().map(batch).collect::<Option<_>>()?,
        })
    }
}

impl SessionStatus {
    fn to_json(&self) -> Json {
        object(vec![
            (SESSION_ID, Json::text(&self.session_id)),
            (NAME, Json::text(&self.name)),
            (AGENT, Json::text(&self.agent)),
            (ACTIVE, Json::Bool(self.is_active)),
        ])
    }

    fn read(json: &Json) -> Option<Self> {
        let text = |name| json.get(name)?.as_text().map(str::to_owned);
        let Json::Bool(is_active) = json.get(ACTIVE)? else { return None };
        Some(Self {
            session_id: text(SESSION_ID)?,
            name: text(NAME)?,
            agent: text(AGENT)?,
            is_active: *is_active,
        })
    }
}

impl Told {
    /// The answer as it is printed.
    pub fn to_json(&self) -> Json {
        let (word, reason) = match self {
            Self::Delivered => ("delivered", None),
            Self::Waiting(reason) => ("waiting", Some(reason)),
            Self::Gone => ("gone", None),
        };
        let mut members = vec![(TOLD, Json::text(word))];
        members.extend(reason.map(|reason| (REASON, Json::text(reason))));
        object(members)
    }

    /// Reads an answer; `None` is an answer that says nothing, and then nothing is known.
    pub fn read(json: &Json) -> Option<Self> {
        match json.get(TOLD)?.as_text()? {
            "delivered" => Some(Self::Delivered),
            "waiting" => Some(Self::Waiting(json.get(REASON)?.as_text()?.to_owned())),
            "gone" => Some(Self::Gone),
            _ => None,
        }
    }
}

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_what_was_written_and_no_part_of_it() {
        let session = SessionStatus {
            session_id: "i".to_owned(),
            name: "main".to_owned(),
            agent: "claude".to_owned(),
            is_active: true,
        };
        let claimed = vec![BatchId { inbox: 7, number: 3 }];
        let status = Status { live: 1, max: 4, sessions: vec![session], claimed };
        assert_eq!(Status::read(&status.to_json()), Some(status.clone()));
        let Json::Object(members) = status.to_json() else { panic!("not an object") };
        for name in [HOOK_SESSIONS, SESSIONS, CLAIMED] {
            let rest = members.iter().filter(|(key, _)| key != name).cloned().collect();
            assert_eq!(Status::read(&Json::Object(rest)), None, "{name}");
        }
        for told in [Told::Delivered, Told::Waiting("a dialog is open".to_owned()), Told::Gone] {
            assert_eq!(Told::read(&told.to_json()), Some(told));
        }
        assert_eq!(Told::read(&Json::Null), None);
        assert_eq!(Told::read(&object(vec![(TOLD, Json::text("perhaps"))])), None);
    }
}
