//! The connection over which the daemon pushes messages, made again whenever it breaks.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use crate::cli::print;
use crate::peers::wire::{Hello, Message};
use crate::peers::{Client, ClientError};

/// The first pause after a connection broke; it doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(15);
/// How long the daemon may take to welcome.
const WELCOME: Duration = Duration::from_secs(10);

/// A channel's end.
#[derive(Debug)]
pub(super) struct Channel {
    socket: PathBuf,
    hello: Hello,
    line: Line,
    pause: Duration,
    /// What was last said about its failing, so that it is said once.
    said: Option<String>,
}

/// What there is of a connection. One that is being made outlives a wait that is given up.
enum Line {
    NotBefore(Instant),
    Connecting(Pin<Box<dyn Future<Output = Result<Client, ClientError>> + Send>>),
    Open(Client),
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotBefore(_) => "NotBefore",
            Self::Connecting(_) => "Connecting",
            Self::Open(_) => "Open",
        })
    }
}

impl Channel {
    /// Connects at the first [`Channel::next`].
    pub(super) fn new(socket: PathBuf, hello: Hello) -> Self {
        let line = Line::NotBefore(Instant::now());
        Self { socket, hello, line, pause: FIRST, said: None }
    }

    /// The next message. Cancel-safe: what was not returned is sent again.
    pub(super) async fn next(&mut self) -> Message {
        loop {
            match &mut self.line {
                Line::NotBefore(at) => {
                    sleep_until(*at).await;
                    self.line = Line::Connecting(self.connect());
                }
                Line::Connecting(connected) => match connected.await {
                    Ok(client) => (self.line, self.said) = (Line::Open(client), None),
                    Err(error) => self.broke(&error),
                },
                Line::Open(client) => match client.next().await {
                    Ok(message) => {
                        self.pause = FIRST;
                        return message;
                    }
                    Err(error) => self.broke(&error),
                },
            }
        }
    }

    /// The client has a message, and all before it.
    pub(super) async fn acknowledge(&mut self, seq: u64) {
        // Said again with the next hello, should it not arrive.
        self.hello.after = Some(seq);
        if let Line::Open(client) = &mut self.line
            && let Err(error) = client.acknowledge(seq).await
        {
            self.broke(&error);
        }
    }

    fn connect(&self) -> Pin<Box<dyn Future<Output = Result<Client, ClientError>> + Send>> {
        let (socket, hello) = (self.socket.clone(), self.hello.clone());
        Box::pin(async move {
            match timeout(WELCOME, Client::connect(&socket, hello)).await {
                Ok(connected) => connected,
                Err(_) => Err(ClientError::Closed { socket }),
            }
        })
    }

    fn broke(&mut self, error: &ClientError) {
        self.line = Line::NotBefore(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST);
        // That there is no daemon yet, or that it starts anew, is nothing to talk about.
        let is_usual = matches!(error, ClientError::NotRunning { .. } | ClientError::Closed { .. });
        let text = print::chain(error);
        if !is_usual && self.said.as_ref() != Some(&text) {
            print::warn(&text);
            self.said = Some(text);
        }
    }
}
