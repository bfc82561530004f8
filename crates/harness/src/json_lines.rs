//! Transcripts as both agents write them: one JSON value a line, torn at the end when killed.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use agent_box_disk::open;
use serde_json::Value;

/// The longest line that is looked at; pictures make lines of megabytes, nothing makes longer ones.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// The first thing that `look` finds in the lines that mention `needle`, within the first `limit`
/// bytes.
///
/// Lines can be megabytes and files hundreds of them; only what mentions the needle is parsed.
pub(crate) fn find_map<T>(
    path: &Path,
    limit: u64,
    needle: &str,
    mut look: impl FnMut(&Value) -> Option<T>,
) -> io::Result<Option<T>> {
    let mut lines = BufReader::new(open(path)?.take(limit));
    let mut line = Vec::new();
    loop {
        line.clear();
        // UNTRUSTED: the agent can write what it likes here; without a bound, a hole in the file
        // would fill this program's memory (`a_transcript_with_an_endless_line_costs_no_memory`).
        if (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
        }
        let text = std::str::from_utf8(&line).ok().filter(|text| text.contains(needle));
        if let Some(value) = text.and_then(|text| serde_json::from_str(text).ok())
            && let Some(found) = look(&value)
        {
            return Ok(Some(found));
        }
    }
}
