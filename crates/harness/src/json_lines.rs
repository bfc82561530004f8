//! Transcripts as both agents write them: one JSON value a line, torn at the end when killed.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::Value;

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
    let mut lines = BufReader::new(File::open(path)?.take(limit));
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = std::str::from_utf8(&line).ok().filter(|text| text.contains(needle));
        if let Some(value) = text.and_then(|text| serde_json::from_str(text).ok())
            && let Some(found) = look(&value)
        {
            return Ok(Some(found));
        }
    }
}
