//! What strangers cost a receiver that runs as it is installed.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_box_testkit::within;

use super::daemon::Daemon;
use super::raw_http::{Post, answer};
use super::rig::{connect, signature_with};

const MIB: u64 = 1024;
const LARGE: usize = 50_000_000;

/// Sends it and returns its status; a stranger does not care whether all of it is taken.
fn send(daemon: &Daemon, post: &Post) -> u16 {
    let mut stream = connect(&daemon.socket());
    let _ = stream.write_all(&post.bytes());
    answer(&mut stream).map_or(0, |it| it.status)
}

/// The most memory that the receiver took while eight strangers sent this at once, in KiB above
/// what it had before, and their statuses.
fn cost_of_eight(daemon: &Daemon, post: &Post) -> (u64, Vec<u16>) {
    let before = daemon.resident();
    let (mut most, ended) = (before, AtomicUsize::new(0));
    let statuses = std::thread::scope(|scope| {
        let strangers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let status = send(daemon, post);
                    ended.fetch_add(1, Ordering::Relaxed);
                    status
                })
            })
            .collect();
        within(120).until("all strangers are answered", || {
            most = most.max(daemon.resident());
            ended.load(Ordering::Relaxed) == 8
        });
        strangers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    (most.saturating_sub(before), statuses)
}

/// A receiver that has already done everything once.
fn warm() -> Daemon {
    let daemon = Daemon::start();
    let body = br#"{"repository":{"full_name":"o/r"}}"#;
    let post =
        Post::unsigned(*body).with("X-Hub-Signature-256", &signature_with(&daemon.secret(), body));
    assert_eq!(send(&daemon, &post), 200);
    assert_eq!(send(&daemon, &Post::unsigned(*body)), 401);
    daemon
}

fn false_signature(post: Post) -> Post {
    post.with("X-Hub-Signature-256", &format!("sha256={}", "0".repeat(64)))
}

#[test]
fn eight_strangers_with_50_mb_each_cost_less_than_4_mb() {
    let daemon = warm();
    let large = Post::unsigned(vec![b' '; LARGE]);
    let cases = [
        ("no signature", large.clone(), 401),
        ("no such source", large.clone().to("/other"), 404),
        ("no signature, no length", large.clone().chunked(100_000), 401),
        ("a false signature", false_signature(large.clone()), 413),
        ("a false signature, no length", false_signature(large).chunked(100_000), 413),
        ("a false signature", false_signature(Post::unsigned(vec![b' '; 25_000_000])), 401),
    ];
    for (what, post, expected) in cases {
        let (cost, statuses) = cost_of_eight(&daemon, &post);
        assert_eq!(statuses, [expected; 8], "{what}");
        assert!(cost < 4 * MIB, "{what}: {cost} KiB");
    }
}

#[test]
fn a_body_that_is_refused_unread_costs_less_than_1_mb() {
    let daemon = warm();
    let post = Post::unsigned(vec![b' '; 25_000_000]);
    let before = daemon.resident();
    let mut stream = connect(&daemon.socket());
    let bytes = post.bytes();
    let (mut most, mut rest) = (before, bytes.as_slice());
    within(60).until("all is sent", || {
        let (piece, left) = rest.split_at(rest.len().min(1_000_000));
        stream.write_all(piece).unwrap();
        rest = left;
        most = most.max(daemon.resident());
        rest.is_empty()
    });
    assert_eq!(answer(&mut stream).unwrap().status, 401);
    assert!(most - before < MIB, "{} KiB", most - before);
}

#[test]
fn two_hundred_half_open_connections_hold_few_files_and_little_memory() {
    let daemon = warm();
    let (memory, files) = (daemon.resident(), daemon.open_files());
    let head = Post::unsigned("").head();
    let open: Vec<UnixStream> = (0..200)
        .filter_map(|index| {
            let stream = UnixStream::connect(daemon.socket()).ok()?;
            stream.set_nonblocking(true).unwrap();
            let _ = (&stream).write_all(&head[..index % head.len()]);
            Some(stream)
        })
        .collect();
    assert!(open.len() > 150, "{} could connect", open.len());
    within(5).until("as many as may be are accepted", || daemon.open_files() >= files + 64);
    // 64 are served, 64 are turned away, and one is about to be.
    agent_box_testkit::Deadline::after(std::time::Duration::from_millis(500))
        .always("the rest waits outside", || daemon.open_files() <= files + 130);
    let cost = daemon.resident().saturating_sub(memory);
    assert!(cost < 4 * MIB, "{cost} KiB");
}
