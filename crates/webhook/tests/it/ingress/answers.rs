//! Status codes, their order, and what is stored.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;

use agent_box_event::EventKey;
use agent_box_testkit::within;

use super::raw_http::{Answer, Post, answer};
use super::rig::{Receiver, SECRET, Shelf, signature};

const BODY: &str = r#"{"repository":{"full_name":"o/r"},"sender":{"login":"alice"}}"#;

fn said(answer: &Answer) -> (u16, &str) {
    (answer.status, &answer.body)
}

#[test]
fn a_signed_delivery_is_stored_before_it_is_answered() {
    let receiver = Receiver::new();
    let post = Post::github(BODY).with("X-GitHub-Delivery", "d1");
    let answer = post.over(receiver.connect());
    assert_eq!(said(&answer), (200, "ok"));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    let stored = receiver.stored();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].body, BODY.as_bytes());
    assert_eq!((stored[0].kind.as_str(), stored[0].id.as_str()), ("push", "d1"));
    assert_eq!(stored[0].key.as_ref().map(EventKey::as_str), Some("o/r"));
    assert_eq!(said(&post.over(receiver.connect())), (200, "ok"), "a duplicate is fine");
    assert_eq!(receiver.stored().len(), 1);
}

#[test]
fn every_refusal_has_its_status() {
    let receiver = Receiver::new();
    let check = |post: Post, status, text| {
        let answer = post.over(receiver.connect());
        assert_eq!(said(&answer), (status, text), "{post:?}");
    };
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"] {
        check(Post::github(BODY).method(method), 405, "method not allowed");
    }
    let mut stream = receiver.connect();
    stream.write_all(&Post::github("").method("HEAD").head()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 405");
    for path in ["/other", "/GitHub", "//github", "/github/x", "/github%2F", "/?x/github"] {
        let expected = if path == "/?x/github" { (200, "ok") } else { (404, "unknown source") };
        check(Post::github(BODY).to(path), expected.0, expected.1);
    }
    for path in ["/", "/github", "/github/", "/%67ithub", "/github?x=1"] {
        check(Post::github(BODY).to(path), 200, "ok");
    }
    check(Post::unsigned(BODY), 401, "invalid signature");
    for bad in ["", "sha256=", "sha256=00", &format!("sha256={}", "0".repeat(64))] {
        let post = Post::unsigned(BODY).with("X-Hub-Signature-256", bad);
        check(post, 401, "invalid signature");
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in ["", "{", "\u{feff}{}", r#"{"a":"\ud800"}"#, "NaN", &deep] {
        check(Post::github(body), 400, "bad json");
    }
    let form =
        Post::github("payload=%7B%7D").with("Content-Type", "application/x-www-form-urlencoded");
    let answer = form.over(receiver.connect());
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("application/json"), "{}", answer.body);
    check(Post::github(BODY).with("Content-Length", "26214401"), 413, "body too large");
    let answer = Post::github(BODY).with("Content-Length", "x").over(receiver.connect());
    assert_eq!(answer.status, 400);
    let answer = Post::github(BODY).with("X-Long", &"x".repeat(70_000)).over(receiver.connect());
    assert_eq!(answer.status, 431);
    assert_eq!(receiver.stored().len(), 1, "the same body each time");
}

#[test]
fn checks_come_in_the_promised_order() {
    let receiver = Receiver::new();
    let huge = |post: Post| post.with("Content-Length", "99999999999");
    let check = |post: Post, status| {
        let answer = post.over(receiver.connect());
        assert_eq!(answer.status, status, "{post:?}");
    };
    check(huge(Post::unsigned("").to("/other").method("PUT")), 405);
    check(huge(Post::unsigned("").to("/other")), 404);
    check(huge(Post::unsigned("")), 401);
    check(huge(Post::github("")), 413);
    receiver.set_shelf(Shelf::IsFull);
    check(Post::github("no json"), 400);
    check(Post::github(BODY), 503);
}

#[test]
fn before_set_up_every_path_is_unknown() {
    let receiver = Receiver::new();
    std::fs::remove_file(receiver.paths().sources()).unwrap();
    for path in ["/", "/github"] {
        let answer = Post::github(BODY).to(path).over(receiver.connect());
        assert_eq!(said(&answer), (404, "unknown source"));
    }
    receiver.set_sources(&format!(r#"{{"sources":{{"github":{{"secret":"{SECRET}"}}}}}}"#));
    assert_eq!(Post::github(BODY).over(receiver.connect()).status, 200, "at once");
    receiver.set_sources(r#"{"sources":{"github":{}}}"#);
    let answer = Post::github(BODY).over(receiver.connect());
    assert_eq!(said(&answer), (401, "invalid signature"), "no secret");
}

#[test]
fn a_store_that_cannot_take_it_asks_to_come_again() {
    let receiver = Receiver::new();
    receiver.set_shelf(Shelf::IsFull);
    let answer = Post::github(BODY).over(receiver.connect());
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("30"));
    assert!(!answer.body.contains("the test says so"), "{}", answer.body);
    receiver.set_shelf(Shelf::Fails);
    assert_eq!(said(&Post::github(BODY).over(receiver.connect())), (500, "error"));
    receiver.set_shelf(Shelf::Takes);
    assert_eq!(Post::github(BODY).over(receiver.connect()).status, 200);
}

#[test]
fn bytes_are_verified_as_they_were_sent_and_wrong_by_one_bit_is_refused() {
    let receiver = Receiver::new();
    let gzip: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xab\xae\x05\x00C\xbf\xa6\xa3";
    let cases: &[(&[u8], u16)] = &[
        (b"{\"a\":1}\r\n", 200),
        (b"{\r\n\"a\" : 1.0\r\n}", 200),
        (b"{\"a\":1,\"a\":2}", 200),
        ("{\"a\":\"é\"}".as_bytes(), 200),
        (b"{\"a\":\"\\u00E9\\u00e9\\u2028\"}", 200),
        ("{\"a\":\"\u{2028}\"}".as_bytes(), 200),
        (b"{\"a\":1e2}\n\n", 200),
        (b"\xef\xbb\xbf{\"a\":1}", 400),
        (gzip, 400),
        (b"payload=%7B%22a%22%3A1%7D", 400),
        (b"\x00\xff", 400),
    ];
    for (body, status) in cases {
        for chunk in [None, Some(1), Some(5)] {
            let shaped = |post: Post| chunk.map_or(post.clone(), |size| post.chunked(size));
            let post = shaped(Post::github(*body));
            assert_eq!(post.over(receiver.connect()).status, *status, "{body:?}");
            for (index, bit) in [(0, 0), (body.len() / 2, 5), (body.len() - 1, 7)] {
                let mut post = post.clone();
                post.body[index] ^= 1 << bit;
                let answer = post.over(receiver.connect());
                assert_eq!(said(&answer), (401, "invalid signature"), "{body:?} {index}");
            }
        }
    }
    let stored: Vec<Vec<u8>> = receiver.stored().into_iter().map(|it| it.body).collect();
    let sent: Vec<Vec<u8>> =
        cases.iter().filter(|(_, status)| *status == 200).map(|(it, _)| it.to_vec()).collect();
    assert_eq!(stored, sent);
}

#[test]
fn bodies_of_all_sizes_arrive_whole() {
    let receiver = Receiver::new();
    for length in [1000, 200_000, 262_143, 262_144, 262_145, 3_000_000, 26_214_400] {
        let mut body = format!("{{\"x\":\"{}\"}}", "y".repeat(length - 8)).into_bytes();
        assert_eq!(body.len(), length);
        let post = Post::github(body.clone());
        assert_eq!(post.over(receiver.connect()).status, 200, "{length}");
        assert!(receiver.stored().last().unwrap().body == body);
        body[length / 2] = b'z';
        let post = Post::unsigned(body)
            .with("X-Hub-Signature-256", &signature(&post.body))
            .chunked(65_536);
        assert_eq!(post.over(receiver.connect()).status, 401, "{length}");
    }
    let spool = receiver.paths().spool();
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 0);
}

#[test]
fn a_connection_serves_many_requests_also_after_a_refusal() {
    let receiver = Receiver::new();
    let mut stream = receiver.connect();
    for round in 0..5 {
        let body = format!(r#"{{"n":{round}}}"#);
        assert_eq!(Post::github(body.clone()).over(&mut stream).status, 200);
        let wrong = Post::unsigned(body.clone()).with("X-Hub-Signature-256", &signature(b"other"));
        assert_eq!(wrong.over(&mut stream).status, 401);
        assert_eq!(Post::github(body).chunked(3).over(&mut stream).status, 200);
        assert_eq!(Post::github("{").over(&mut stream).status, 400);
    }
    assert_eq!(receiver.stored().len(), 5);
    // Two at once.
    let two = [Post::github("{}").bytes(), Post::github("[]").bytes()].concat();
    stream.write_all(&two).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 200);
    assert_eq!(answer(&mut stream).unwrap().status, 200);
}

#[test]
fn older_and_more_careful_clients_are_served() {
    let receiver = Receiver::new();
    let mut stream = receiver.connect();
    let bytes = Post::github(BODY).bytes();
    let old = String::from_utf8(bytes).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
    stream.write_all(old.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 200);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "closed after it");

    let mut stream = receiver.connect();
    let post = Post::github(BODY).with("Expect", "100-continue");
    stream.write_all(&post.head()).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 100);
    stream.write_all(BODY.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 200);

    let mut stream = receiver.connect();
    let stranger = Post::unsigned(BODY).with("Expect", "100-continue");
    stream.write_all(&stranger.head()).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 401, "without being asked for its body");

    let mut stream = receiver.connect();
    stream.write_all(&Post::github(BODY).bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(answer(&mut stream).unwrap().status, 200, "that closes its side");
}

#[test]
fn slack_is_answered_its_challenge() {
    let receiver = Receiver::new();
    receiver.set_sources(&format!(
        r#"{{"sources":{{"slack":{{"scheme":"slack","secret":"{SECRET}"}}}}}}"#
    ));
    let now = agent_box_webhook::now_ms() / 1000;
    let body = r#"{"type":"url_verification","challenge":"3eZbrw1aB10"}"#;
    let signed = signature(format!("v0:{now}:{body}").as_bytes());
    let post = Post::unsigned(body)
        .to("/slack")
        .with("X-Slack-Request-Timestamp", &now.to_string())
        .with("X-Slack-Signature", &signed.replace("sha256=", "v0="));
    assert_eq!(said(&post.over(receiver.connect())), (200, "3eZbrw1aB10"));
    assert!(receiver.stored().is_empty());
    let old = post.with("X-Slack-Request-Timestamp", &(now - 301).to_string());
    assert_eq!(old.over(receiver.connect()).status, 401);
}

#[test]
fn a_sender_that_goes_away_halfway_stores_nothing() {
    let receiver = Receiver::new();
    let post = Post::github(BODY);
    let mut stream = receiver.connect();
    let bytes = post.bytes();
    stream.write_all(&bytes[..bytes.len() - 1]).unwrap();
    drop(stream);
    assert_eq!(post.over(receiver.connect()).status, 200, "another one is served");
    within(5).until("both are over", || receiver.stored().len() == 1);
}
