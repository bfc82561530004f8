//! A peer's end of the connection: for the MCP server, the hook and `agent-box webhook read`.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::UnixStream;

use super::lines::{Lines, Turn};
use super::wire::{FromPeer, Hello, Message, ToPeer, VERSION};
use crate::engine::marked;

/// A connection to the daemon.
///
/// It has no deadlines of its own: whoever must not wait wraps the calls in a timeout.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    lines: Lines,
}

/// What a reader got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// So many wait beyond these.
    pub waiting: u64,
    /// So many were left out because too many waited; `agent-box webhook deliveries` lists them.
    pub left_out: u64,
}

impl Reading {
    /// What is to be said beside the messages.
    pub fn remarks(&self) -> Vec<String> {
        let events = |count: u64| match count {
            1 => "1 more event".to_owned(),
            count => format!("{count} more events"),
        };
        let mut remarks = Vec::new();
        if self.waiting > 0 {
            let verb = if self.waiting == 1 { "waits" } else { "wait" };
            let events = events(self.waiting);
            remarks.push(format!("{events} {verb}; `agent-box webhook read` shows them"));
        }
        if self.left_out > 0 {
            let verb = if self.left_out == 1 { "was" } else { "were" };
            let events = events(self.left_out);
            remarks.push(format!(
                "{events} {verb} left out, because too many waited; `agent-box webhook deliveries` \
                 lists them"
            ));
        }
        remarks
    }
}

/// A message as an agent reads it: marked if it may have been seen before.
pub fn shown(message: &Message) -> String {
    marked(&message.content, message.repeated)
}

/// Why the daemon does not answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error(
        "no receiver answers at {}; start one with `agent-box up` or `agent-box webhook serve`",
        .socket.display()
    )]
    NotRunning {
        /// Where it would be.
        socket: PathBuf,
        /// What the attempt said.
        #[source]
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection to the receiver at {} broke", .socket.display())]
    Broken {
        /// Where it is.
        socket: PathBuf,
        /// How.
        #[source]
        source: io::Error,
    },
    /// The receiver ended, or wants nothing of this peer any more.
    #[error("the receiver at {} closed the connection", .socket.display())]
    Closed {
        /// Where it was.
        socket: PathBuf,
    },
    /// It refuses.
    #[error("the receiver refuses: {0}")]
    Refused(String),
    /// It says something that this version does not understand.
    #[error("the receiver at {} speaks another protocol; run the same version as it", .socket.display())]
    Foreign {
        /// Where it is.
        socket: PathBuf,
    },
}

impl Client {
    /// Connects to the daemon's socket and says who is there.
    pub async fn connect(socket: &Path, hello: Hello) -> Result<Self, ClientError> {
        let mut client = Self::open(socket).await?;
        client.say(&FromPeer::Hello(hello)).await?;
        match client.hear().await? {
            ToPeer::Welcome { version: VERSION } => Ok(client),
            _ => Err(client.foreign()),
        }
    }

    /// A channel's next message; pings are answered meanwhile. Cancel-safe: may stand in a
    /// `select!`.
    pub async fn next(&mut self) -> Result<Message, ClientError> {
        loop {
            if let ToPeer::Message(message) = self.hear().await? {
                return Ok(message);
            }
        }
    }

    /// Acknowledges every message up to and including this place.
    pub async fn acknowledge(&mut self, seq: u64) -> Result<(), ClientError> {
        self.say(&FromPeer::Ack(seq)).await
    }

    /// A reader asks for at most so many messages. They wait on until they are acknowledged.
    pub async fn read(&mut self, max: usize) -> Result<Reading, ClientError> {
        self.say(&FromPeer::Read { max }).await?;
        let mut reading = Reading::default();
        loop {
            match self.hear().await? {
                ToPeer::Message(message) => reading.messages.push(message),
                ToPeer::End { waiting, left_out } => {
                    (reading.waiting, reading.left_out) = (waiting, left_out);
                    return Ok(reading);
                }
                _ => return Err(self.foreign()),
            }
        }
    }

    /// Waits until the receiver has taken in all that was said, acknowledgements above all: whoever
    /// ends right after saying something would not know.
    pub async fn settled(&mut self) -> Result<(), ClientError> {
        self.read(0).await.map(|_| ())
    }

    /// Asks for a delivery, `SOURCE/ID` or `#SEQUENCE`, to be processed again; returns the place
    /// in the inbox of the one that repeats it.
    pub async fn replay(socket: &Path, delivery: &str) -> Result<u64, ClientError> {
        let mut client = Self::open(socket).await?;
        client.say(&FromPeer::Replay(delivery.to_owned())).await?;
        match client.hear().await? {
            ToPeer::Replayed(sequence) => Ok(sequence),
            _ => Err(client.foreign()),
        }
    }

    async fn open(socket: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(socket)
            .await
            .map_err(|source| ClientError::NotRunning { socket: socket.to_owned(), source })?;
        Ok(Self { socket: socket.to_owned(), lines: Lines::new(stream) })
    }

    async fn say(&mut self, what: &FromPeer) -> Result<(), ClientError> {
        self.lines.queue(&what.line());
        let Err(source) = self.lines.flush().await else { return Ok(()) };
        // A receiver that refuses says why and goes, and may do so before it is told anything.
        match self.hear().await {
            Err(refused @ ClientError::Refused(_)) => Err(refused),
            _ => Err(self.broken(source)),
        }
    }

    /// The next line that is no ping.
    async fn hear(&mut self) -> Result<ToPeer, ClientError> {
        loop {
            let line = match self.lines.turn().await {
                Ok(Turn::Line(line)) => line,
                Ok(Turn::Written) => continue,
                Ok(Turn::Closed) => {
                    return Err(ClientError::Closed { socket: self.socket.clone() });
                }
                Err(source) => return Err(self.broken(source)),
            };
            match serde_json::from_slice(&line) {
                Ok(ToPeer::Ping(number)) => self.lines.queue(&FromPeer::Pong(number).line()),
                Ok(ToPeer::Error(reason)) => return Err(ClientError::Refused(reason)),
                Ok(other) => return Ok(other),
                Err(_) => return Err(self.foreign()),
            }
        }
    }

    fn broken(&self, source: io::Error) -> ClientError {
        ClientError::Broken { socket: self.socket.clone(), source }
    }

    fn foreign(&self) -> ClientError {
        ClientError::Foreign { socket: self.socket.clone() }
    }
}
