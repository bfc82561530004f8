//! Bounded JSON lines over a unix socket, both ways at once.
//!
//! One method makes all progress and may be dropped at any `.await` without losing a byte, so it
//! can stand in a `select!` beside timers and changes.

use std::io::{self, ErrorKind};

use tokio::io::Interest;
use tokio::net::UnixStream;

use super::wire::MAX_LINE;

/// A connection, with what came in part and what could not be written yet.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: UnixStream,
    input: Vec<u8>,
    /// So far the input has no line end.
    searched: usize,
    output: Vec<u8>,
    /// So much of the output is written.
    written: usize,
}

/// What happened on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A line came, without its end.
    Line(Vec<u8>),
    /// All that was queued is written.
    Written,
    /// The other side is gone; an unfinished line is dropped.
    Closed,
}

impl Lines {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, input: Vec::new(), searched: 0, output: Vec::new(), written: 0 }
    }

    /// Puts a line into the output; [`Lines::turn`] writes it.
    pub(crate) fn queue(&mut self, line: &[u8]) {
        self.output.extend_from_slice(line);
    }

    /// Whether something queued is not written yet.
    pub(crate) fn is_writing(&self) -> bool {
        !self.output.is_empty()
    }

    /// Waits for a line, or until what is queued is written; cancel-safe, since both wait in here.
    ///
    /// # Errors
    /// When the connection fails, or a line is longer than [`MAX_LINE`].
    pub(crate) async fn turn(&mut self) -> io::Result<Turn> {
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(Turn::Line(line));
            }
            let interest = if self.output.is_empty() {
                Interest::READABLE
            } else {
                Interest::READABLE | Interest::WRITABLE
            };
            let ready = self.stream.ready(interest).await?;
            if ready.is_writable() && self.write()? {
                return Ok(Turn::Written);
            }
            if ready.is_readable() && self.read()? == Some(0) {
                return Ok(Turn::Closed);
            }
        }
    }

    /// Writes all that is queued; what comes meanwhile stays for [`Lines::turn`].
    ///
    /// # Errors
    /// When the connection fails.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            self.stream.writable().await?;
            self.write()?;
        }
        Ok(())
    }

    /// The uid at the other end.
    pub(crate) fn peer_uid(&self) -> io::Result<u32> {
        Ok(self.stream.peer_cred()?.uid())
    }

    fn take_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let found = self.input[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.input.len();
            return if self.input.len() > MAX_LINE { Err(too_long()) } else { Ok(None) };
        };
        let rest = self.input.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.input, rest);
        line.pop();
        self.searched = 0;
        if line.len() > MAX_LINE { Err(too_long()) } else { Ok(Some(line)) }
    }

    /// Reads what is there; `None` if nothing was after all.
    fn read(&mut self) -> io::Result<Option<usize>> {
        let mut piece = [0; 16 * 1024];
        match self.stream.try_read(&mut piece) {
            Ok(count) => {
                self.input.extend_from_slice(&piece[..count]);
                Ok(Some(count))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// Writes what fits; whether that was all.
    fn write(&mut self) -> io::Result<bool> {
        while self.written < self.output.len() {
            match self.stream.try_write(&self.output[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    // It never will be written; what came before can still be read.
                    (self.output, self.written) = (Vec::new(), 0);
                    return Err(error);
                }
            }
        }
        (self.output, self.written) = (Vec::new(), 0);
        Ok(true)
    }
}

fn too_long() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a line is longer than {MAX_LINE} bytes"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn lines_come_whole_whatever_the_pieces_and_however_often_the_wait_is_dropped() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut lines = Lines::new(near);
        far.write_all(b"one\ntw").await.unwrap();
        assert_eq!(lines.turn().await.unwrap(), Turn::Line(b"one".to_vec()));
        tokio::select! {
            biased;
            turn = lines.turn() => panic!("{turn:?}"),
            () = tokio::task::yield_now() => {}
        }
        far.write_all(b"o\n\nrest").await.unwrap();
        assert_eq!(lines.turn().await.unwrap(), Turn::Line(b"two".to_vec()));
        assert_eq!(lines.turn().await.unwrap(), Turn::Line(Vec::new()));
        drop(far);
        assert_eq!(lines.turn().await.unwrap(), Turn::Closed);
    }

    #[tokio::test]
    async fn a_side_that_reads_nothing_does_not_keep_the_other_from_being_heard() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut lines = Lines::new(near);
        lines.queue(&vec![b'x'; 4 * MAX_LINE]);
        far.write_all(b"ack\n").await.unwrap();
        assert_eq!(lines.turn().await.unwrap(), Turn::Line(b"ack".to_vec()));
        assert!(lines.is_writing());
        let read = tokio::spawn(async move {
            let mut all = vec![0; 4 * MAX_LINE];
            far.read_exact(&mut all).await.map(|_| far)
        });
        assert_eq!(lines.turn().await.unwrap(), Turn::Written);
        let _far = read.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused_at_the_limit() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut lines = Lines::new(near);
        tokio::spawn(async move {
            let _ = far.write_all(&vec![b'x'; MAX_LINE + 2]).await;
            std::future::pending::<()>().await;
        });
        let error = lines.turn().await.unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
    }
}
