//! The lines between a peer and the daemon: one JSON object each, with one member that says what
//! it is. Both sides skip members they do not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The protocol's version, said in the welcome.
pub const VERSION: u32 = 1;

/// The longest line either side accepts, in bytes without its end.
pub const MAX_LINE: usize = 1024 * 1024;

/// So many messages a channel is sent before it has acknowledged the first.
pub const MAX_UNACKNOWLEDGED: usize = 16;

/// What a peer is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Is pushed to while it is connected, and thereby counts as listening.
    Channel,
    /// Asks what waits, once or several times.
    Reader,
}

/// Who connects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The key of its subscriptions, `<user>-<session>`.
    pub key: String,
    /// The id of its session, where it knows it; a successor of the same name has another.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Its pid.
    pub pid: u32,
    /// What it is there for.
    pub role: Role,
    /// The last message that it took in an earlier connection: acknowledges up to that one.
    #[serde(default)]
    pub after: Option<u64>,
}

/// One event for a session, framed for an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its place among the messages; what is acknowledged.
    pub seq: u64,
    /// The delivery it tells of, `source/id`.
    pub delivery: String,
    /// Whether it was sent before, so that the agent may have seen it.
    #[serde(default)]
    pub repeated: bool,
    /// The text, framed.
    pub content: String,
    /// Short facts about it, for clients that show them.
    #[serde(default)]
    pub meta: BTreeMap<String, String>,
}

/// What a peer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FromPeer {
    /// First of all, unless it only asks for a replay.
    Hello(Hello),
    /// A reader asks for what waits.
    Read {
        /// At most so many messages.
        max: usize,
    },
    /// Everything up to and including this place was taken.
    Ack(u64),
    /// The answer to a ping, with its number.
    Pong(u64),
    /// Asks for a delivery to be processed again, by `SOURCE/ID` or `#SEQUENCE`.
    Replay(String),
}

/// What the daemon says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToPeer {
    /// The answer to a hello.
    Welcome {
        /// [`VERSION`].
        version: u32,
    },
    /// What was asked for cannot be; the connection ends.
    Error(String),
    /// An event.
    Message(Message),
    /// The end of what a reader asked for.
    #[serde(rename_all = "camelCase")]
    End {
        /// So many wait beyond what was just sent.
        waiting: u64,
        /// So many were left out because too many waited.
        left_out: u64,
    },
    /// Asks for a sign of life.
    Ping(u64),
    /// The place in the inbox of the delivery that repeats the one named.
    Replayed(u64),
}

impl FromPeer {
    /// The line, with its end.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

impl ToPeer {
    /// The line, with its end.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("BUG: keys are strings, so it is JSON");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_they_are_documented() {
        let from = |text: &str| serde_json::from_str::<FromPeer>(text).unwrap();
        let hello = r#"{"hello":{"key":"alice-main","sessionId":null,"pid":123,"role":"channel","after":7,"later":1}}"#;
        let expected = Hello {
            key: "alice-main".to_owned(),
            session_id: None,
            pid: 123,
            role: Role::Channel,
            after: Some(7),
        };
        assert_eq!(from(hello), FromPeer::Hello(expected));
        assert_eq!(from(r#"{"read":{"max":5}}"#), FromPeer::Read { max: 5 });
        assert_eq!(from(r#"{"ack":12}"#), FromPeer::Ack(12));
        assert_eq!(from(r#"{"pong":3}"#), FromPeer::Pong(3));
        assert_eq!(from(r##"{"replay":"#9"}"##), FromPeer::Replay("#9".to_owned()));
        let to = |message: ToPeer| String::from_utf8(message.line()).unwrap();
        assert_eq!(to(ToPeer::Welcome { version: 1 }), "{\"welcome\":{\"version\":1}}\n");
        let end = ToPeer::End { waiting: 2, left_out: 0 };
        assert_eq!(to(end), "{\"end\":{\"waiting\":2,\"leftOut\":0}}\n");
        let message = Message {
            seq: 12,
            delivery: "github/72d3".to_owned(),
            repeated: false,
            content: "a\nb".to_owned(),
            meta: BTreeMap::from([("event".to_owned(), "push".to_owned())]),
        };
        let line = to(ToPeer::Message(message.clone()));
        assert_eq!(line.matches('\n').count(), 1, "one line whatever the content");
        assert_eq!(serde_json::from_str::<ToPeer>(&line).unwrap(), ToPeer::Message(message));
    }
}
