//! The connection over which the daemon pushes messages, made again whenever it breaks.

use std::path::PathBuf;
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
    client: Option<Client>,
    pause: Duration,
    not_before: Option<Instant>,
    /// What was last said about its failing, so that it is said once.
    said: Option<String>,
}

impl Channel {
    /// Connects at the first [`Channel::next`].
    pub(super) fn new(socket: PathBuf, hello: Hello) -> Self {
        Self { socket, hello, client: None, pause: FIRST, not_before: None, said: None }
    }

    /// The next message. Cancel-safe: what was not returned is sent again.
    pub(super) async fn next(&mut self) -> Message {
        loop {
            if let Some(at) = self.not_before {
                sleep_until(at).await;
            }
            let next = match &mut self.client {
                Some(client) => client.next().await,
                None => match self.connect().await {
                    Ok(client) => {
                        (self.client, self.not_before, self.said) = (Some(client), None, None);
                        continue;
                    }
                    Err(error) => Err(error),
                },
            };
            match next {
                Ok(message) => {
                    self.pause = FIRST;
                    return message;
                }
                Err(error) => self.broke(&error),
            }
        }
    }

    /// The client has a message, and all before it.
    pub(super) async fn acknowledge(&mut self, seq: u64) {
        // Said again with the next hello, should it not arrive.
        self.hello.after = Some(seq);
        if let Some(client) = &mut self.client
            && let Err(error) = client.acknowledge(seq).await
        {
            self.broke(&error);
        }
    }

    async fn connect(&self) -> Result<Client, ClientError> {
        let connect = Client::connect(&self.socket, self.hello.clone());
        match timeout(WELCOME, connect).await {
            Ok(connected) => connected,
            Err(_) => Err(ClientError::Closed { socket: self.socket.clone() }),
        }
    }

    fn broke(&mut self, error: &ClientError) {
        self.client = None;
        self.not_before = Some(Instant::now() + self.pause);
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
