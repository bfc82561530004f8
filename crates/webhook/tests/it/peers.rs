//! Peers of both kinds against a running receiver.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use agent_box_testkit::within;
use agent_box_webhook::inbox::MessageState;
use agent_box_webhook::peers::wire::{Hello, MAX_UNACKNOWLEDGED, Role};
use agent_box_webhook::peers::{Client, ClientError};
use tokio::time::timeout;

use crate::receiver::{Receiver, touch};

const LONG: Duration = Duration::from_secs(20);

fn hello(id: Option<&str>, role: Role, after: Option<u64>) -> Hello {
    Hello {
        key: "alice-main".to_owned(),
        session_id: id.map(str::to_owned),
        pid: std::process::id(),
        role,
        after,
    }
}

async fn channel(receiver: &Receiver, after: Option<u64>) -> Client {
    let hello = hello(Some("i1"), Role::Channel, after);
    Client::connect(&receiver.paths.peers(), hello).await.unwrap()
}

fn queued(receiver: &Receiver, sequence: u64) {
    within(20)
        .until("it is queued", || !receiver.look(|look| look.messages_of(sequence)).is_empty());
}

/// Seen red with a channel that is sent everything at once, and with one whose `after` is ignored.
#[tokio::test]
async fn a_channel_gets_all_in_order_and_goes_on_after_what_it_took() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    let mut first = channel(&receiver, None).await;
    for number in 1..=20 {
        assert_eq!(receiver.send(&format!("d-{number}"), "o/r", number), 200);
    }
    let mut last = 0;
    for number in 1..=MAX_UNACKNOWLEDGED as u64 {
        let message = timeout(LONG, first.next()).await.unwrap().unwrap();
        assert_eq!(message.delivery, format!("github/d-{number}"));
        assert!(!message.repeated && message.seq > last);
        last = message.seq;
    }
    let more = timeout(Duration::from_millis(300), first.next()).await;
    assert!(more.is_err(), "no more before the first is acknowledged");
    drop(first);
    // It took three of them; the receiver never heard so.
    let mut second = channel(&receiver, Some(last - 13)).await;
    for number in 4..=20_u64 {
        let message = timeout(LONG, second.next()).await.unwrap().unwrap();
        assert_eq!(message.delivery, format!("github/d-{number}"));
        assert_eq!(message.repeated, number <= 16, "{number}");
        second.acknowledge(message.seq).await.unwrap();
    }
    receiver.wait_state("d-1", "delivered (i1)");
    receiver.wait_state("d-20", "delivered (i1)");
}

#[tokio::test]
async fn a_reader_gets_its_session_s_events_and_another_session_of_the_name_gets_none() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    for number in 1..=3 {
        assert_eq!(receiver.send(&format!("d-{number}"), "o/r", number), 200);
    }
    queued(&receiver, 3);
    let socket = receiver.paths.peers();
    let other = hello(Some("i9"), Role::Reader, None);
    let mut other = Client::connect(&socket, other).await.unwrap();
    assert_eq!(other.read(10).await.unwrap().messages, []);
    let mut reader = Client::connect(&socket, hello(None, Role::Reader, None)).await.unwrap();
    let reading = reader.read(2).await.unwrap();
    assert_eq!((reading.messages.len(), reading.waiting, reading.left_out), (2, 1, 0));
    let rest = reader.read(2).await.unwrap();
    assert_eq!((rest.messages.len(), rest.waiting), (1, 0), "the next, without an ack between");
    reader.acknowledge(reading.messages[1].seq).await.unwrap();
    reader.settled().await.unwrap();
    let told = receiver.look(|look| look.messages_of(2));
    assert_eq!(told[0].state, MessageState::Acknowledged);
    assert_eq!(receiver.look(|look| look.messages_of(3))[0].state, MessageState::Waiting);
}

/// Seen red with a receiver that keeps all.
#[tokio::test]
async fn a_full_queue_keeps_the_oldest_and_says_how_many_were_left_out() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    for number in 1..=105 {
        assert_eq!(receiver.send(&format!("d-{number}"), "o/r", number), 200);
    }
    queued(&receiver, 105);
    let mut peer = channel(&receiver, None).await;
    let mut told = Vec::new();
    while told.len() < 101 {
        let message = timeout(LONG, peer.next()).await.unwrap().unwrap();
        peer.acknowledge(message.seq).await.unwrap();
        told.push(message.content);
    }
    assert!(told[99].contains("marker-100-end"), "{}", told[99]);
    assert!(told[100].contains("5 more events were left out"), "{}", told[100]);
}

#[tokio::test]
async fn a_settled_delivery_is_replayed_and_what_cannot_be_is_named() {
    let receiver = Receiver::new();
    assert_eq!(receiver.send("d", "o/r", 1), 200);
    receiver.wait_state("d", "declined");
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    let socket = receiver.paths.peers();
    assert_eq!(Client::replay(&socket, "github/d").await.unwrap(), 2);
    queued(&receiver, 2);
    for (named, expected) in [
        ("github/x", "there is no delivery"),
        ("#2", "still on its way"),
        ("a b", "names no delivery"),
    ] {
        let error = Client::replay(&socket, named).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{named}: {error}");
    }
}

#[tokio::test]
async fn whoever_talks_nonsense_is_told_so_and_harms_nobody() {
    let receiver = Receiver::new();
    let strange = Hello { key: "../x".to_owned(), ..hello(None, Role::Reader, None) };
    let error = Client::connect(&receiver.paths.peers(), strange).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Refused(reason) if reason.contains("a key is")),
        "{error}"
    );
    let elsewhere = receiver.home().join("none.sock");
    let error = Client::connect(&elsewhere, hello(None, Role::Reader, None)).await.unwrap_err();
    assert!(error.to_string().contains("no receiver answers at"), "{error}");
}

const MANY: u64 = 12;

/// A listening socket with room for two connections that nobody accepts.
fn busy_listener(path: &Path) -> UnixListener {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

    let fd = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&fd, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&fd, 1).unwrap();
    UnixListener::from(fd)
}

/// Seen red with a socket that is removed at the first error.
#[test]
fn an_older_peer_that_is_busy_keeps_its_socket_and_gets_every_event_and_a_dead_one_loses_it() {
    let receiver = Receiver::new();
    receiver.subscribe(Some("alice-main"), &["github:o/r"]);
    let busy = receiver.instances().join(format!("alice-main.{}.sock", std::process::id()));
    let listener = busy_listener(&busy);
    // No process has this pid: it is beyond the most that Linux gives.
    let dead = receiver.instances().join("alice-main.4194999.sock");
    drop(UnixListener::bind(&dead).unwrap());
    let odd = receiver.instances().join("alice-main.x.sock");
    touch(&odd);
    // More than its backlog takes while it does not accept.
    for number in 1..=MANY {
        assert_eq!(receiver.send(&format!("d-{number}"), "o/r", number), 200);
    }
    let mut lines = Vec::new();
    while (lines.len() as u64) < MANY {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let envelope: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(envelope["event"], "issues");
        assert_eq!(envelope["key"], "o/r");
        assert_eq!(envelope["payload"]["action"], "opened");
        lines.push(envelope["delivery"].as_str().unwrap().to_owned());
    }
    let expected: Vec<String> = (1..=MANY).map(|number| format!("d-{number}")).collect();
    assert_eq!(lines, expected, "all, in order");
    receiver.wait_state(&format!("d-{MANY}"), "delivered");
    within(20).until("the dead one's socket is gone", || !dead.exists());
    assert!(busy.exists() && odd.exists());
}
