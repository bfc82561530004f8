//! HTTP by hand, so that a test says exactly which bytes it sends and when.

use std::io::{self, Read, Write};

use super::rig::signature;

/// A request in the making.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    chunk: Option<usize>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Post {
    /// A delivery of GitHub's, signed, with an id of its own.
    pub(crate) fn github(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::unsigned(body.clone()).with("X-Hub-Signature-256", &signature(&body))
    }

    pub(crate) fn unsigned(body: impl Into<Vec<u8>>) -> Self {
        let (method, path) = ("POST".to_owned(), "/github".to_owned());
        let post = Self { method, path, headers: Vec::new(), body: body.into(), chunk: None };
        post.with("Host", "box.test").with("X-GitHub-Event", "push")
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    pub(crate) fn to(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in chunks of this size, without its length.
    pub(crate) fn chunked(mut self, size: usize) -> Self {
        self.chunk = Some(size);
        self
    }

    /// The head alone.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut lines = vec![format!("{} {} HTTP/1.1", self.method, self.path)];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if self.chunk.is_some() {
            lines.push("Transfer-Encoding: chunked".to_owned());
        } else if !self.headers.iter().any(|(name, _)| name == "Content-Length") {
            lines.push(format!("Content-Length: {}", self.body.len()));
        }
        lines.push("\r\n".to_owned());
        let head = lines.join("\r\n");
        head.into_bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        let Some(size) = self.chunk else {
            bytes.extend_from_slice(&self.body);
            return bytes;
        };
        for chunk in self.body.chunks(size) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    /// Sends it and reads the answer.
    #[track_caller]
    pub(crate) fn over(&self, mut stream: impl Read + Write) -> Answer {
        stream.write_all(&self.bytes()).unwrap();
        answer(&mut stream).unwrap()
    }
}

/// Reads one answer.
pub(crate) fn answer(stream: &mut impl Read) -> io::Result<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            let read = String::from_utf8_lossy(&head).into_owned();
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, read));
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut answer = Answer { status, head, body: String::new() };
    let length = answer.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    answer.body = String::from_utf8(body).map_err(io::Error::other)?;
    Ok(answer)
}
