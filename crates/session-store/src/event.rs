//! One line of the journal.

use agent_box_session::{LaunchId, SessionId, SessionName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A session was added.
    Added,
    /// A session was removed.
    Removed,
    /// A session was stopped by somebody.
    Stopped,
    /// A new launch was asked for.
    Restarted,
    /// An id was attached, minted or taken away.
    Settled,
    /// tmux was asked for a session.
    Spawn,
    /// The gate was passed and the agent started.
    Started,
    /// The agent ended.
    Exit,
    /// Something unwanted was ended.
    Reap,
    /// A launch or command was refused.
    Refusal,
    /// A session was stopped because its agent ended cleanly.
    Park,
    /// A live session was taken over.
    Adopt,
    /// A wanted session cannot be started.
    Trouble,
    /// A damaged registry was repaired.
    Repair,
    /// A change was undone.
    Undo,
    /// The registry was changed by another program or by hand.
    HandEdit,
    /// The supervisor itself started, stopped or failed.
    Supervisor,
}

impl EventKind {
    const ALL: [(Self, &'static str); 17] = [
        (Self::Added, "added"),
        (Self::Removed, "removed"),
        (Self::Stopped, "stopped"),
        (Self::Restarted, "restarted"),
        (Self::Settled, "settled"),
        (Self::Spawn, "spawn"),
        (Self::Started, "started"),
        (Self::Exit, "exit"),
        (Self::Reap, "reap"),
        (Self::Refusal, "refusal"),
        (Self::Park, "park"),
        (Self::Adopt, "adopt"),
        (Self::Trouble, "trouble"),
        (Self::Repair, "repair"),
        (Self::Undo, "undo"),
        (Self::HandEdit, "hand-edit"),
        (Self::Supervisor, "supervisor"),
    ];

    /// The kind as the journal spells it.
    pub fn as_str(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.expect("BUG: the table lists every kind").1
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, spelled)| *spelled == text).map(|(kind, _)| *kind)
    }
}

/// Something that happened, for `log` and `why`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: EventKind,
    /// To which session, if to one.
    pub session: Option<SessionId>,
    /// The session's name then.
    pub name: Option<SessionName>,
    /// In which launch.
    pub launch: Option<LaunchId>,
    /// Who did it, in words for people.
    pub by: Option<String>,
    /// For people: one sentence fragment.
    pub text: String,
    /// For programs: exit codes, durations, pids.
    pub details: Vec<(String, String)>,
}

impl Event {
    /// An event about no particular session.
    pub fn new(at: Timestamp, kind: EventKind, text: impl Into<String>) -> Self {
        Self {
            at,
            kind,
            session: None,
            name: None,
            launch: None,
            by: None,
            text: text.into(),
            details: Vec::new(),
        }
    }

    /// Says which session it is about.
    #[must_use]
    pub fn about(mut self, session: SessionId, name: &SessionName) -> Self {
        self.session = Some(session);
        self.name = Some(name.clone());
        self
    }

    /// Says which launch it is about.
    #[must_use]
    pub fn in_launch(mut self, launch: LaunchId) -> Self {
        self.launch = Some(launch);
        self
    }

    /// Says who did it.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.by = Some(who.into());
        self
    }

    /// Adds one detail for programs.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "numbers are handed over as they are")]
    pub fn detail(mut self, key: &str, value: impl ToString) -> Self {
        self.details.push((key.to_owned(), value.to_string()));
        self
    }
}

/// How an event is spelled: one JSON object a line, absent members left out.
#[derive(Serialize, Deserialize)]
struct EventJson {
    at: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    text: String,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    details: serde_json::Map<String, Value>,
}

impl Event {
    /// The event as one line of JSON, with its newline.
    pub(crate) fn print(&self) -> String {
        let json = EventJson {
            at: self.at.to_string(),
            kind: self.kind.as_str().to_owned(),
            session: self.session.map(|id| id.to_string()),
            name: self.name.as_ref().map(ToString::to_string),
            launch: self.launch.map(|id| id.to_string()),
            by: self.by.clone(),
            text: self.text.clone(),
            details: self
                .details
                .iter()
                .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
                .collect(),
        };
        let mut line = serde_json::to_string(&json).expect("BUG: texts print");
        line.push('\n');
        line
    }

    /// Reads a line; `None` for a torn one and for kinds that a newer program added.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let json: EventJson = serde_json::from_slice(line).ok()?;
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Some(Self {
            at: parse_time(&json.at)?,
            kind: EventKind::parse(&json.kind)?,
            session: json.session.and_then(|id| id.parse().ok()),
            name: json.name.and_then(|name| SessionName::parse(&name).ok()),
            launch: json.launch.and_then(|id| id.parse().ok()),
            by: json.by,
            text: json.text,
            details: json.details.into_iter().map(|(key, value)| (key, text(value))).collect(),
        })
    }
}

/// Reads back what [`Timestamp`] prints: `2026-12-01T08:00:00.000Z`.
fn parse_time(text: &str) -> Option<Timestamp> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let millis = number(20..23)?;
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years start in March here, so that the leap day is a year's last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (153 * month + 2) / 5 + (day - 1) - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(Timestamp::from_millis(seconds * 1000 + millis))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_are_read_as_they_were_printed(millis in 0u64..253_402_300_800_000) {
            let time = Timestamp::from_millis(millis);
            prop_assert_eq!(parse_time(&time.to_string()), Some(time));
        }
    }

    #[test]
    fn events_are_read_as_they_were_printed() {
        let name = SessionName::parse("main").unwrap();
        for (kind, _) in EventKind::ALL {
            let event = Event::new(Timestamp::from_millis(1_796_083_199_999), kind, "näh\n\"")
                .about(crate::clock::mint_session(), &name)
                .in_launch(crate::clock::mint_launch())
                .by("cli")
                .detail("code", 1);
            let line = event.print();
            assert!(line.ends_with("}\n") && !line.trim_end().contains('\n'), "{line}");
            assert_eq!(Event::parse(line.as_bytes()), Some(event));
        }
        assert_eq!(Event::parse(b"{\"at\":\"2026-"), None);
    }
}
