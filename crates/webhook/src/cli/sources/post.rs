//! One HTTP request to this machine.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The receiver answers at once or not at all.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of an answer more is not read.
const MAX_ANSWER: u64 = 64 * 1024;

/// Where somebody may listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Socket(PathBuf),
    /// On loopback.
    Port(u16),
}

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

trait Stream: Read + Write {}
impl Stream for UnixStream {}
impl Stream for TcpStream {}

/// Posts to the first place where somebody listens; `None` if nobody does.
pub(super) fn post(
    places: &[Place],
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> io::Result<Option<Answer>> {
    let Some(mut stream) = places.iter().find_map(|place| connect(place).ok()) else {
        return Ok(None);
    };
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        head = format!("{head}{name}: {value}\r\n");
    }
    let length = body.len();
    head = format!(
        "{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    // Who refuses early may have answered all the same.
    match read(stream.as_mut()) {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => Err(sent.err().unwrap_or(error)),
    }
}

fn connect(place: &Place) -> io::Result<Box<dyn Stream>> {
    Ok(match place {
        Place::Socket(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
        Place::Port(port) => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
    })
}

fn read(stream: &mut dyn Stream) -> io::Result<Answer> {
    let mut reader = BufReader::new(stream.take(MAX_ANSWER));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
    let not_http = || io::Error::new(io::ErrorKind::InvalidData, "the answer is no HTTP");
    let status = status.filter(|_| line.starts_with("HTTP/1.")).ok_or_else(not_http)?;
    let mut rest = String::new();
    reader.read_to_string(&mut rest)?;
    let text = rest.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(Answer { status, text: text.trim().to_owned() })
}
