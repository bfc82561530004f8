//! The socket and its directory: nobody else may reach it, and is anybody listening?

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::error::TmuxError;

/// Makes the socket's directory, open to its owner only, if it is missing.
pub(crate) fn make_directory(socket: &Path) -> Result<(), TmuxError> {
    let directory = directory(socket);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(|source| TmuxError::SocketDirectory { directory, source })?;
    // RACE: in a place like /tmp somebody else may have made it since it was found missing
    // (`a_directory_that_somebody_made_meanwhile_is_refused`).
    check_directory(socket)
}

/// Refuses a directory in which somebody else could have put, or could reach, the socket.
/// A missing one is fine: there is no server in it.
pub(crate) fn check_directory(socket: &Path) -> Result<(), TmuxError> {
    let directory = directory(socket);
    let refusal = match fs::symlink_metadata(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(TmuxError::SocketDirectory { directory, source }),
        Ok(meta) if !meta.is_dir() => "it is not a directory",
        Ok(meta) if meta.uid() != rustix::process::geteuid().as_raw() => {
            "it belongs to another user"
        }
        Ok(meta) if meta.mode() & 0o077 != 0 => "others can enter it; chmod it to 0700",
        Ok(_) => return Ok(()),
    };
    Err(TmuxError::SocketDirectory { directory, source: io::Error::other(refusal) })
}

fn directory(socket: &Path) -> PathBuf {
    socket.parent().unwrap_or(Path::new("/")).to_owned()
}

/// Whether some process listens on the path now, answering or not.
pub(crate) fn is_listening(socket: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = SocketAddrUnix::new(socket).and_then(|address| {
        let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&fd, &address)
    });
    // EAGAIN: the queue of a stopped server is full, so there is one.
    matches!(connected, Ok(()) | Err(Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_that_somebody_made_meanwhile_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("t/socket");
        check_directory(&socket).unwrap();
        fs::create_dir(place.path().join("t")).unwrap();
        fs::set_permissions(place.path().join("t"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(make_directory(&socket), Err(TmuxError::SocketDirectory { .. })));
    }
}
