//! A sender as GitHub is one behind a proxy: signed bodies over a connection that is kept.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::clock::timed;

/// The secret of the source that it sends for.
pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A connection to the receiver.
pub(crate) struct Sender {
    stream: BufReader<UnixStream>,
    /// Makes its delivery ids differ from those of all others.
    name: String,
}

impl Sender {
    pub(crate) fn connect(socket: &Path, name: String) -> Result<Self, String> {
        let stream = UnixStream::connect(socket).map_err(|error| error.to_string())?;
        Ok(Self { stream: BufReader::new(stream), name })
    }

    /// Sends deliveries with bodies of this many bytes, each after the answer to the one before;
    /// says how many milliseconds each answer took.
    pub(crate) fn send(&mut self, count: usize, size: usize) -> Result<Vec<f64>, String> {
        let request = |number| request(&format!("{}-{number}", self.name), size);
        let requests = (0..count).map(request);
        let stream = &mut self.stream;
        requests
            .map(|request| {
                let (milliseconds, status) = timed(|| ask(stream, &request));
                match status.map_err(|error| error.to_string())? {
                    200 => Ok(milliseconds),
                    status => Err(format!("the receiver answered {status}")),
                }
            })
            .collect()
    }
}

/// An issue that somebody opened, with as much text as makes the size.
fn request(id: &str, size: usize) -> Vec<u8> {
    let begin = format!(
        r#"{{"action":"opened","repository":{{"full_name":"o/r"}},"sender":{{"login":"joe"}},"issue":{{"number":1,"title":"{id}","body":""#
    );
    let end = r#""}}"#;
    let filler = "x".repeat(size.saturating_sub(begin.len() + end.len()));
    let body = format!("{begin}{filler}{end}");
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())
        .expect("BUG: a key of any length will do");
    mac.update(body.as_bytes());
    let mut signature = String::new();
    for byte in mac.finalize().into_bytes() {
        write!(signature, "{byte:02x}").expect("BUG: writing to a string succeeds");
    }
    let length = body.len();
    let head = format!(
        "POST /github HTTP/1.1\r\nhost: box\r\nx-github-event: issues\r\nx-github-delivery: {id}\r\n\
         x-hub-signature-256: sha256={signature}\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Sends a request; the status of its answer.
fn ask(stream: &mut BufReader<UnixStream>, request: &[u8]) -> std::io::Result<u16> {
    stream.get_mut().write_all(request)?;
    let (mut status, mut length, mut line) = (0, 0, String::new());
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once([' ', ':']) {
            Some((version, rest)) if version.starts_with("HTTP/") => {
                status = rest.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    std::io::copy(&mut stream.take(length), &mut std::io::sink())?;
    Ok(status)
}
