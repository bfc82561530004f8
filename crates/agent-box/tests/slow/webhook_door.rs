//! `up` while another program has its port.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use agent_box_testkit::within;
use serde_json::Value;

use crate::webhook_box::{WebhookBox, issue};

/// Seen red with an `up` that gives the port up for good.
#[test]
fn a_port_that_was_busy_when_up_began_is_taken_once_it_is_free() {
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let mut the_box = WebhookBox::new(env!("CARGO_BIN_EXE_agent-box"));
    the_box.scene.set("LOCAL_WEBHOOK_PORT", port.to_string());
    let mut up = the_box.scene.supervise(&["up"]);
    up.wait_ready();
    let receiver = the_box.paths.receiver();
    let place = || {
        let said = std::fs::read(&receiver).unwrap_or_default();
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        said["ingress"].clone()
    };
    let own = the_box.paths.ingress();
    within(10).until("it receives", || place()["path"] == *own.to_str().unwrap());
    assert_eq!(the_box.send("issues", "one", &issue("o/r", 1)), Some(200), "from this machine");
    drop(other);
    within(60).until("it says that it has the port", || place()["port"] == port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let unsigned =
        "POST /github HTTP/1.1\r\nhost: box\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(unsigned.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    let output = up.terminate().stderr;
    let warning = format!("another program listens on 127.0.0.1:{port}; end it, or set");
    assert_eq!(output.matches(&warning).count(), 1, "{output}");
    assert_eq!(output.matches("webhooks come in from outside now").count(), 1, "{output}");
}
