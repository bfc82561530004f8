//! A running ingress with a store of the test's own.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_box_session::WebhookPaths;
use agent_box_webhook::inbox::{InboxError, Incoming, Stored};
use agent_box_webhook::ingress::{Ingress, Limits, Listener, Store, serve};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// What storing answers from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelf {
    Takes,
    IsFull,
    Fails,
}

/// Keeps what is stored, in order.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    stored: Arc<Mutex<Vec<Incoming>>>,
    shelf: Arc<Mutex<Shelf>>,
}

impl Store for Memory {
    async fn store(&self, incoming: Incoming) -> Result<Stored, InboxError> {
        match *self.shelf.lock().unwrap() {
            Shelf::Takes => {}
            Shelf::IsFull => return Ok(Stored::Full("the test says so".to_owned())),
            Shelf::Fails => return Err(InboxError::Closed),
        }
        let mut stored = self.stored.lock().unwrap();
        let same = |it: &Incoming| it.id == incoming.id && it.digest == incoming.digest;
        if let Some(index) = stored.iter().position(same) {
            return Ok(Stored::Duplicate { of: index as u64 + 1 });
        }
        stored.push(incoming);
        Ok(Stored::New(stored.len() as u64))
    }
}

/// A running ingress with a store of its own; it ends when this is dropped.
pub(crate) struct Receiver {
    directory: tempfile::TempDir,
    memory: Memory,
    port: u16,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Receiver {
    /// With one source, `github`.
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    /// Listens on a port of loopback as well.
    pub(crate) fn with_port() -> Self {
        Self::with_both(Limits::default(), true)
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::with_both(limits, false)
    }

    fn with_both(limits: Limits, has_port: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let shelf = Arc::new(Mutex::new(Shelf::Takes));
        let memory = Memory { stored: Arc::default(), shelf };
        let paths = WebhookPaths::new(directory.path());
        let ingress = Arc::new(Ingress::new(paths.clone(), limits, memory.clone()).unwrap());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let listener = tokio::net::UnixListener::bind(paths.ingress()).unwrap();
                let mut listeners = vec![Listener::Unix(listener)];
                let mut port = 0;
                if has_port {
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                    port = listener.local_addr().unwrap().port();
                    listeners.push(Listener::Tcp(listener));
                }
                ready.send(port).unwrap();
                let stopped = async { stopped.await.unwrap_or(()) };
                tokio::select! {
                    _ = ingress.keep_refusals() => {}
                    () = serve(listeners, Arc::clone(&ingress), stopped) => {}
                }
            });
        });
        let port = is_ready.recv().unwrap();
        let receiver = Self { directory, memory, port, stop: Some(stop), thread: Some(thread) };
        let github = format!(r#"{{"sources":{{"github":{{"secret":"{SECRET}"}}}}}}"#);
        receiver.set_sources(&github);
        receiver
    }

    pub(crate) fn paths(&self) -> WebhookPaths {
        WebhookPaths::new(self.directory.path())
    }

    pub(crate) fn set_sources(&self, document: &str) {
        put(&self.paths().sources(), document);
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.paths().ingress()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn connect(&self) -> UnixStream {
        connect(&self.socket())
    }

    pub(crate) fn stored(&self) -> Vec<Incoming> {
        self.memory.stored.lock().unwrap().clone()
    }

    pub(crate) fn set_shelf(&self, shelf: Shelf) {
        *self.memory.shelf.lock().unwrap() = shelf;
    }

    /// Asks it to end, without waiting.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop();
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        if !std::thread::panicking() {
            assert!(ended.is_some_and(|it| it.is_ok()), "the ingress panicked");
        }
    }
}

/// A private file with this content, replaced at once.
pub(crate) fn put(path: &Path, text: &str) {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
    io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o600)).unwrap();
    file.persist(path).unwrap();
}

pub(crate) fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// GitHub's signature header of a body.
pub(crate) fn signature(body: &[u8]) -> String {
    signature_with(SECRET, body)
}

pub(crate) fn signature_with(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    let digits = mac.finalize().into_bytes();
    let digits: Vec<String> = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={}", digits.concat())
}
