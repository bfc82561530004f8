//! Where deliveries come in.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use agent_box_session::env;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};

use crate::ingress::Listener;

use super::TICK;

/// Where deliveries come in, beside the socket among the webhook files.
#[derive(Debug)]
pub enum Door {
    /// Through sockets that somebody else opened: systemd's, all of them.
    Inherited(Vec<Inherited>),
    /// Through a unix socket of this name.
    Socket(PathBuf),
    /// Through this port of loopback; 0 is none.
    Port(u16),
}

/// A socket that somebody else opened.
#[derive(Debug)]
pub enum Inherited {
    /// A unix socket.
    Unix(std::os::unix::net::UnixListener),
    /// A port.
    Tcp(std::net::TcpListener),
}

/// Why deliveries cannot come in.
#[derive(Debug, Error)]
pub enum DoorError {
    /// It cannot be listened there.
    #[error("cannot listen on {place}")]
    Bind {
        /// Where.
        place: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Somebody else does.
    #[error("another program listens on {}; end it first", .0.display())]
    Taken(PathBuf),
    /// Somebody else has the port.
    #[error("another program listens on {0}; end it, or set {port} to a free port", port = env::WEBHOOK_PORT)]
    PortTaken(SocketAddr),
    /// Something else has the name.
    #[error("{} is no socket; move it aside, or name another place", .0.display())]
    NoSocket(PathBuf),
    /// What systemd handed over is of no kind that can be used.
    #[error("socket {0} that was handed over by the service manager is no listening stream socket")]
    Inherited(usize),
}

impl Door {
    /// Takes over what the service manager opened; call it before any thread is started.
    ///
    /// # Errors
    /// When one of the sockets is of another kind.
    pub fn inherited() -> Result<Option<Self>, DoorError> {
        let mut given = listenfd::ListenFd::from_env();
        let mut sockets = Vec::new();
        for place in 0..given.len() {
            let unix = given.take_unix_listener(place).ok().flatten();
            let socket = match unix {
                Some(unix) => Some(Inherited::Unix(unix)),
                None => given.take_tcp_listener(place).ok().flatten().map(Inherited::Tcp),
            };
            sockets.push(socket.ok_or(DoorError::Inherited(place))?);
        }
        Ok((!sockets.is_empty()).then_some(Self::Inherited(sockets)))
    }

    /// Opens it, inside an event loop.
    pub(super) fn open(&self) -> Result<Vec<Listener>, DoorError> {
        match self {
            Self::Inherited(sockets) => sockets.iter().map(Inherited::open).collect(),
            Self::Socket(path) => Ok(vec![Listener::Unix(bind_unix(path)?)]),
            Self::Port(0) => Ok(Vec::new()),
            Self::Port(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                let bound = std::net::TcpListener::bind(address).and_then(into_tokio);
                let bound = bound.map_err(|source| match source.kind() {
                    io::ErrorKind::AddrInUse => DoorError::PortTaken(address),
                    _ => DoorError::Bind { place: address.to_string(), source },
                });
                Ok(vec![Listener::Tcp(bound?)])
            }
        }
    }

    /// Opens it as soon as that succeeds; it did not a moment ago. Nothing tells when a port
    /// becomes free, so it is tried again and again.
    pub(super) async fn when_free(&self) -> Vec<Listener> {
        loop {
            tokio::time::sleep(TICK).await;
            if let Ok(open) = self.open() {
                return open;
            }
        }
    }

    /// What `receiver.json` says of it: the first place where deliveries come in.
    pub(super) fn describe(listeners: &[Listener]) -> Value {
        match listeners.first() {
            None => Value::Null,
            Some(Listener::Unix(socket)) => {
                let address = socket.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                path.map_or(Value::Null, |path| json!({ "path": path }))
            }
            Some(Listener::Tcp(socket)) => {
                socket.local_addr().map_or(Value::Null, |it| json!({ "port": it.port() }))
            }
        }
    }
}

impl Inherited {
    fn open(&self) -> Result<Listener, DoorError> {
        let opened = match self {
            Self::Unix(socket) => socket.try_clone().and_then(|socket| {
                socket.set_nonblocking(true)?;
                UnixListener::from_std(socket).map(Listener::Unix)
            }),
            Self::Tcp(socket) => socket.try_clone().and_then(into_tokio).map(Listener::Tcp),
        };
        opened.map_err(|source| DoorError::Bind {
            place: "a socket of the service manager".to_owned(),
            source,
        })
    }
}

fn into_tokio(socket: std::net::TcpListener) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

/// Listens on a unix socket; one that a dead process left behind is replaced.
pub(super) fn bind_unix(path: &Path) -> Result<UnixListener, DoorError> {
    if let Ok(meta) = std::fs::symlink_metadata(path) {
        if !meta.file_type().is_socket() {
            return Err(DoorError::NoSocket(path.to_owned()));
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(DoorError::Taken(path.to_owned()));
        }
        let _ = std::fs::remove_file(path);
    }
    UnixListener::bind(path)
        .map_err(|source| DoorError::Bind { place: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_of_the_dead_is_replaced_and_one_of_the_living_and_a_file_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.sock");
        let first = bind_unix(&path).unwrap();
        let error = bind_unix(&path).unwrap_err().to_string();
        assert!(error.starts_with("another program listens on /"), "{error}");
        drop(first);
        let _second = bind_unix(&path).unwrap();
        let file = directory.path().join("file");
        std::fs::File::create(&file).unwrap();
        let error = bind_unix(&file).unwrap_err().to_string();
        assert!(error.contains("is no socket"), "{error}");
        assert!(file.exists());
    }

    #[tokio::test]
    async fn a_door_says_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.sock");
        let door = Door::Socket(path.clone());
        let open = door.open().unwrap();
        assert_eq!(Door::describe(&open), json!({ "path": path }));
        let none = Door::Port(0);
        assert_eq!(Door::describe(&none.open().unwrap()), Value::Null);
        let std = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = std.local_addr().unwrap().port();
        let taken = Door::Port(port).open().unwrap_err().to_string();
        let expected = format!(
            "another program listens on 127.0.0.1:{port}; end it, or set LOCAL_WEBHOOK_PORT to a \
             free port"
        );
        assert_eq!(taken, expected);
        let given = Door::Inherited(vec![Inherited::Tcp(std)]);
        for _ in 0..2 {
            let open = given.open().unwrap();
            assert_eq!(Door::describe(&open), json!({ "port": port }), "also a second time");
        }
    }

    /// Seen red with a door that is looked at once.
    #[tokio::test(start_paused = true)]
    async fn a_port_is_taken_at_the_tick_after_it_became_free() {
        let other = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let door = Door::Port(other.local_addr().unwrap().port());
        let begin = tokio::time::Instant::now();
        let mut free = std::pin::pin!(door.when_free());
        let early = tokio::time::timeout(TICK * 5 / 2, &mut free).await;
        assert!(early.is_err(), "somebody has it");
        drop(other);
        assert_eq!(free.await.len(), 1);
        assert_eq!(begin.elapsed(), TICK * 3);
    }
}
