//! Finding a live server whose socket was unlinked, and making it put the socket back.
//!
//! Somebody cleans the directory of temporary files: the socket's name is gone, the server and
//! all its sessions live on, and the next client would start a second server beside it.
//! The kernel still knows which process listens on that path: `/proc/net/unix` keeps the name a
//! socket was bound to, and the listener holds it open. That needs no file of ours (which the
//! same cleaner would take) and cannot be stale or name a recycled pid.
//! SIGUSR1 makes a tmux server create its socket anew.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::deadline::Deadline;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::socket;

/// Between two looks at a socket that is being created; only the server's end can be waited for.
const STEP: Duration = Duration::from_millis(5);

/// What a look at the socket came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Somebody listens on the socket's path.
    Reachable,
    /// A live server had lost its socket and listens on it again.
    Recovered,
    /// No server listens on that path, under its name or without one.
    NoServer,
}

impl Tmux {
    /// Makes a live server of ours reachable again if its socket was unlinked. Every other call
    /// does this by itself before it says [`TmuxError::NoServer`] or starts a server.
    ///
    /// # Errors
    /// [`TmuxError::TimedOut`] when there is such a server but it does not put its socket back
    /// (a stopped one, for example): a second one must not be started then.
    pub fn recover_socket(&self) -> Result<Recovery, TmuxError> {
        self.recover(Deadline::after(self.allowed))
    }

    pub(crate) fn recover(&self, deadline: Deadline) -> Result<Recovery, TmuxError> {
        const RECOVER: &str = "recover-socket";
        let path = self.socket();
        if socket::is_listening(path) {
            return Ok(Recovery::Reachable);
        }
        let lost_track = |source| TmuxError::Client { command: RECOVER, source };
        let Some(server) = listener(path).map_err(lost_track)? else {
            return Ok(Recovery::NoServer);
        };
        socket::make_directory(path)?;
        if pidfd_send_signal(&server, Signal::USR1).is_err() {
            return Ok(Recovery::NoServer);
        }
        while !socket::is_listening(path) {
            let timed_out = TmuxError::TimedOut { command: RECOVER, after: deadline.allowed };
            let timeout = deadline.poll_timeout(STEP).ok_or(timed_out)?;
            let mut ended = [PollFd::new(&server, PollFlags::IN)];
            match poll(&mut ended, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(Recovery::NoServer),
                Err(error) => return Err(lost_track(error.into())),
            }
        }
        Ok(Recovery::Recovered)
    }
}

/// The tmux server of our own that listens on a socket bound to `path`, linked or not.
fn listener(path: &Path) -> io::Result<Option<OwnedFd>> {
    let sockets: Vec<String> = listening_inodes(&fs::read("/proc/net/unix")?, path)
        .into_iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return Ok(None);
    }
    let own = rustix::process::geteuid().as_raw();
    for process in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Some(pid) = Pid::from_raw(pid) else { continue };
        // The pidfd comes first: what is read afterwards is about this process, or it has ended
        // and the signal goes nowhere.
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let directory = process.path();
        let is_own = fs::metadata(&directory).is_ok_and(|meta| meta.uid() == own);
        // UNTRUSTED: SIGUSR1 ends a program that does not expect it, and a socket can be
        // inherited; only tmux gets it (`only_a_tmux_server_is_signalled`).
        let is_tmux = fs::read(directory.join("comm")).is_ok_and(|comm| comm.starts_with(b"tmux"));
        if is_own && is_tmux && holds(&directory, &sockets) {
            return Ok(Some(pidfd));
        }
    }
    Ok(None)
}

fn holds(process: &Path, sockets: &[String]) -> bool {
    fs::read_dir(process.join("fd")).is_ok_and(|fds| {
        fds.filter_map(Result::ok)
            .filter_map(|fd| fs::read_link(fd.path()).ok())
            .any(|link| link.to_str().is_some_and(|link| sockets.iter().any(|s| s == link)))
    })
}

/// Lines are `address: references protocol flags type state inode path`; flag 0x10000 is set on
/// sockets that accept connections.
fn listening_inodes(table: &[u8], path: &Path) -> Vec<u64> {
    let line_inode = |line: &[u8]| {
        let mut fields = line.splitn(8, |b| *b == b' ');
        let flags = fields.nth(3)?;
        // The inode is right-aligned, so the rest is split again.
        let rest: Vec<&[u8]> = fields.collect();
        let rest = rest.get(2..)?.join(&b' ');
        let start = rest.iter().position(|b| *b != b' ')?;
        let (inode, name) = rest[start..].split_at(rest[start..].iter().position(|b| *b == b' ')?);
        let listens = flags == b"00010000" && &name[1..] == path.as_os_str().as_bytes();
        std::str::from_utf8(inode).ok()?.parse().ok().filter(|_| listens)
    };
    table.split(|b| *b == b'\n').filter_map(line_inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_of_exactly_the_path_are_found() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000bc02b93f: 00000002 00000000 00010000 0001 01 36814 /tmp/a b/s\n\
            00000000bc02b931: 00000003 00000000 00000000 0001 03 36815 /tmp/a b/s\n\
            00000000bc02b932: 00000002 00000000 00010000 0001 01   816 /tmp/a b/s\n\
            00000000bc02b933: 00000002 00000000 00010000 0001 01 36817 /tmp/a b/s2\n\
            00000000bc02b934: 00000002 00000000 00010000 0001 01 36818\n";
        assert_eq!(listening_inodes(table, Path::new("/tmp/a b/s")), [36814, 816]);
        assert_eq!(listening_inodes(table, Path::new("b/s")), [0_u64; 0]);
    }
}
