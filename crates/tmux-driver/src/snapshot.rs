//! All sessions of a server in one round trip.
//!
//! ```text
//! server|PID|STARTED|VERSION
//! session|ID|CREATED|ATTACHED|STORE|ID|LAUNCH|PANE PID DEAD STATUS SIGNAL;...|NAME
//! ```
//!
//! Fields are separated by `|`. None but the name can hold one: numbers are tmux's own, and tags
//! are option values in which the server has replaced everything but the characters of a
//! well-formed tag (also newlines, which tmux prints raw). The name is whatever somebody chose,
//! so it stands last and takes the rest of the line.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::target::{SessionTarget, TmuxId, is_word};

const SERVER: &str = "server|#{pid}|#{start_time}|#{version}";

/// Tags are cut one character beyond the limit, so that a longer one is seen to be too long.
const SESSION: &str = "session|#{session_id}|#{session_created}|#{session_attached}|\
    #{=151;s/[^A-Za-z0-9_-]/?/:@agent_box_store}|\
    #{=151;s/[^A-Za-z0-9_-]/?/:@agent_box_id}|\
    #{=151;s/[^A-Za-z0-9_-]/?/:@agent_box_launch}|\
    #{W:#{P:#{pane_id} #{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal};}}|\
    #{session_name}";

/// A server and its sessions at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The server that answered.
    pub server: ServerInfo,
    /// Every session that could be read, ours or not, in tmux's order.
    pub sessions: Vec<Session>,
    /// Lines that could not be read, for a log; never about a session that we created.
    pub foreign: Vec<String>,
}

/// Which server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its process.
    pub pid: u32,
    /// When it was started, in seconds since 1970.
    pub started: u64,
    /// tmux's version, such as `3.3a`.
    pub version: String,
}

/// One session. A tag that is missing or not well-formed is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// tmux's id.
    pub tmux_id: TmuxId,
    /// The name, of any form if the session is not ours.
    pub name: String,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// How many clients show it.
    pub attached: u32,
    /// Value of [`Tag::Store`](crate::Tag::Store).
    pub store: Option<String>,
    /// Value of [`Tag::Id`](crate::Tag::Id).
    pub id: Option<String>,
    /// Value of [`Tag::Launch`](crate::Tag::Launch).
    pub launch: Option<String>,
    /// The oldest pane that is still there: the one the session was created with, unless that
    /// one went and somebody had opened others.
    pub pane: Pane,
}

impl Session {
    /// The target for this very session, whatever it is called by now.
    pub fn target(&self) -> SessionTarget {
        SessionTarget::Id(self.tmux_id)
    }
}

/// One pane, as tmux sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    /// tmux's number of the pane (`%7` is 7).
    pub number: u32,
    /// The process that tmux started in it.
    pub pid: u32,
    /// The terminal was closed; processes of it may live on.
    pub dead: bool,
    /// Exit status, if tmux learned one.
    pub status: Option<i32>,
    /// The signal that ended it, if tmux learned one.
    pub signal: Option<i32>,
}

impl Tmux {
    /// Looks at the server, in one client.
    ///
    /// # Errors
    /// When the answer is not known. [`TmuxError::NoServer`] is such an error, not an empty list.
    pub fn snapshot(&self) -> Result<Snapshot, TmuxError> {
        let mut commands = Commands::named("list-sessions", "display-message");
        commands.args(["-p", SERVER]).then("list-sessions").args(["-F", SESSION]);
        let answer = self.call(&commands)?;
        parse(&String::from_utf8_lossy(&answer)).ok_or_else(|| TmuxError::Other {
            command: "list-sessions",
            message: "the answer does not start with a line about the server".into(),
        })
    }
}

/// Reads a whole answer; `None` if it is not one.
fn parse(answer: &str) -> Option<Snapshot> {
    let mut lines = answer.split_terminator('\n');
    let server = parse_server(lines.next()?)?;
    let (mut sessions, mut foreign) = (Vec::new(), Vec::new());
    for line in lines {
        match parse_session(line) {
            Some(session) => sessions.push(session),
            None => foreign.push(line.to_owned()),
        }
    }
    Some(Snapshot { server, sessions, foreign })
}

fn parse_server(line: &str) -> Option<ServerInfo> {
    let mut fields = line.strip_prefix("server|")?.split('|');
    let (pid, started) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(ServerInfo { pid, started, version: fields.next()?.to_owned() })
}

fn parse_session(line: &str) -> Option<Session> {
    let mut fields = line.strip_prefix("session|")?.splitn(8, '|');
    let mut next = || fields.next();
    let tag = |text: &str| is_word(text).then(|| text.to_owned());
    Some(Session {
        tmux_id: TmuxId::new(next()?).ok()?,
        created: next()?.parse().ok()?,
        attached: next()?.parse().ok()?,
        store: tag(next()?),
        id: tag(next()?),
        launch: tag(next()?),
        pane: next()?.split_terminator(';').filter_map(parse_pane).min_by_key(|p| p.number)?,
        name: next()?.to_owned(),
    })
}

fn parse_pane(text: &str) -> Option<Pane> {
    let mut fields = text.split(' ');
    Some(Pane {
        number: fields.next()?.strip_prefix('%')?.parse().ok()?,
        pid: fields.next()?.parse().ok()?,
        dead: fields.next()? == "1",
        status: fields.next()?.parse().ok(),
        signal: fields.next()?.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SERVER: &str = "server|7|1700000000|3.3a\n";

    #[test]
    fn a_line_that_is_no_session_is_kept_and_hides_no_other() {
        let good = "session|$1|1|0|s|i|l|%4 9 0  ;%3 8 1 5 ;|a|b";
        for bad in [
            "rest of a broken line",
            "session|$x|1|0|s|i|l|%3 8 0  ;|a",
            "session|$1|1|0|s|i|l||a",
            "session|$1|1|0|s|i|l|%3 8 0  ;",
        ] {
            let snapshot = parse(&format!("{SERVER}{bad}\n{good}\n")).expect("a server line");
            assert_eq!(snapshot.foreign, [bad]);
            let session = &snapshot.sessions[0];
            assert_eq!((session.name.as_str(), session.id.as_deref()), ("a|b", Some("i")));
            let oldest = Pane { number: 3, pid: 8, dead: true, status: Some(5), signal: None };
            assert_eq!(session.pane, oldest);
        }
    }

    #[test]
    fn an_answer_without_a_server_is_no_snapshot() {
        for answer in ["", "\n", "server|x|1|3.3a\n", "session|$1|1|0||||%3 8 0  ;|a\n"] {
            assert_eq!(parse(answer), None, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn each_line_is_either_a_session_or_kept(lines in "([|$%;a-z0-9 ]{0,40}\n){0,9}") {
            let snapshot = parse(&format!("{SERVER}{lines}")).expect("a server line");
            let read = snapshot.sessions.len() + snapshot.foreign.len();
            prop_assert_eq!(read, lines.matches('\n').count());
        }
    }
}
