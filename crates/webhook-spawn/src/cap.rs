//! How many hook sessions there may be, and how many there are.

use std::collections::BTreeSet;

use agent_box_session::Registry;
use agent_box_tmux_driver::{Tmux, TmuxError};

/// What hook sessions' names begin with.
pub(crate) const PREFIX: &str = "hook-";

/// The cap when nobody sets one.
const DEFAULT: u64 = 4;

/// The ceiling, and what is wrong with what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    pub(crate) max: u64,
    pub(crate) complaint: Option<String>,
}

/// Reads the ceiling; 0 lets no session start.
pub(crate) fn cap(given: Option<&str>) -> Cap {
    let Some(text) = given else { return Cap { max: DEFAULT, complaint: None } };
    match text.trim().parse() {
        Ok(max) => Cap { max, complaint: None },
        Err(_) => Cap {
            max: DEFAULT,
            complaint: Some(format!(
                "{} is `{}`, which is not a number; {DEFAULT} counts",
                agent_box_session::env::HOOK_SESSION_MAX,
                text.escape_debug()
            )),
        },
    }
}

/// What tmux says of hook sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    /// The names of those that have a terminal.
    Seen(BTreeSet<String>),
    /// It gave no answer, for this reason.
    Unknown(String),
}

/// Asks tmux, once and with a deadline.
pub(crate) fn look(tmux: &Tmux) -> Live {
    match tmux.snapshot() {
        Ok(snapshot) => {
            let names = snapshot.sessions.into_iter().map(|session| session.name);
            Live::Seen(names.filter(|name| name.starts_with(PREFIX)).collect())
        }
        Err(TmuxError::NoServer { .. }) => Live::Seen(BTreeSet::new()),
        Err(error) => Live::Unknown(error.to_string()),
    }
}

/// The hook sessions that count: those that shall run together with those that do.
///
/// A stopped one counts while its terminal is there; without an answer of tmux all that are
/// listed do.
pub(crate) fn in_use(registry: &Registry, live: &Live) -> u64 {
    let usable = registry.entries().map(|(name, entry)| (name.as_str(), entry.stopped));
    // Nobody can say whether an entry that cannot be read is stopped.
    let unusable = registry.unusable().iter().map(|entry| (entry.key.as_str(), false));
    let listed = usable.chain(unusable).filter(|(name, _)| name.starts_with(PREFIX));
    let count = match live {
        Live::Seen(names) => {
            let wanted = listed.filter(|(_, stopped)| !stopped).map(|(name, _)| name);
            wanted.chain(names.iter().map(String::as_str)).collect::<BTreeSet<&str>>().len()
        }
        Live::Unknown(_) => listed.count(),
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use agent_box_session::{Agent, Entry, SessionName, SessionSpec, Unusable};

    use super::*;

    #[test]
    fn a_cap_that_is_no_number_is_four_and_said_so() {
        for (given, max) in [(None, 4), (Some("0"), 0), (Some(" 12 "), 12)] {
            assert_eq!(cap(given), Cap { max, complaint: None });
        }
        for given in ["", "x", "-1", "1.5"] {
            let cap = cap(Some(given));
            assert_eq!(cap.max, 4);
            assert!(cap.complaint.unwrap().contains("not a number"), "{given}");
        }
    }

    #[test]
    fn wanted_and_live_sessions_count_once_each() {
        let entry = |name: &str, stopped| {
            let mut entry = Entry {
                id: None,
                generation: 1,
                spec: SessionSpec::new(Agent::Claude),
                conversation: None,
                has_run: false,
                stopped: false,
                stopped_by: None,
                created_by: None,
            };
            entry.stopped = stopped;
            (SessionName::parse(name).unwrap(), entry)
        };
        let broken = Unusable { key: "hook-b".to_owned(), id: None, reason: String::new() };
        let entries = vec![
            entry("hook-a", false),
            entry("hook-stopped", true),
            entry("main", false),
            entry("hook", false),
        ];
        let registry = Registry::from_parts(entries, vec![broken]);
        let seen = |names: &[&str]| Live::Seen(names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(in_use(&registry, &seen(&[])), 2);
        assert_eq!(in_use(&registry, &seen(&["hook-a", "hook-b"])), 2);
        assert_eq!(in_use(&registry, &seen(&["hook-stopped", "hook-unlisted"])), 4);
        assert_eq!(in_use(&registry, &Live::Unknown("no tmux".to_owned())), 3);
    }
}
