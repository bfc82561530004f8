//! How long a connection may be silent, depending on what is expected of it.
//!
//! Between requests a connection may idle for long, if nobody needs its seat: a proxy keeps some
//! open, and closing one at the moment in which the proxy uses it would lose a delivery. A head
//! that has begun must end soon. What a body may take, its request watches itself.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::seats::Seat;

/// A head or a body that is longer on its way gives its seat up when it is needed. Proxies send
/// them at once, and whoever never ends one must not keep others out.
const BEGINNING: Duration = Duration::from_secs(2);

/// Whoever was refused and still sends has so long to hear it, when the seat is needed.
const LEAVING: Duration = Duration::from_millis(500);

/// What a connection does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was sent yet.
    Fresh(Instant),
    /// A request is over and the next one has not begun.
    Idle(Instant),
    /// The head of a request has begun.
    Head(Instant),
    /// Its body is on the way.
    Body(Instant),
    /// All of it is here, and it is worked on.
    Busy,
    /// It was refused, and what its sender still sends is thrown away.
    Leaving(Instant),
}

/// The pace of one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    phase: watch::Sender<Phase>,
    /// The next bytes that are written say that a delivery is stored.
    answers: AtomicBool,
}

impl Pace {
    pub(crate) fn new() -> Arc<Self> {
        let phase = watch::Sender::new(Phase::Fresh(Instant::now()));
        Arc::new(Self { phase, answers: AtomicBool::new(false) })
    }

    /// A request's head is whole.
    pub(crate) fn body(&self) {
        self.phase.send_replace(Phase::Body(Instant::now()));
    }

    /// A request was refused before its end.
    pub(crate) fn leaving(&self) {
        self.phase.send_replace(Phase::Leaving(Instant::now()));
    }

    /// A request is whole.
    pub(crate) fn busy(&self) {
        self.phase.send_replace(Phase::Busy);
    }

    /// A request and its body are over.
    pub(crate) fn idle(&self) {
        self.phase.send_replace(Phase::Idle(Instant::now()));
    }

    /// A 200 is about to be written.
    pub(crate) fn answers(&self) {
        self.answers.store(true, Ordering::Relaxed);
    }

    /// Bytes were written.
    fn wrote(&self) {
        if self.answers.swap(false, Ordering::Relaxed) {
            agent_box_testpoint::hit("webhook.answered");
        }
    }

    /// Bytes came.
    fn read(&self) {
        self.phase.send_if_modified(|phase| match phase {
            Phase::Fresh(since) => {
                *phase = Phase::Head(*since);
                true
            }
            Phase::Idle(_) => {
                *phase = Phase::Head(Instant::now());
                true
            }
            Phase::Head(_) | Phase::Body(_) | Phase::Busy | Phase::Leaving(_) => false,
        });
    }

    /// Returns when the connection has been silent for too long, or when its seat is needed and no
    /// request is lost with it.
    pub(crate) async fn overdue(&self, head: Duration, idle: Duration, seat: &Seat) {
        let mut changes = self.phase.subscribe();
        loop {
            let phase = *changes.borrow_and_update();
            let (yields, end) = match phase {
                Phase::Fresh(since) | Phase::Head(since) => (since + BEGINNING, Some(since + head)),
                Phase::Idle(since) => (since, Some(since + idle)),
                Phase::Body(since) => (since + BEGINNING, None),
                // Whoever was told to come back holds one of the places for that, which are few.
                Phase::Leaving(since) if !seat.is_served() => (since, Some(since + LEAVING)),
                Phase::Leaving(since) => (since + LEAVING, None),
                Phase::Busy => {
                    let _ = changes.changed().await;
                    continue;
                }
            };
            // What has come first goes first: a request that begins keeps its seat.
            tokio::select! {
                biased;
                _ = changes.changed() => {}
                () = needed(seat, yields) => return,
                () = over(end) => return,
            }
        }
    }
}

/// Waits until somebody else needs the seat, from `yields` on.
async fn needed(seat: &Seat, yields: Instant) {
    sleep_until(yields).await;
    seat.needed().await;
}

/// Waits for the end, if the request does not watch that itself.
async fn over(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// A connection that tells its pace of what it reads.
#[derive(Debug)]
pub(crate) struct Paced<I> {
    pub(crate) io: I,
    pub(crate) pace: Arc<Pace>,
}

impl<I: AsyncRead + Unpin> AsyncRead for Paced<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.pace.read();
        }
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Paced<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write(cx, bytes);
        if matches!(wrote, Poll::Ready(Ok(_))) {
            self.pace.wrote();
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::super::seats::Seats;
    use super::*;

    const HEAD: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(130);

    #[tokio::test(start_paused = true)]
    async fn a_head_must_end_soon_and_an_idle_connection_may_wait() {
        let elapsed = |since: Instant| since.elapsed().as_secs();
        let seat = Seats::new(1).take().await.unwrap();
        let start = Instant::now();
        let pace = Pace::new();
        pace.overdue(HEAD, IDLE, &seat).await;
        assert_eq!(elapsed(start), 10, "silent from the start");

        let start = Instant::now();
        let pace = Pace::new();
        tokio::time::advance(Duration::from_secs(6)).await;
        pace.read();
        pace.overdue(HEAD, IDLE, &seat).await;
        assert_eq!(elapsed(start), 10, "a byte now and then gains no time");

        let start = Instant::now();
        pace.body();
        pace.busy();
        let busy = tokio::time::timeout(Duration::from_secs(1000), pace.overdue(HEAD, IDLE, &seat));
        assert!(busy.await.is_err(), "a request watches itself");
        pace.idle();
        pace.overdue(HEAD, IDLE, &seat).await;
        assert_eq!(elapsed(start), 1130);

        let start = Instant::now();
        pace.idle();
        tokio::time::advance(Duration::from_secs(100)).await;
        pace.read();
        pace.read();
        pace.overdue(HEAD, IDLE, &seat).await;
        assert_eq!(elapsed(start), 110);
    }
}
