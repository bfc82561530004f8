//! Seats for connections: so many are served at once, as many are told to come back later, and
//! the rest waits in the kernel.
//!
//! Between two requests a connection keeps its seat only until somebody needs it: whoever comes
//! and finds all taken gets the seat of the one that has been idle for the longest. So proxies may
//! keep many connections, and strangers who keep theirs shut nobody out. A request that is worked
//! on keeps its seat in any case; when all are such, the next one is told to come back.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The seats behind one or several doors.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    count: u32,
    served: Arc<Semaphore>,
    turned_away: Arc<Semaphore>,
    /// Has a permit while a seat is asked for. The semaphore gives it to whoever has waited for
    /// the longest, which is who has been idle for the longest, and to the next one if a request
    /// came there meanwhile.
    asked: Arc<Semaphore>,
}

/// A connection's seat; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    is_served: bool,
    asked: Arc<Semaphore>,
    _held: OwnedSemaphorePermit,
}

impl Seats {
    pub(crate) fn new(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let seats = || Arc::new(Semaphore::new(count as usize));
        Self { count, served: seats(), turned_away: seats(), asked: Arc::new(Semaphore::new(0)) }
    }

    /// Waits for a seat of either kind.
    pub(crate) async fn take(&self) -> Result<Seat, AcquireError> {
        if self.served.available_permits() == 0 {
            self.asked.add_permits(1);
            // Nobody hears it but who is idle, before it comes back here.
            tokio::select! {
                biased;
                held = Arc::clone(&self.served).acquire_owned() => {
                    // Somebody left unasked, and nobody heard it.
                    self.asked.forget_permits(1);
                    return Ok(self.seat(true, held?));
                }
                unheard = self.asked.acquire() => unheard?.forget(),
            }
        }
        tokio::select! {
            biased;
            held = Arc::clone(&self.served).acquire_owned() => Ok(self.seat(true, held?)),
            held = Arc::clone(&self.turned_away).acquire_owned() => Ok(self.seat(false, held?)),
        }
    }

    fn seat(&self, is_served: bool, held: OwnedSemaphorePermit) -> Seat {
        Seat { is_served, asked: Arc::clone(&self.asked), _held: held }
    }

    /// Waits until nobody sits any more.
    pub(crate) async fn all_left(&self) {
        let _ = self.served.acquire_many(self.count).await;
        let _ = self.turned_away.acquire_many(self.count).await;
    }
}

impl Seat {
    /// Whether its connection is served, and not asked to come back later.
    pub(crate) fn is_served(&self) -> bool {
        self.is_served
    }

    /// Waits until somebody else needs it; to be asked only while the connection is idle, from
    /// the moment in which it became so.
    pub(crate) async fn needed(&self) {
        if !self.is_served {
            return pending().await;
        }
        match self.asked.acquire().await {
            Ok(asked) => asked.forget(),
            Err(_) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::task::{JoinHandle, yield_now};
    use tokio::time::timeout;

    use super::*;

    /// A served connection that became idle now, and gives its seat up when that is needed.
    async fn idle(seats: &Seats) -> JoinHandle<()> {
        let seat = seats.take().await.unwrap();
        assert!(seat.is_served());
        let waits = tokio::spawn(async move { seat.needed().await });
        yield_now().await;
        waits
    }

    #[tokio::test]
    async fn who_has_been_idle_for_the_longest_makes_room_and_nobody_who_is_not_idle() {
        let seats = Seats::new(3);
        let busy = seats.take().await.unwrap();
        let (first, second) = (idle(&seats).await, idle(&seats).await);
        let third = seats.take().await.unwrap();
        assert!(third.is_served() && first.is_finished() && !second.is_finished());
        let fourth = seats.take().await.unwrap();
        assert!(fourth.is_served() && second.is_finished());
        assert!(!seats.take().await.unwrap().is_served(), "all are busy");
        drop((busy, third, fourth));
        timeout(Duration::from_secs(5), seats.all_left()).await.unwrap();
    }

    /// Takes a seat while its only holder is idle, who gets a request in that moment.
    async fn take_while_a_request_comes(seats: &Seats, holder: &Seat, also: impl FnOnce()) -> Seat {
        let mut needed = Box::pin(holder.needed());
        tokio::select! {
            biased;
            () = &mut needed => panic!("nobody has asked"),
            () = yield_now() => {}
        }
        let seats = seats.clone();
        let taking = tokio::spawn(async move { seats.take().await.unwrap() });
        yield_now().await;
        drop(needed);
        also();
        taking.await.unwrap()
    }

    /// Seen red without `forget_permits`, and with a call that is not taken back.
    #[tokio::test]
    async fn a_call_that_nobody_heard_costs_nobody_a_seat_later() {
        let seats = Seats::new(2);
        let (holder, other) = (seats.take().await.unwrap(), seats.take().await.unwrap());
        let taken = take_while_a_request_comes(&seats, &holder, || {}).await;
        assert!(!taken.is_served(), "a request keeps its seat");
        let taken = take_while_a_request_comes(&seats, &holder, || drop(other)).await;
        assert!(taken.is_served(), "somebody else left");
        drop(taken);
        let next = idle(&seats).await;
        yield_now().await;
        assert!(!next.is_finished(), "nobody needs it");
    }

    #[tokio::test]
    async fn who_is_turned_away_hears_nothing() {
        let seats = Seats::new(1);
        let _busy = seats.take().await.unwrap();
        let away = seats.take().await.unwrap();
        tokio::select! {
            biased;
            () = away.needed() => panic!("it has nothing to give"),
            () = yield_now() => {}
        }
        let taken = timeout(Duration::from_millis(50), seats.take()).await;
        assert!(taken.is_err(), "nobody gives up a seat, so the next one waits outside");
    }
}
