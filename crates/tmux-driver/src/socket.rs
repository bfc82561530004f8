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
        Ok(_) => match directory.ancestors().skip(1).find(|above| !is_trusted(above)) {
            None => return Ok(()),
            Some(_) => {
                "somebody else could replace it, for a directory above is theirs or \
                        writable by everybody"
            }
        },
    };
    Err(TmuxError::SocketDirectory { directory, source: io::Error::other(refusal) })
}

/// Whether only we and root can replace what lies in a directory.
///
/// Nobody's (65534) is what root's looks like in a container with users of its own. Writable for
/// the group counts as ours: many systems give each user a group of that name.
fn is_trusted(directory: &Path) -> bool {
    const NOBODY: u32 = 65_534;
    if directory.as_os_str().is_empty() {
        return true;
    }
    let Ok(meta) = fs::metadata(directory) else { return false };
    let owned = [0, NOBODY, rustix::process::geteuid().as_raw()].contains(&meta.uid());
    let shared = meta.mode() & 0o002 != 0 && meta.mode() & 0o1000 == 0;
    owned && !shared
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
    fn a_directory_that_others_could_replace_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("t/socket");
        make_directory(&socket).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(check_directory(&socket), Err(TmuxError::SocketDirectory { .. })));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        check_directory(&socket).unwrap();
    }

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
