//! Connections: accepted up to a bound, kept to a pace, ended with the program.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming as RequestBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

use super::answer::Answer;
use super::pace::{Pace, Paced};
use super::receive::Received;
use super::seats::{Seat, Seats};
use super::{Ingress, Store};

/// Where deliveries come in.
#[derive(Debug)]
pub enum Listener {
    /// A unix socket; who may connect is its mode.
    Unix(UnixListener),
    /// Loopback.
    Tcp(TcpListener),
}

/// The longest head, and what a connection reads at once.
const BUFFER: usize = 64 * 1024;
/// How long requests that are worked on may still take when the program ends.
const FAREWELL: Duration = Duration::from_secs(10);
/// A sender that is turned away has so long to hear it.
const TURNED_AWAY: Duration = Duration::from_secs(2);

/// Serves until `shutdown` returns; then ends idle connections at once, and others when their
/// request is answered. Doors that are served by one call share their seats.
pub async fn serve<S: Store>(
    listeners: Vec<Listener>,
    ingress: Arc<Ingress<S>>,
    shutdown: impl Future<Output = ()>,
) {
    let (ends, is_ending) = watch::channel(false);
    let seats = Seats::new(ingress.limits.connections);
    let mut accepting = tokio::task::JoinSet::new();
    for listener in listeners {
        let doors = Doors {
            ingress: Arc::clone(&ingress),
            seats: seats.clone(),
            is_ending: is_ending.clone(),
        };
        accepting.spawn(doors.accept_all(listener));
    }
    drop(is_ending);
    shutdown.await;
    accepting.shutdown().await;
    ends.send_replace(true);
    if tokio::time::timeout(FAREWELL, seats.all_left()).await.is_err() {
        tracing::warn!("webhook: some senders were cut off, they had not ended their requests");
    }
}

/// What accepting needs.
struct Doors<S> {
    ingress: Arc<Ingress<S>>,
    seats: Seats,
    is_ending: watch::Receiver<bool>,
}

impl<S: Store> Doors<S> {
    async fn accept_all(self, listener: Listener) {
        loop {
            let failed = match &listener {
                Listener::Unix(it) => match it.accept().await {
                    Ok((stream, _)) => {
                        self.admit(stream).await;
                        continue;
                    }
                    Err(error) => error,
                },
                Listener::Tcp(it) => match it.accept().await {
                    Ok((stream, _)) => {
                        self.admit(stream).await;
                        continue;
                    }
                    Err(error) => error,
                },
            };
            tracing::warn!("webhook: cannot accept a connection: {failed}");
            // Out of descriptors, most likely; some come back soon.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Begins a connection's conversation once it has a seat.
    async fn admit<I>(&self, io: I)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Ok(seat) = self.seats.take().await else { return };
        let guest = Guest { ingress: Arc::clone(&self.ingress), pace: Pace::new(), seat };
        tokio::spawn(guest.converse(io, self.is_ending.clone()));
    }
}

/// One connection.
struct Guest<S> {
    ingress: Arc<Ingress<S>>,
    pace: Arc<Pace>,
    seat: Seat,
}

impl<S: Store> Guest<S> {
    async fn converse<I>(self, io: I, mut is_ending: watch::Receiver<bool>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(Paced { io, pace: Arc::clone(&self.pace) });
        let service = service_fn(|request| self.respond(request));
        let mut connection = pin!(
            http1::Builder::new()
                .max_buf_size(BUFFER)
                .max_header_size(BUFFER)
                // A sender may close its side once its request is out.
                .half_close(true)
                .serve_connection(io, service)
        );
        let limits = &self.ingress.limits;
        let (head, idle) = if self.seat.is_served() {
            (limits.head, limits.idle)
        } else {
            (limits.head.min(TURNED_AWAY), TURNED_AWAY)
        };
        let mut overdue = pin!(self.pace.overdue(head, idle, &self.seat));
        let mut knows_of_end = false;
        loop {
            // The connection first: what was sent is read before it may be found silent.
            tokio::select! {
                biased;
                ended = &mut connection => {
                    if let Err(error) = ended {
                        tracing::debug!("webhook connection: {error}");
                    }
                    return;
                }
                () = &mut overdue => return,
                _ = is_ending.changed(), if !knows_of_end => {
                    knows_of_end = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    async fn respond(
        &self,
        request: Request<RequestBody>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        self.pace.body();
        let Received { answer, unread } = if self.seat.is_served() {
            self.ingress.receive(request, &self.pace).await
        } else {
            self.ingress.turn_away(request)
        };
        if answer == Answer::Stored {
            self.pace.answers();
        }
        let response = answer.response(unread.is_some() || !self.seat.is_served());
        // Answering and closing at once would turn the answer into a broken connection for whoever
        // still sends, and a proxy makes a 502 of that: answer, then let it finish.
        match unread {
            None => self.pace.idle(),
            Some(body) => {
                self.pace.leaving();
                let (ingress, pace) = (Arc::clone(&self.ingress), Arc::clone(&self.pace));
                tokio::spawn(async move {
                    ingress.discard(body).await;
                    pace.idle();
                });
            }
        }
        Ok(response)
    }
}
