//! The loop between the client's lines and the daemon's messages.

use std::io::{self, Write as _};

use agent_box_session::env;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::channel::Channel;
use super::instructions::INSTRUCTIONS;
use super::lines;
use super::rpc::{self, Incoming};
use super::tools::{self, Outcome};
use crate::cli::Context;
use crate::filters::{Asking, Known, Resolver};
use crate::now_ms;
use crate::peers::shown;
use crate::peers::wire::{Message, Role};

/// What is spoken with a client that does not say what it speaks.
const PROTOCOL: &str = "2025-06-18";
/// The capability, on both sides, of channel messages.
const CHANNEL: &str = "claude/channel";

/// One client's server.
#[derive(Debug)]
pub(super) struct Server<'a> {
    context: &'a Context,
    /// Whether the client takes channel messages.
    takes_channel: bool,
    channel: Option<Channel>,
    /// Finds out what the box acts as, which is then on disk.
    asking: JoinSet<Known>,
}

impl<'a> Server<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        let takes_channel = context.variable(env::CHANNEL).is_some();
        Self { context, takes_channel, channel: None, asking: JoinSet::new() }
    }

    /// Serves until the client's lines end, or nobody reads ours.
    pub(super) async fn run(mut self) -> io::Result<()> {
        let mut lines = lines::of_stdin()?;
        loop {
            // Both branches are cancel-safe: a line stays in its channel, a message is sent again.
            let done = tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => self.answer(&line).await,
                    None => return Ok(()),
                },
                message = next(self.channel.as_mut()) => self.push(&message).await,
            };
            match done {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                done => done?,
            }
        }
    }

    async fn answer(&mut self, line: &[u8]) -> io::Result<()> {
        match rpc::parse(line) {
            Incoming::Nothing => Ok(()),
            Incoming::Invalid { id } => {
                say(&rpc::error(&id, rpc::INVALID_REQUEST, "the method must be a string"))
            }
            Incoming::Notification { method, .. } => {
                if method == "notifications/initialized" {
                    self.begin();
                }
                Ok(())
            }
            Incoming::Request { id, method, params } => match method.as_str() {
                "initialize" => say(&rpc::result(&id, &self.initialize(&params))),
                "ping" => say(&rpc::result(&id, &json!({}))),
                "tools/list" => say(&rpc::result(&id, &json!({"tools": tools::list()}))),
                "tools/call" => self.call(&id, &params).await,
                method => {
                    let text = format!("there is no method {method:?}");
                    say(&rpc::error(&id, rpc::METHOD_NOT_FOUND, &text))
                }
            },
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let declared = &params["capabilities"]["experimental"][CHANNEL];
        self.takes_channel |= !declared.is_null();
        let version = params["protocolVersion"].as_str().unwrap_or(PROTOCOL);
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}, "experimental": {CHANNEL: {}}},
            "serverInfo": {"name": "agent-box", "version": env!("CARGO_PKG_VERSION")},
            "instructions": INSTRUCTIONS,
        })
    }

    async fn call(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let text = |text: &str, failed: bool| json!({"content": [{"type": "text", "text": text}], "isError": failed});
        match tools::call(self.context, params).await {
            Outcome::Text(it) => say(&rpc::result(id, &text(&it, false))),
            Outcome::Failed(it) => say(&rpc::result(id, &text(&format!("error: {it}"), true))),
            Outcome::Misused(code, it) => say(&rpc::error(id, code, &it)),
            Outcome::Waiting(events) => {
                say(&rpc::result(id, &text(&events.text(), false)))?;
                events.acknowledge().await;
                Ok(())
            }
        }
    }

    /// The client is ready.
    fn begin(&mut self) {
        if self.takes_channel {
            self.open_channel();
        }
        // Here, since a session has its user's credentials and the daemon has not; and beside
        // everything else, for gh may take seconds.
        let resolver = Resolver::new(self.context);
        let asking = Asking { refresh: false, throttled: true };
        self.asking.spawn(async move { resolver.resolve(asking, now_ms()).await });
    }

    fn open_channel(&mut self) {
        let hello = tools::hello(self.context, Role::Channel);
        if self.channel.is_none() && !hello.key.is_empty() {
            self.channel = Some(Channel::new(self.context.paths.peers(), hello));
        }
    }

    async fn push(&mut self, message: &Message) -> io::Result<()> {
        let mut meta = message.meta.clone();
        // Claude drops names with other characters.
        meta.retain(|name, _| name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'));
        meta.insert("delivery".to_owned(), message.delivery.clone());
        if message.repeated {
            meta.insert("repeated".to_owned(), "true".to_owned());
        }
        let params = json!({"content": shown(message), "meta": meta});
        say(&rpc::notification("notifications/claude/channel", &params))?;
        if let Some(channel) = &mut self.channel {
            channel.acknowledge(message.seq).await;
        }
        Ok(())
    }
}

async fn next(channel: Option<&mut Channel>) -> Message {
    match channel {
        Some(channel) => channel.next().await,
        None => std::future::pending().await,
    }
}

/// One line to the client, which has it when this returns.
fn say(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}
