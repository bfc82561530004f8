//! The events that wait for a session, fetched for the model and acknowledged once it has them.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use crate::cli::print::chain;
use crate::peers::wire::Hello;
use crate::peers::{Client, ClientError, Reading, shown};

/// How long the daemon may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Events in the model's hands as soon as their text is.
#[derive(Debug)]
pub(super) struct Waiting {
    client: Client,
    reading: Reading,
}

impl Waiting {
    /// Asks the daemon.
    pub(super) async fn read(socket: &Path, hello: Hello, max: usize) -> Result<Self, String> {
        if hello.key.is_empty() {
            let text = "this is no session of the box, so nothing waits for it; start the agent \
                        with `agent-box add`";
            return Err(text.to_owned());
        }
        let read = async {
            let mut client = Client::connect(socket, hello).await?;
            let reading = client.read(max).await?;
            Ok(Self { client, reading })
        };
        match timeout(DEADLINE, read).await {
            Ok(read) => read.map_err(|error: ClientError| chain(&error)),
            Err(_) => Err("the receiver does not answer; nothing is lost, ask again".to_owned()),
        }
    }

    /// For the model.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> = self.reading.messages.iter().map(shown).collect();
        lines.extend(self.reading.remarks());
        if lines.is_empty() {
            lines.push("nothing waits".to_owned());
        }
        lines.join("\n")
    }

    /// The model has them.
    pub(super) async fn acknowledge(mut self) {
        let Some(last) = self.reading.messages.last().map(|message| message.seq) else { return };
        let said = async {
            self.client.acknowledge(last).await?;
            self.client.settled().await
        };
        // Not acknowledged, they come again, marked as repeated.
        let _ = timeout(DEADLINE, said).await;
    }
}
