//! Peers of the older kind, which listen themselves: `instances/<key>.<pid>.sock`, one JSON line
//! a connection. They apply their own filters.
//!
//! A message for a key is written to each of its sockets and acknowledged when all have it. A
//! socket is removed only when nobody accepts on it *and* its process is gone; whatever else goes
//! wrong is tried again, for a peer that is busy or paused has not left. One key's trouble is its
//! own task's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::hub::Hub;
use crate::engine::Sign;
use crate::inbox::{Delivery, InboxError};
use crate::now_ms;
use crate::serve::over;

/// How often the directory is looked at when nothing happens.
const TICK: Duration = Duration::from_secs(30);
/// How soon what failed is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long one connection may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// So many messages are written before the directory is looked at again.
const AT_ONCE: usize = 64;
/// Derived texts are cut to so many characters, as these peers expect.
const CUT: usize = 200;

/// A socket of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Socket {
    path: PathBuf,
    pid: Option<Pid>,
}

/// Serves such peers until `shutdown` is true.
pub(crate) async fn serve(instances: PathBuf, hub: Hub, mut shutdown: watch::Receiver<bool>) {
    let mut enqueued = hub.enqueued.clone();
    let mut tasks = JoinSet::new();
    // Keys whose task runs, and those of them that there was news for meanwhile.
    let (mut busy, mut again) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let sockets = sockets(&instances);
        let living = |it: &Socket| it.pid.is_some_and(is_alive);
        let alive = sockets.iter().filter(|(_, all)| all.iter().any(living));
        let keys = alive.map(|(key, _)| key.clone()).collect();
        let _ = hub.signs.send(Sign::Legacy(keys, now_ms())).await;
        for key in sockets.into_keys() {
            if busy.insert(key.clone()) {
                tasks.spawn(tell(hub.clone(), instances.clone(), key));
            } else {
                again.insert(key);
            }
        }
        let tick = sleep(TICK);
        tokio::pin!(tick);
        loop {
            // All branches are cancel-safe.
            tokio::select! {
                changed = enqueued.changed() => if changed.is_err() { return } else { break },
                Some(Ok(key)) = tasks.join_next() => {
                    busy.remove(&key);
                    if again.remove(&key) {
                        break;
                    }
                }
                () = &mut tick => break,
                () = over(&mut shutdown) => return,
            }
        }
    }
}

/// The sockets by key.
fn sockets(instances: &Path) -> BTreeMap<String, Vec<Socket>> {
    let mut sockets: BTreeMap<String, Vec<Socket>> = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(instances) else { return sockets };
    for entry in entries.flatten() {
        if let Some((key, pid)) = entry.file_name().to_str().and_then(parse) {
            sockets.entry(key).or_default().push(Socket { path: entry.path(), pid });
        }
    }
    sockets
}

/// `<key>.<pid>.sock`; a peer that is older still has no key and no dot before its pid.
fn parse(name: &str) -> Option<(String, Option<Pid>)> {
    let (key, pid) = name.strip_suffix(".sock")?.rsplit_once('.')?;
    let digits = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| (key.to_owned(), pid.parse().ok().and_then(Pid::from_raw)))
}

fn is_alive(pid: Pid) -> bool {
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

/// What a round of writing came to.
enum Round {
    /// Nothing waits, or nobody is there to take it.
    Done,
    /// More may wait.
    More,
    /// Somebody could not take it now.
    Trouble,
}

/// Writes what waits for a key until nothing does.
async fn tell(hub: Hub, instances: PathBuf, key: String) -> String {
    loop {
        let Some(sockets) = sockets(&instances).remove(&key) else { return key };
        match tell_some(&hub, &key, sockets).await {
            Ok(Round::Done) => return key,
            Ok(Round::More) => {}
            Ok(Round::Trouble) => sleep(AGAIN).await,
            Err(error) => {
                tracing::warn!(%error, key, "cannot read what waits for an older peer");
                sleep(AGAIN).await;
            }
        }
    }
}

async fn tell_some(hub: &Hub, key: &str, sockets: Vec<Socket>) -> Result<Round, InboxError> {
    let queues = hub.queues(key, None);
    let waiting = hub.waiting(&queues, 0, AT_ONCE).await?;
    if waiting.messages.is_empty() {
        return Ok(Round::Done);
    }
    for message in &waiting.messages {
        let sequence = message.sequence;
        let look =
            move |look: &crate::inbox::Look| Ok((look.delivery(sequence)?, look.body(sequence)?));
        if let (Some(delivery), Some(body)) = hub.inbox.read(look).await? {
            hub.telling(&queues, std::slice::from_ref(message), false).await?;
            let line = envelope(&delivery, &body);
            let mut reached = 0;
            for socket in &sockets {
                match write(socket, &line).await {
                    Ok(()) => reached += 1,
                    Err(error) if is_left(socket, &error) => {
                        tracing::info!(path = %socket.path.display(), "an older peer is gone");
                        let _ = std::fs::remove_file(&socket.path);
                    }
                    Err(error) => {
                        tracing::debug!(%error, path = %socket.path.display(), "trying again");
                        return Ok(Round::Trouble);
                    }
                }
            }
            if reached == 0 {
                // Nobody has it; it waits for whoever comes.
                return Ok(Round::Done);
            }
        }
        hub.acknowledge(&queues, message.number).await?;
    }
    Ok(Round::More)
}

async fn write(socket: &Socket, line: &[u8]) -> io::Result<()> {
    let write = async {
        let mut stream = UnixStream::connect(&socket.path).await?;
        stream.write_all(line).await?;
        stream.shutdown().await
    };
    timeout(DEADLINE, write).await?
}

/// Whether a peer has gone without removing its socket.
fn is_left(socket: &Socket, error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionRefused && !socket.pid.is_some_and(is_alive)
        || error.kind() == ErrorKind::NotFound
}

/// A delivery as these peers read it.
fn envelope(delivery: &Delivery, body: &[u8]) -> Vec<u8> {
    let cut = |text: &str| text.chars().take(CUT).collect::<String>();
    let payload: Value = serde_json::from_slice(body).unwrap_or_default();
    let envelope = json!({
        "source": delivery.source.as_str(),
        "format": delivery.format.as_str(),
        "event": cut(&delivery.kind),
        "key": delivery.key.as_ref().map_or("", |key| key.as_str()),
        "sender": cut(delivery.sender.as_deref().unwrap_or_default()),
        "delivery": delivery.id.as_str(),
        "payload": payload,
    });
    let mut line = envelope.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_last_dot() {
        let check = |name: &str, expected: Option<(&str, Option<i32>)>| {
            let expected = expected.map(|(key, pid)| (key.to_owned(), pid.and_then(Pid::from_raw)));
            assert_eq!(parse(name), expected, "{name}");
        };
        check("alice-main.12.sock", Some(("alice-main", Some(12))));
        check("a.b.7.sock", Some(("a.b", Some(7))));
        check(".7.sock", Some(("", Some(7))));
        check("7.sock", None);
        check("alice.x.sock", None);
        check("alice.7", None);
        check("alice.99999999999.sock", Some(("alice", None)));
    }
}
