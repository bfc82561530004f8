//! Lines of stdin, read by a thread of their own: reading a pipe cannot be awaited without one.

use std::io::{self, BufRead, Read as _};

use tokio::sync::mpsc;

/// The longest line that is looked at.
pub(super) const MAX_LINE: usize = 1024 * 1024;
/// So many lines wait; the client waits beyond that.
const AHEAD: usize = 16;

/// The lines until the input ends or fails.
pub(super) fn of_stdin() -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next(&mut input) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

/// The next line without its end; one that is too long is empty.
fn next(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX) + 1;
    if input.take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > MAX_LINE {
        line.clear();
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_whole() {
        let mut text = b"one\n\n".to_vec();
        text.extend(vec![b'x'; MAX_LINE]);
        text.extend(b"\n");
        text.extend(vec![b'x'; MAX_LINE + 1]);
        text.extend(b"\nlast");
        let mut input = text.as_slice();
        let mut lengths = Vec::new();
        while let Some(line) = next(&mut input).unwrap() {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [3, 0, MAX_LINE, 0, 4]);
    }
}
