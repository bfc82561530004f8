//! What nobody may take from others: time, connections, memory, disk.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use agent_box_testkit::{Deadline, within};
use agent_box_webhook::ingress::Limits;

use super::raw_http::{Post, answer};
use super::rig::Receiver;

const BODY: &str = r#"{"n":1}"#;
const SOON: Duration = Duration::from_millis(400);

/// Short times; the rest as it is.
fn hasty() -> Limits {
    Limits { head: SOON, idle: Duration::from_mins(1), ..Limits::default() }
}

fn has_ended(stream: &mut UnixStream) -> bool {
    stream.set_nonblocking(true).expect("a socket of ours");
    let mut buffer = [0; 4096];
    let ended = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
            Err(_) => break true,
        }
    };
    stream.set_nonblocking(false).expect("a socket of ours");
    ended
}

#[test]
fn two_hundred_half_open_connections_are_closed_and_keep_nobody_out() {
    let receiver = Receiver::with(hasty());
    let head = Post::github(BODY).head();
    let mut open: Vec<UnixStream> = (0..200)
        .map(|index| {
            let mut stream = receiver.connect();
            let _ = stream.write_all(&head[..index % head.len()]);
            stream
        })
        .collect();
    within(10).until("all of them are closed", || {
        open.retain_mut(|stream| !has_ended(stream));
        open.is_empty()
    });
    assert_eq!(Post::github(BODY).over(receiver.connect()).status, 200);
}

#[test]
fn a_head_in_drops_is_cut_off() {
    let receiver = Receiver::with(hasty());
    let mut stream = receiver.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nX-Long: ").unwrap();
    within(10).until("the connection is closed", || {
        stream.write_all(b"x").is_err() || has_ended(&mut stream)
    });
    assert!(receiver.stored().is_empty());
}

#[test]
fn an_idle_connection_stays_and_a_second_head_must_end_as_well() {
    let receiver = Receiver::with(hasty());
    let mut stream = receiver.connect();
    assert_eq!(Post::github(BODY).over(&mut stream).status, 200);
    Deadline::after(SOON * 3).always("it is kept for the next one", || !has_ended(&mut stream));
    assert_eq!(Post::github(BODY).over(&mut stream).status, 200);
    stream.write_all(b"POST / HT").unwrap();
    within(10).until("the connection is closed", || has_ended(&mut stream));
}

#[test]
fn a_body_must_keep_a_pace() {
    let limits = Limits { body_grace: SOON, body_rate: 1000, ..Limits::default() };
    let receiver = Receiver::with(limits);
    let mut stream = receiver.connect();
    let post = Post::github(BODY).with("Content-Length", "1000000");
    stream.write_all(&post.head()).unwrap();
    stream.write_all(b"{").unwrap();
    let slow = answer(&mut stream).unwrap();
    assert_eq!((slow.status, slow.body.as_str()), (408, "body too slow"));
    assert_eq!(slow.header("connection"), Some("close"));

    // Slower than the grace and faster than the rate.
    let body = format!("{{\"x\":\"{}\"}}", "y".repeat(4000));
    let post = Post::github(body.clone());
    let mut stream = receiver.connect();
    stream.write_all(&post.head()).unwrap();
    let mut left = body.as_bytes();
    within(20).until("the body is sent", || {
        let (piece, rest) = left.split_at(left.len().min(50));
        stream.write_all(piece).unwrap();
        left = rest;
        left.is_empty()
    });
    assert_eq!(answer(&mut stream).unwrap().status, 200);
}

#[test]
fn no_body_lasts_longer_than_the_end() {
    let limits = Limits { body: SOON, body_rate: 1, ..Limits::default() };
    let receiver = Receiver::with(limits);
    let mut stream = receiver.connect();
    let post = Post::github("").with("Content-Length", "1000000");
    stream.write_all(&post.head()).unwrap();
    let mut early = None;
    within(10).until("it is cut off", || {
        let _ = stream.write_all(&[b' '; 100]);
        stream.set_nonblocking(true).unwrap();
        early = answer(&mut stream).ok();
        stream.set_nonblocking(false).unwrap();
        early.is_some()
    });
    assert_eq!(early.unwrap().status, 408);
}

/// A request under way: all but its last byte is sent.
fn begin(stream: &mut UnixStream, post: &Post) -> u8 {
    let bytes = post.bytes();
    let (last, first) = bytes.split_last().unwrap();
    stream.write_all(first).unwrap();
    *last
}

#[test]
fn connections_beyond_the_bound_are_asked_to_come_again() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let receiver = Receiver::with(limits);
    let mut seated: Vec<UnixStream> = (0..2).map(|_| receiver.connect()).collect();
    let mut last = 0;
    for stream in &mut seated {
        assert_eq!(Post::github(BODY).over(&mut *stream).status, 200);
        last = begin(stream, &Post::github(BODY));
    }
    let mut third = receiver.connect();
    let refused = Post::github(BODY).over(&mut third);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("30")));
    assert_eq!(refused.header("connection"), Some("close"));
    within(5).until("it is closed", || has_ended(&mut third));
    let mut large = Post::github(vec![b' '; 1_000_000]);
    large.body.extend(b"{}");
    assert_eq!(large.over(receiver.connect()).status, 503, "whatever it sends");
    seated[0].write_all(&[last]).unwrap();
    assert_eq!(answer(&mut seated[0]).unwrap().status, 200, "who sits is served");
    seated.pop();
    within(5).until("there is a seat again", || {
        Post::github(BODY).over(receiver.connect()).status == 200
    });
}

/// Seen red with seats that are kept between requests: the 65th was turned away.
#[test]
fn who_was_idle_for_the_longest_makes_room_and_a_request_under_way_does_not() {
    let receiver = Receiver::new();
    let mut busy = receiver.connect();
    assert_eq!(Post::github(BODY).over(&mut busy).status, 200);
    let last = begin(&mut busy, &Post::github(BODY));
    let mut idle: Vec<UnixStream> = (0..100)
        .map(|number| {
            let mut stream = receiver.connect();
            assert_eq!(Post::github(BODY).over(&mut stream).status, 200, "{number}");
            stream
        })
        .collect();
    // One of the 64 is busy.
    let (closed, kept) = idle.split_at_mut(100 - 63);
    within(5).until("the longest idle are closed", || closed.iter_mut().all(has_ended));
    for stream in kept {
        assert_eq!(Post::github(BODY).over(&mut *stream).status, 200, "and no other");
    }
    busy.write_all(&[last]).unwrap();
    assert_eq!(answer(&mut busy).unwrap().status, 200);
}

/// Seen red with heads that keep their seat for as long as they may take.
#[test]
fn a_crowd_that_never_ends_a_head_and_comes_again_and_again_keeps_nobody_out() {
    let limits = Limits { connections: 4, head: Duration::from_mins(1), ..Limits::default() };
    let receiver = Receiver::with(limits);
    let begin = || {
        let mut stream = receiver.connect();
        let _ = stream.write_all(b"POST / HTTP/1.1\r\nX-Long: ");
        stream
    };
    let mut crowd: Vec<UnixStream> = (0..4).map(|_| begin()).collect();
    within(10).until("somebody else is served", || {
        for stream in &mut crowd {
            if has_ended(stream) || stream.write_all(b"x").is_err() {
                *stream = begin();
            }
        }
        Post::github(BODY).over(receiver.connect()).status == 200
    });
}

/// Seen red with requests that keep their seat until their body or its discarding ends.
#[test]
fn a_crowd_that_never_ends_a_body_or_goes_on_after_its_refusal_keeps_nobody_out() {
    let long = Duration::from_mins(1);
    for signature in ["0".repeat(64), "00".to_owned()] {
        let limits = Limits {
            connections: 4,
            body_grace: long,
            body: long,
            discard: long,
            ..Limits::default()
        };
        let receiver = Receiver::with(limits);
        let head = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\
             X-Hub-Signature-256: sha256={signature}\r\n\r\n{{"
        );
        let begin = || {
            let mut stream = receiver.connect();
            let _ = stream.write_all(head.as_bytes());
            stream
        };
        // More than there are seats and places to be turned away at.
        let _crowd: Vec<UnixStream> = (0..14).map(|_| begin()).collect();
        within(10).until("somebody else is served", || {
            Post::github(BODY).over(receiver.connect()).status == 200
        });
    }
}

#[test]
fn silent_connections_do_not_keep_others_from_being_turned_away() {
    let limits = Limits { connections: 2, head: SOON, ..Limits::default() };
    let receiver = Receiver::with(limits);
    let _silent: Vec<UnixStream> = (0..20).map(|_| receiver.connect()).collect();
    within(20).until("the silent ones are gone", || {
        let mut stream = receiver.connect();
        stream.write_all(&Post::github(BODY).bytes()).unwrap();
        answer(&mut stream).is_ok_and(|it| it.status == 200)
    });
}

#[test]
fn a_used_up_budget_refuses_with_a_later() {
    let limits = Limits { disk: 1_000_000, patience: SOON, ..Limits::default() };
    let receiver = Receiver::with(limits);
    let spaces = |length| Post::github([vec![b' '; length], b"{}".to_vec()].concat());
    assert_eq!(spaces(2_000_000).over(receiver.connect()).status, 503, "declared");
    let refused = spaces(2_000_000).chunked(65_536).over(receiver.connect());
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("30")));
    assert_eq!(spaces(900_000).over(receiver.connect()).status, 200, "all came back");

    let limits = Limits { memory: 300_000, patience: SOON, ..Limits::default() };
    let receiver = Receiver::with(limits);
    assert_eq!(spaces(400_000).over(receiver.connect()).status, 503, "no memory for it");
    assert_eq!(spaces(280_000).over(receiver.connect()).status, 200);
    assert_eq!(spaces(200_000).over(receiver.connect()).status, 200);
}

#[test]
fn an_early_answer_is_seen_while_the_body_is_still_sent() {
    let receiver = Receiver::new();
    let body = vec![b'x'; 25_000_000];
    for post in [
        Post::unsigned(body.clone()),
        Post::unsigned(body.clone()).to("/other"),
        Post::unsigned(body.clone()).chunked(100_000),
    ] {
        let mut stream = receiver.connect();
        stream.write_all(&post.head()).unwrap();
        let early = answer(&mut stream).unwrap();
        assert!(matches!(early.status, 401 | 404), "{early:?}");
        let body = &post.bytes()[post.head().len()..];
        stream.write_all(body).unwrap_or_else(|error| panic!("cut off: {error}"));
        within(5).until("it is closed", || has_ended(&mut stream));
    }
}

#[test]
fn discarding_ends_too() {
    let limits = Limits { discard: SOON, ..Limits::default() };
    let receiver = Receiver::with(limits);
    let mut stream = receiver.connect();
    let post = Post::unsigned("").with("Content-Length", "1000000");
    stream.write_all(&post.head()).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 401);
    within(10).until("it is closed", || stream.write_all(b"x").is_err() || has_ended(&mut stream));
}

#[test]
fn at_the_end_idle_connections_are_closed_and_a_request_is_still_answered() {
    let mut receiver = Receiver::new();
    let (mut idle, mut busy) = (receiver.connect(), receiver.connect());
    assert_eq!(Post::github(BODY).over(&mut idle).status, 200);
    let post = Post::github(r#"{"n":2}"#);
    let bytes = post.bytes();
    let (first, last) = bytes.split_at(bytes.len() - 1);
    busy.write_all(first).unwrap();
    assert_eq!(Post::github(BODY).over(&mut idle).status, 200, "the first part has arrived");
    receiver.stop();
    within(5).until("the idle one is closed", || has_ended(&mut idle));
    assert!(!receiver.has_ended());
    busy.write_all(last).unwrap();
    assert_eq!(answer(&mut busy).unwrap().status, 200);
    within(5).until("the ingress ends", || receiver.has_ended());
    assert_eq!(receiver.stored().len(), 2);
    assert!(UnixStream::connect(receiver.socket()).is_err());
}
