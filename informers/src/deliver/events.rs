//! The receiving end of a delivery queue.

use super::handler::{Registration, run};
use super::slot::{HandlerControl, HandlerSlot, TakeMode, Taken};
use super::{Delivery, DeliveryProgress, Lag, Steps};
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

/// The events and marks for one handler, pulled one by one. Dropping it removes the handler.
///
/// A slow reader is no problem: queued changes of one key are coalesced.
#[must_use = "dropping it removes the handler"]
pub struct Events<N: Send, T: Send> {
    pub(super) slot: Arc<HandlerSlot<N, T>>,
}

impl<N: Send, T: Send> Events<N, T> {
    pub(super) const fn new(slot: Arc<HandlerSlot<N, T>>) -> Self {
        Self { slot }
    }

    /// Returns whether the initial objects and the
    /// [`Bookmark::Synced`](machinery_objects::Bookmark::Synced) after them have been taken.
    pub fn is_synced(&self) -> bool {
        self.slot.synced() == Some(Ok(()))
    }

    /// Returns the lag of the handler at the time `now`.
    pub fn lag(&self, now: Instant) -> Lag {
        self.slot.lag(now)
    }
}

impl<N: Hash + Eq + Clone + Send + 'static, T: Clone + Send + 'static> Events<N, T> {
    /// Waits for the next delivery. Returns `None` once the hub is closed and the queue is empty.
    ///
    /// Cancel safe: dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Delivery<N, T>> {
        self.take(TakeMode::Pull).await.map(|(delivery, _)| delivery)
    }

    /// Like [`next`](Self::next), with the changes of the cache that the delivery covers.
    pub async fn next_with_steps(&mut self) -> Option<(Delivery<N, T>, Steps)> {
        self.take(TakeMode::Pull).await
    }

    /// Returns the progress of this handler, for tasks that wait until it has handled an event.
    pub fn progress(&self) -> DeliveryProgress {
        DeliveryProgress::new(self.slot.clone())
    }

    /// Returns a future that calls `handle` with each delivery, one at a time, and the registration
    /// that removes the handler.
    ///
    /// A panic of `handle` is caught and counted, and loses that delivery only. Dropping the future
    /// removes the handler, too.
    pub fn each<H>(self, handle: H) -> (Registration, impl Future<Output = ()> + Send + use<N, T, H>)
    where
        H: FnMut(Delivery<N, T>) + Send,
    {
        let registration = Registration::new(self.slot.clone());
        (registration, run(self, handle))
    }

    pub(super) async fn take(&self, by: TakeMode) -> Option<(Delivery<N, T>, Steps)> {
        loop {
            match self.slot.take(by) {
                Taken::Delivery(delivery, steps) => return Some((delivery, steps)),
                Taken::Closed => return None,
                Taken::Empty => {}
            }
            // Checked again after this, or a delivery in between would wake nothing.
            let listener = self.slot.ready.listen();
            match self.slot.take(by) {
                Taken::Delivery(delivery, steps) => return Some((delivery, steps)),
                Taken::Closed => return None,
                Taken::Empty => listener.await,
            }
        }
    }
}

impl<N: Send, T: Send> Drop for Events<N, T> {
    fn drop(&mut self) {
        self.slot.stop();
    }
}

impl<N: Send, T: Send> fmt::Debug for Events<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("is_synced", &self.is_synced()).finish_non_exhaustive()
    }
}
