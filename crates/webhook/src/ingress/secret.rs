//! Shared secrets: how they are read, which are refused, and that nothing prints them.

use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::disk;

/// The fewest bytes of a key that is accepted.
pub const MIN_KEY_BYTES: usize = 16;

/// No sender's secret is longer; a larger file is something else.
const MAX_FILE_BYTES: u64 = 4096;

/// What signs a source's deliveries. It prints as dots, and has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A key of these bytes, unless it is too weak.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretProblem> {
        let bytes = bytes.into();
        match bytes.len() {
            0 => Err(SecretProblem::Empty),
            length if length < MIN_KEY_BYTES => Err(SecretProblem::Weak { length }),
            _ => Ok(Self(bytes)),
        }
    }

    /// The bytes, for a MAC; never to be printed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a secret is not used; the message names the fix and never the secret.
#[derive(Debug, Error)]
pub enum SecretProblem {
    /// There is nothing in it.
    #[error("the secret is empty; run `agent-box webhook setup` for this source")]
    Empty,
    /// It could be guessed.
    #[error(
        "the secret has {length} bytes, and fewer than {MIN_KEY_BYTES} can be guessed; \
         run `agent-box webhook secrets rotate` for this source"
    )]
    Weak {
        /// Its length in bytes.
        length: usize,
    },
    /// The scheme's secrets are base64 after `whsec_`.
    #[error("the secret is no base64; copy it whole, with its `whsec_`")]
    NotBase64,
    /// It is no text.
    #[error("{}: not UTF-8 text; a secret is one line of text", .0.display())]
    NotText(PathBuf),
    /// There is no such file.
    #[error(
        "{}: missing; run `agent-box webhook setup` for this source, or restore the file",
        .0.display()
    )]
    Missing(PathBuf),
    /// It is a directory, a pipe, or far too long.
    #[error("{}: not a file with a secret", .0.display())]
    NotASecret(PathBuf),
    /// Others can read it, or change it.
    #[error(
        "{}: others have access to it (mode {mode:04o}); run `chmod 600 {}`, \
         and rotate the secret if the box has other users",
        path.display(), path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to another user, who can change it.
    #[error(
        "{}: belongs to user id {owner}, not to you; run `chown {ours} {}` as root",
        path.display(), path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        ours: u32,
    },
    /// It stands in a file that others can read.
    #[error(
        "the secret stands in {}, to which others have access (mode {mode:04o}); \
         run `chmod 600 {}`", path.display(), path.display()
    )]
    InlineExposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It cannot be read.
    #[error("{}: cannot be read ({source})", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The text of a secret's file, trimmed; refused when anyone but its owner has access to it.
///
/// A file of root's is as good as our own: services are handed their secrets so.
pub(crate) fn read_file(path: &Path) -> Result<String, SecretProblem> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => SecretProblem::Missing(path.to_owned()),
        io::ErrorKind::InvalidInput => SecretProblem::NotASecret(path.to_owned()),
        _ => SecretProblem::Unreadable { path: path.to_owned(), source },
    };
    let file = disk::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(SecretProblem::NotASecret(path.to_owned()));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretProblem::Exposed { path: path.to_owned(), mode });
    }
    let ours = rustix::process::geteuid().as_raw();
    let owner = metadata.uid();
    if owner != ours && owner != 0 {
        return Err(SecretProblem::NotOurs { path: path.to_owned(), owner, ours });
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => SecretProblem::NotText(path.to_owned()),
        _ => unreadable(error),
    })?;
    Ok(text.trim().to_owned())
}

/// A new secret: 128 random bits as 32 hexadecimal digits.
pub(crate) fn mint() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file(mode: u32, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("github.secret");
        let mut file = std::fs::File::create(&path).unwrap();
        io::Write::write_all(&mut file, content).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
        (directory, path)
    }

    #[test]
    fn a_secret_prints_as_dots() {
        let secret = Secret::new(*b"0123456789abcdef").unwrap();
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)).matches("0123").count(), 0);
    }

    #[test]
    fn a_weak_secret_is_refused_with_the_fix() {
        assert!(Secret::new([b'x'; 16]).is_ok());
        let problem = Secret::new([b'x'; 15]).unwrap_err().to_string();
        assert!(problem.contains("15 bytes") && problem.contains("secrets rotate"), "{problem}");
        assert!(matches!(Secret::new([]), Err(SecretProblem::Empty)));
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_fix() {
        for mode in [0o600, 0o400] {
            let (_directory, path) = file(mode, b"  spaced secret\n");
            assert_eq!(read_file(&path).unwrap(), "spaced secret");
        }
        for mode in [0o640, 0o604, 0o620, 0o602, 0o644, 0o610] {
            let (_directory, path) = file(mode, b"hidden-hidden-hidden");
            let problem = read_file(&path).unwrap_err().to_string();
            assert!(problem.contains("chmod 600") && !problem.contains("hidden"), "{problem}");
        }
    }

    #[test]
    fn what_is_no_secret_is_refused_without_waiting() {
        let (directory, _path) = file(0o600, b"");
        let absent = directory.path().join("absent");
        assert!(matches!(read_file(&absent), Err(SecretProblem::Missing(_))));
        assert!(matches!(read_file(directory.path()), Err(SecretProblem::NotASecret(_))));
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(matches!(read_file(&pipe), Err(SecretProblem::NotASecret(_))));
        let (_directory, path) = file(0o600, b"\xff\xfe");
        assert!(matches!(read_file(&path), Err(SecretProblem::NotText(_))));
        let (_directory, path) = file(0o600, &[b'x'; 5000]);
        assert!(matches!(read_file(&path), Err(SecretProblem::NotASecret(_))));
    }

    #[test]
    fn minted_secrets_are_32_hexadecimal_digits_and_differ() {
        let (one, two) = (mint().unwrap(), mint().unwrap());
        assert_ne!(one, two);
        for secret in [one, two] {
            assert_eq!(secret.len(), 32);
            assert!(secret.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
        assert_eq!(hex(&[0, 0x9a, 0xff]), "009aff");
    }
}
