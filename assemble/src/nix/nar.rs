//! The archive form of a tree of texts, whose hash is the tree's hash in Nix.

use std::collections::BTreeMap;
use std::io::{self, Cursor};

use nix_nar::{Encoder, FileSystem, FileSystemMetadata, NarError};

use super::nixhash::NixHash;

/// The hash of the tree that these files make; paths are relative, with `/` between the parts.
pub fn hash(files: &BTreeMap<String, String>) -> Result<NixHash, NarError> {
    let mut archive = Vec::new();
    let mut encoder = Encoder::new_with_filesystem("", Tree(files))?;
    io::copy(&mut encoder, &mut archive)?;
    Ok(NixHash::of(&archive))
}

/// A tree that exists in memory only.
struct Tree<'a>(&'a BTreeMap<String, String>);

impl<'a> Tree<'a> {
    fn file(&self, path: &str) -> Option<&'a str> {
        self.0.get(path).map(String::as_str)
    }

    /// The names directly below a directory; none if there is no such directory.
    fn below(&self, directory: &str) -> Vec<String> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let paths = self.0.keys().filter_map(|path| path.strip_prefix(&prefix));
        let mut names: Vec<String> =
            paths.filter_map(|rest| rest.split('/').next().map(str::to_owned)).collect();
        // One directory's files need not be neighbours: `a-b` sorts before `a/b`.
        names.sort();
        names.dedup();
        names
    }
}

impl<'a> FileSystem for Tree<'a> {
    type File = Cursor<&'a [u8]>;

    fn metadata(&self, path: &camino::Utf8Path) -> io::Result<FileSystemMetadata> {
        Ok(match self.file(path.as_str()) {
            Some(text) => FileSystemMetadata::File { executable: false, length: text.len() as u64 },
            None => FileSystemMetadata::Directory,
        })
    }

    fn read_dir(&self, path: &camino::Utf8Path) -> io::Result<Vec<String>> {
        Ok(self.below(path.as_str()))
    }

    fn open(&self, path: &camino::Utf8Path) -> io::Result<Self::File> {
        let text = self.file(path.as_str()).ok_or(io::ErrorKind::NotFound)?;
        Ok(Cursor::new(text.as_bytes()))
    }
}
