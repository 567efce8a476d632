//! The taking end of an inbox.

use super::handler::{Registration, run};
use super::slot::{HandlerControl, HandlerSlot, TakeMode, Taken};
use super::{Delivery, Lag};
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

/// What a handler is told, one after the other, for whoever asks for it. Dropping it removes the handler.
///
/// It may be asked as rarely as one likes: meanwhile changes of one key become one.
#[must_use = "dropping it removes the handler"]
pub struct Events<N: Send, T: Send> {
    pub(super) slot: Arc<HandlerSlot<N, T>>,
}

impl<N: Send, T: Send> Events<N, T> {
    pub(super) const fn new(slot: Arc<HandlerSlot<N, T>>) -> Self {
        Self { slot }
    }

    /// Whether all that was there at the beginning has been taken, and the mark that says so.
    pub fn is_synced(&self) -> bool {
        self.slot.synced() == Some(Ok(()))
    }

    /// How far it is behind at a time.
    pub fn lag(&self, now: Instant) -> Lag {
        self.slot.lag(now)
    }
}

impl<N: Hash + Eq + Clone + Send + 'static, T: Clone + Send + 'static> Events<N, T> {
    /// Waits for what is to be told next. `None`: the informer has stopped, and all that was due has been told.
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Delivery<N, T>> {
        self.take(TakeMode::Pull).await
    }

    /// Calls `handle` with each, one at a time, for as long as the future is driven; and what to remove the handler with.
    ///
    /// A call that panics is counted, and the next one is made. Dropping the future removes the handler, too.
    pub fn each<H>(self, handle: H) -> (Registration, impl Future<Output = ()> + Send + use<N, T, H>)
    where
        H: FnMut(Delivery<N, T>) + Send,
    {
        let registration = Registration::new(self.slot.clone());
        (registration, run(self, handle))
    }

    pub(super) async fn take(&self, by: TakeMode) -> Option<Delivery<N, T>> {
        loop {
            match self.slot.take(by) {
                Taken::Delivery(delivery) => return Some(delivery),
                Taken::Closed => return None,
                Taken::Empty => {}
            }
            let listener = self.slot.ready.listen();
            match self.slot.take(by) {
                Taken::Delivery(delivery) => return Some(delivery),
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
