//! Places of connections. Connections without an authenticated request have few places, and are
//! closed first when places are short.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_sync::{Mutex, Notify};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep_until};

/// Minimum time of a connection to authenticate, even when places are short: a handshake and a
/// request over a network. Until then others wait in the kernel's queue.
const GRACE: Duration = Duration::from_millis(250);

/// The places of a listener's connections.
pub(super) struct ConnectionPlaces {
    all: Arc<Semaphore>,
    pub(super) unauthenticated: Arc<Unauthenticated>,
}

/// The open connections whose client has not authenticated, oldest first.
pub(super) struct Unauthenticated {
    limit: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, OpenConnection>,
}

struct OpenConnection {
    since: Instant,
    close: oneshot::Sender<()>,
}

/// The registration of an unauthenticated connection, until it is dropped.
pub(super) struct UnauthenticatedPlace {
    number: u64,
    registry: Arc<Unauthenticated>,
}

/// Completes when the connection is to be closed in favour of another one.
pub(super) struct Displaced(oneshot::Receiver<()>);

impl ConnectionPlaces {
    /// Places for `connections`, of which up to `unauthenticated` are not authenticated; at most a
    /// quarter.
    pub(super) fn new(connections: usize, unauthenticated: usize) -> Self {
        let limit = unauthenticated.min(connections / 4).max(1);
        Self {
            all: Arc::new(Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS))),
            unauthenticated: Arc::new(Unauthenticated {
                limit,
                state: Mutex::default(),
                changed: Notify::new(),
            }),
        }
    }

    /// Waits for a place of a new connection. Closes the oldest unauthenticated connection if
    /// necessary, once that had its time.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.unauthenticated.below_limit().await;
        loop {
            let oldest = self.unauthenticated.oldest();
            let due = async {
                match oldest {
                    Some(since) => sleep_until(since + GRACE).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                place = self.all.clone().acquire_owned() => return place.ok(),
                () = due => {
                    if self.unauthenticated.close_oldest() {
                        return self.all.clone().acquire_owned().await.ok();
                    }
                }
            }
        }
    }
}

impl Unauthenticated {
    /// Registers a new connection.
    pub(super) fn open(self: &Arc<Self>) -> (UnauthenticatedPlace, Displaced) {
        let (close, closed) = oneshot::channel();
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, OpenConnection { since: Instant::now(), close });
        (UnauthenticatedPlace { number, registry: self.clone() }, Displaced(closed))
    }

    /// Closes the oldest connection. Returns whether there is one.
    pub(super) fn close_oldest(&self) -> bool {
        let oldest = self.state.lock().open.pop_first();
        // A connection that ends right now does not receive it.
        oldest.is_some_and(|(_, open)| open.close.send(()).is_ok())
    }

    fn oldest(&self) -> Option<Instant> {
        self.state.lock().open.first_key_value().map(|(_, open)| open.since)
    }

    /// Waits until another connection may be unauthenticated.
    async fn below_limit(&self) {
        loop {
            let changed = self.changed.listen();
            let (full, oldest) = {
                let state = self.state.lock();
                (state.open.len() >= self.limit, state.open.first_key_value().map(|(_, open)| open.since))
            };
            let Some(oldest) = oldest.filter(|_| full) else { return };
            tokio::select! {
                biased;
                () = sleep_until(oldest + GRACE) => {
                    self.close_oldest();
                }
                () = changed => {}
            }
        }
    }
}

impl Drop for UnauthenticatedPlace {
    fn drop(&mut self) {
        let open = self.registry.state.lock().open.remove(&self.number);
        if open.is_some() {
            self.registry.changed.notify_all();
        }
    }
}

impl Displaced {
    /// Never completes once the client has authenticated.
    pub(super) async fn closed(self) {
        if self.0.await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn the_oldest_unauthenticated_connection_is_displaced_after_its_time() {
        let places = ConnectionPlaces::new(100, 2);
        let (_first, displaced) = places.unauthenticated.open();
        let (_second, other) = places.unauthenticated.open();
        timeout(SOON, places.place()).await.expect_err("both have their time first");
        drop(places.place().await.expect("a place"));
        timeout(SOON, displaced.closed()).await.expect("the first one goes");
        timeout(SOON, other.closed()).await.expect_err("the second one stays");
    }

    #[tokio::test(start_paused = true)]
    async fn authenticated_connections_are_never_displaced() {
        let places = ConnectionPlaces::new(8, 2);
        let mut held = Vec::new();
        for _ in 0..7 {
            held.push(places.place().await.expect("a place"));
            let (place, displaced) = places.unauthenticated.open();
            drop(place);
            timeout(SOON, displaced.closed()).await.expect_err("it has authenticated");
        }
        held.push(places.place().await.expect("a place"));
        let (_place, displaced) = places.unauthenticated.open();
        let last = held.pop().expect("a place");
        let closes = async {
            displaced.closed().await;
            drop(last);
        };
        // All places are taken: the only unauthenticated connection goes.
        let (next, ()) =
            timeout(2 * GRACE, async { tokio::join!(places.place(), closes) }).await.expect("soon");
        drop(next.expect("a place"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_listener_waits_for_the_end_of_a_connection() {
        let places = ConnectionPlaces::new(1, 1);
        let held = places.place().await.expect("a place");
        timeout(Duration::from_secs(60), places.place()).await.expect_err("it is taken");
        drop(held);
        drop(places.place().await.expect("a place"));
    }
}
