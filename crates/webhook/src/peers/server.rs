//! The daemon's end: one task for each connection, which alone knows what was sent on it.
//!
//! A peer that is paused holds at most [`MAX_UNACKNOWLEDGED`] messages and its own task; nobody
//! waits for it, and what it has not acknowledged is sent again to whoever comes after it.

use std::io;
use std::time::Duration;

use rustix::process::getuid;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::hub::{Hub, Queues};
use super::lines::{Lines, Turn};
use super::wire::{FromPeer, Hello, MAX_UNACKNOWLEDGED, Message, Role, ToPeer, VERSION};
use crate::engine::{Sign, draw, text_of_left_out};
use crate::inbox::{self, InboxError};
use crate::now_ms;
use crate::serve::over;

/// More connections are refused.
const MOST_CONNECTIONS: usize = 512;
/// How long a connection may say nothing before it has said who it is.
const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// How often a sign of life is asked for.
const PING: Duration = Duration::from_secs(30);
/// A reader gets at most so many messages at a time, however many it asks for.
const MOST_READ: usize = 100;
/// The longest key, in bytes; a filter file is named by it.
const LONGEST_KEY: usize = 240;

/// Serves peers until `shutdown` is true.
pub(crate) async fn serve(listener: UnixListener, hub: Hub, mut shutdown: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        // Both branches are cancel-safe: a connection that is not taken now waits in the kernel.
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = over(&mut shutdown) => break,
        };
        match accepted {
            Ok((stream, _)) if connections.len() < MOST_CONNECTIONS => {
                connections.spawn(attend(stream, hub.clone()));
            }
            Ok((stream, _)) => {
                let _ = refuse(Lines::new(stream), "too many peers are connected".to_owned()).await;
            }
            Err(error) => {
                // Out of descriptors, most likely; those in use end sometime.
                tracing::warn!(%error, "cannot take a peer's connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    connections.shutdown().await;
}

async fn attend(stream: UnixStream, hub: Hub) {
    if let Err(error) = talk(Lines::new(stream), hub).await {
        tracing::debug!(%error, "a peer's connection ended");
    }
}

async fn refuse(mut lines: Lines, reason: String) -> io::Result<()> {
    lines.queue(&ToPeer::Error(reason).line());
    timeout(HELLO_DEADLINE, lines.flush()).await?
}

async fn talk(mut lines: Lines, hub: Hub) -> io::Result<()> {
    if lines.peer_uid()? != getuid().as_raw() {
        return refuse(lines, "this receiver serves its own user only".to_owned()).await;
    }
    let Turn::Line(first) = timeout(HELLO_DEADLINE, lines.turn()).await?? else { return Ok(()) };
    match serde_json::from_slice(&first) {
        Ok(FromPeer::Hello(hello)) if is_key(&hello.key) => {
            let queues = hub.queues(&hello.key, hello.session_id.clone());
            let mut peer = Peer::new(lines, hub, queues, hello.role);
            peer.greet(&hello).await?;
            let ended = peer.serve().await;
            peer.leave().await;
            ended
        }
        Ok(FromPeer::Hello(_)) => {
            let reason = "a key is 1 to 240 letters, digits, `.`, `_` and `-`";
            refuse(lines, reason.to_owned()).await
        }
        Ok(FromPeer::Replay(named)) => {
            match hub.replay(&named).await {
                Ok(sequence) => lines.queue(&ToPeer::Replayed(sequence).line()),
                Err(reason) => lines.queue(&ToPeer::Error(reason).line()),
            }
            timeout(HELLO_DEADLINE, lines.flush()).await?
        }
        _ => refuse(lines, "the first line is a hello or a replay".to_owned()).await,
    }
}

/// The shared filter's key is empty.
fn is_key(key: &str) -> bool {
    let keeps = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    key.len() <= LONGEST_KEY && key.bytes().all(keeps)
}

/// One peer that has said who it is.
struct Peer {
    lines: Lines,
    hub: Hub,
    queues: Queues,
    role: Role,
    /// The last message sent, and which of those are not acknowledged.
    sent: u64,
    unacknowledged: Vec<u64>,
    pinged: u64,
    is_ping_answered: bool,
}

impl Peer {
    fn new(lines: Lines, hub: Hub, queues: Queues, role: Role) -> Self {
        Self {
            lines,
            hub,
            queues,
            role,
            sent: 0,
            unacknowledged: Vec::new(),
            pinged: 0,
            is_ping_answered: true,
        }
    }

    async fn greet(&mut self, hello: &Hello) -> io::Result<()> {
        if let Some(after) = hello.after {
            self.acknowledge(after).await?;
        }
        if self.role == Role::Channel {
            let _ = self.hub.signs.send(Sign::Connected(self.queues.own.clone())).await;
        }
        self.heard();
        self.lines.queue(&ToPeer::Welcome { version: VERSION }.line());
        Ok(())
    }

    async fn leave(&self) {
        if self.role == Role::Channel {
            let _ = self.hub.signs.send(Sign::Left(self.queues.own.clone())).await;
        }
    }

    async fn serve(&mut self) -> io::Result<()> {
        let mut enqueued = self.hub.enqueued.clone();
        let mut pings = interval_at(Instant::now() + PING, PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_channel = self.role == Role::Channel;
        loop {
            if is_channel && !self.lines.is_writing() {
                self.push().await?;
            }
            // All branches are cancel-safe; see `Lines::turn`.
            tokio::select! {
                turn = self.lines.turn() => match turn? {
                    Turn::Line(line) => self.obey(&line).await?,
                    Turn::Written => {}
                    Turn::Closed => return Ok(()),
                },
                changed = enqueued.changed(), if is_channel => if changed.is_err() {
                    return Ok(());
                },
                _ = pings.tick(), if is_channel => self.ping(),
            }
        }
    }

    /// Sends what waits, as far as it may.
    async fn push(&mut self) -> io::Result<()> {
        let room = MAX_UNACKNOWLEDGED.saturating_sub(self.unacknowledged.len());
        if room == 0 {
            return Ok(());
        }
        let waiting = self.hub.waiting(&self.queues, self.sent, room).await.map_err(failed)?;
        let is_all = waiting.messages.len() < room;
        let tells_left_out = is_all && waiting.left_out > 0;
        if waiting.messages.is_empty() && !tells_left_out {
            return Ok(());
        }
        let left_out = self.tell(waiting.messages, tells_left_out).await?;
        if left_out > 0 {
            let notice = Message {
                seq: self.sent,
                content: text_of_left_out(left_out, draw()),
                ..Message::default()
            };
            self.lines.queue(&ToPeer::Message(notice).line());
        }
        Ok(())
    }

    /// Answers a reader.
    async fn read(&mut self, max: usize) -> io::Result<()> {
        let max = max.min(MOST_READ);
        let waiting = self.hub.waiting(&self.queues, self.sent, max).await.map_err(failed)?;
        let count = waiting.count;
        let left_out = self.tell(waiting.messages, max > 0 && waiting.left_out > 0).await?;
        let told = self.unacknowledged.len() as u64;
        self.lines.queue(&ToPeer::End { waiting: count.saturating_sub(told), left_out }.line());
        Ok(())
    }

    async fn tell(
        &mut self,
        messages: Vec<inbox::Message>,
        tells_left_out: bool,
    ) -> io::Result<u64> {
        let left_out = self.hub.telling(&self.queues, &messages, tells_left_out).await;
        let left_out = left_out.map_err(failed)?;
        for message in messages {
            self.sent = message.number;
            self.unacknowledged.push(message.number);
            self.lines.queue(&ToPeer::Message(wired(message)).line());
        }
        Ok(left_out)
    }

    async fn obey(&mut self, line: &[u8]) -> io::Result<()> {
        match serde_json::from_slice(line) {
            Ok(FromPeer::Ack(up_to)) => self.acknowledge(up_to).await?,
            Ok(FromPeer::Read { max }) if self.role == Role::Reader => self.read(max).await?,
            Ok(FromPeer::Pong(number)) => self.is_ping_answered |= number == self.pinged,
            Ok(FromPeer::Hello(_) | FromPeer::Replay(_) | FromPeer::Read { .. }) => {
                return Err(io::Error::other("a line that does not belong here"));
            }
            // A newer peer may say more.
            Err(_) => tracing::debug!("a peer says what this version does not know"),
        }
        self.heard();
        Ok(())
    }

    async fn acknowledge(&mut self, up_to: u64) -> io::Result<()> {
        self.unacknowledged.retain(|number| *number > up_to);
        self.hub.acknowledge(&self.queues, up_to).await.map_err(failed)
    }

    /// A sign of life; one that is lost is followed by others.
    fn heard(&self) {
        let is_channel = self.role == Role::Channel;
        let sign = Sign::Alive(self.queues.own.clone(), now_ms(), is_channel);
        let _ = self.hub.signs.try_send(sign);
    }

    /// Asks for a sign of life, unless one was asked for already.
    fn ping(&mut self) {
        if self.is_ping_answered {
            self.pinged += 1;
            self.is_ping_answered = false;
            self.lines.queue(&ToPeer::Ping(self.pinged).line());
        }
    }
}

fn wired(message: inbox::Message) -> Message {
    let meta = match message.meta {
        serde_json::Value::Object(meta) => meta,
        _ => serde_json::Map::new(),
    };
    let text =
        |(name, value): (String, serde_json::Value)| Some((name, value.as_str()?.to_owned()));
    Message {
        seq: message.number,
        delivery: message.delivery,
        repeated: message.is_repeated,
        content: message.text,
        meta: meta.into_iter().filter_map(text).collect(),
    }
}

fn failed(error: InboxError) -> io::Error {
    io::Error::other(error)
}
