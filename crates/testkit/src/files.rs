//! Writing small files whole, so that a program under test never reads half of one.

use std::io::{self, Write as _};
use std::path::Path;

/// Replaces a file's content in one step, making its directory if needed.
///
/// # Errors
/// When the directory or the file cannot be written.
pub(crate) fn put(path: &Path, content: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
