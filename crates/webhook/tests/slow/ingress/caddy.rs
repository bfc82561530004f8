//! Through a real Caddy with the route that boxes have.
//!
//! A proxy that still sends a body when the connection is closed makes a 502 of the answer, and
//! the sender never learns what was wrong. Without `caddy` on the path the tests say that they
//! did not run.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agent_box_testkit::within;

use super::raw_http::{Answer, Post, answer};
use super::rig::{Receiver, connect, put, signature};

/// The route of the NixOS module.
const ROUTE: &str = include_str!("../../../../../nixos/payload/caddy/webhook.caddy");

/// A Caddy of this test in front of a receiver; it is killed when this is dropped.
struct Proxy {
    directory: tempfile::TempDir,
    child: Child,
}

impl Proxy {
    /// `None` where there is no Caddy.
    #[expect(clippy::print_stdout, reason = "a test that did not run says so")]
    fn before(receiver: &Receiver) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|directory| directory.join("caddy").is_file()) {
            println!("did not run: there is no caddy on the path");
            return None;
        }
        let directory = tempfile::Builder::new().prefix("ab-").tempdir_in("/tmp").unwrap();
        let route = ROUTE
            .replace("@user@", "alice")
            .replace("@socket@", &receiver.socket().display().to_string());
        let at = directory.path().display();
        let config = format!(
            "{{\n\tadmin off\n\tauto_https off\n\
             \tstorage file_system {at}/data\n}}\n\
             http:// {{\n\tbind unix/{at}/proxy.sock\n{route}\n\
             \thandle {{\n\t\trespond \"not here\" 418\n\t}}\n}}\n"
        );
        let file = directory.path().join("Caddyfile");
        put(&file, &config);
        let mut caddy = Command::new("caddy");
        caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file);
        caddy.env_clear().env("PATH", path).env("HOME", directory.path());
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        caddy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let proxy = Self { child: caddy.spawn().unwrap(), directory };
        within(20).until("caddy listens", || {
            std::os::unix::net::UnixStream::connect(proxy.socket()).is_ok()
        });
        Some(proxy)
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("proxy.sock")
    }

    /// Sends on a connection of its own; reads the answer whether or not all was taken.
    #[track_caller]
    fn ask(&self, post: &Post) -> Answer {
        let mut stream = connect(&self.socket());
        let _ = stream.write_all(&post.bytes());
        answer(&mut stream).unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn at(path: &str, body: impl Into<Vec<u8>>) -> Post {
    Post::unsigned(body).to(path)
}

#[test]
fn every_refusal_of_a_large_body_reaches_its_sender() {
    let receiver = Receiver::new();
    let Some(proxy) = Proxy::before(&receiver) else { return };
    let false_signature = format!("sha256={}", "0".repeat(64));
    let github = "/alice/webhook/github";
    let large = || at(github, vec![b' '; 25_000_000]);
    let cases = [
        ("a false signature", large().with("X-Hub-Signature-256", &false_signature), 401),
        ("no signature", large(), 401),
        ("no signature, no length", large().chunked(1_000_000), 401),
        ("no such source", large().to("/alice/webhook/other"), 404),
        (
            "too large",
            at(github, vec![b' '; 30_000_000]).with("X-Hub-Signature-256", &false_signature),
            413,
        ),
    ];
    for (what, post, expected) in cases {
        let some = || (0..5).map(|_| proxy.ask(&post).status).collect::<Vec<u16>>();
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let senders: Vec<_> = (0..4).map(|_| scope.spawn(some)).collect();
            senders.into_iter().flat_map(|it| it.join().unwrap()).collect()
        });
        assert_eq!(statuses, [expected; 20], "{what}: {}", proxy.log());
    }
    let busy = at(github, "{}").with("X-Hub-Signature-256", &signature(b"{}"));
    assert_eq!(proxy.ask(&busy).status, 200, "and it still serves");
}

#[test]
fn deliveries_pass_and_paths_are_exact() {
    let receiver = Receiver::new();
    let Some(proxy) = Proxy::before(&receiver) else { return };
    let signed = |path: &str, body: &str| {
        at(path, body).with("X-Hub-Signature-256", &signature(body.as_bytes()))
    };
    for (index, path) in
        ["/alice/webhook", "/alice/webhook/", "/alice/webhook/github"].into_iter().enumerate()
    {
        let answer = proxy.ask(&signed(path, &format!("[{index}]")));
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok"), "{path}");
    }
    for path in ["/alice/webhookgithub", "/alice", "/bob/webhook/github"] {
        assert_eq!(proxy.ask(&signed(path, "{}")).status, 418, "{path}");
    }
    let body = format!("\"{}\"", "x".repeat(26_000_000));
    assert_eq!(proxy.ask(&signed("/alice/webhook/github", &body)).status, 200, "the largest");
    let chunked = signed("/alice/webhook/github", r#"{"n":1}"#).chunked(2);
    assert_eq!(proxy.ask(&chunked).status, 200);
    assert_eq!(receiver.stored().len(), 5);
    assert!(Path::new(&receiver.paths().spool()).is_dir());
}

#[test]
fn many_deliveries_over_kept_connections_lose_none() {
    let receiver = Receiver::new();
    let Some(proxy) = Proxy::before(&receiver) else { return };
    std::thread::scope(|scope| {
        for sender in 0..8 {
            let proxy = &proxy;
            scope.spawn(move || {
                let mut stream = connect(&proxy.socket());
                for round in 0..50 {
                    let body = format!("[{sender},{round}]");
                    let post = at("/alice/webhook/github", body.clone())
                        .with("X-Hub-Signature-256", &signature(body.as_bytes()));
                    assert_eq!(post.over(&mut stream).status, 200);
                }
            });
        }
    });
    assert_eq!(receiver.stored().len(), 400);
}
