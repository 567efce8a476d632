//! Event handlers that are called, and their registration.

use super::slot::{HandlerControl, TakeMode};
use super::{Closed, Delivery, Events, Lag};
use machinery_objects::Bookmark;
use machinery_sync::contained;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

/// The registration of an event handler, as client-go's `ResourceEventHandlerRegistration`.
///
/// Dropping it removes the handler without waiting for a running call.
/// [`Registration::detach`] keeps the handler as long as its informer.
#[must_use = "dropping it removes the handler"]
pub struct Registration {
    control: Arc<dyn HandlerControl>,
    detached: bool,
}

impl Registration {
    pub(super) const fn new(control: Arc<dyn HandlerControl>) -> Self {
        Self { control, detached: false }
    }

    /// Waits until the handler has handled the initial objects. Cancel safe.
    ///
    /// # Errors
    /// The informer stopped, or the handler was removed, before that.
    pub async fn synced(&self) -> Result<(), Closed> {
        let control = &self.control;
        loop {
            let listener = control.changed().listen();
            if let Some(settled) = control.synced() {
                return settled;
            }
            listener.await;
        }
    }

    /// Returns whether the handler has handled the initial objects.
    pub fn is_synced(&self) -> bool {
        self.control.synced() == Some(Ok(()))
    }

    /// Returns the lag of the handler at the time `now`.
    pub fn lag_at(&self, now: Instant) -> Lag {
        self.control.lag(now)
    }

    /// Returns the current lag of the handler.
    #[cfg(feature = "tokio")]
    pub fn lag(&self) -> Lag {
        self.lag_at(tokio::time::Instant::now().into_std())
    }

    /// Removes the handler: no call begins after this has returned. The returned future waits for a
    /// running call; it may be dropped. Removing a handler twice does no harm.
    ///
    /// Inside the handler's own call the future returns at once: that call is the last.
    pub fn remove(&self) -> impl Future<Output = ()> + Send + use<> {
        let control = self.control.clone();
        control.stop();
        async move {
            loop {
                let listener = control.changed().listen();
                if !control.is_calling() {
                    return;
                }
                listener.await;
            }
        }
    }

    /// Keeps the handler registered for as long as its informer runs.
    pub fn detach(mut self) {
        self.detached = true;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.detached {
            self.control.stop();
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("is_synced", &self.is_synced()).finish_non_exhaustive()
    }
}

/// Number of calls after which a handler yields to other tasks.
const CALLS_PER_YIELD: u32 = 64;

pub(super) async fn run<N, T, H>(events: Events<N, T>, mut handle: H)
where
    N: Hash + Eq + Clone + Send + 'static,
    T: Clone + Send + 'static,
    H: FnMut(Delivery<N, T>),
{
    let mut calls = 0;
    while let Some((delivery, _)) = events.take(TakeMode::Call).await {
        let was_synced = matches!(delivery, Delivery::Mark(Bookmark::Synced));
        let panicked = contained(|| handle(delivery)).is_err();
        events.slot.returned(was_synced, panicked);
        calls += 1;
        if calls % CALLS_PER_YIELD == 0 {
            yield_now().await;
        }
    }
}

// Not tokio's: handlers run on any executor.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Spawns a task that calls a handler until it is removed, the token is cancelled, or the hub is
/// closed and the queue is empty.
///
/// # Panics
/// Outside a tokio runtime.
#[cfg(feature = "tokio")]
pub fn spawn<N, T, H>(
    events: Events<N, T>,
    tasks: &tokio_util::task::TaskTracker,
    stopping: tokio_util::sync::CancellationToken,
    handle: H,
) -> Registration
where
    N: Hash + Eq + Clone + Send + 'static,
    T: Clone + Send + 'static,
    H: FnMut(Delivery<N, T>) + Send + 'static,
{
    let (registration, running) = events.each(handle);
    tasks.spawn(async move {
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            () = running => {}
        }
    });
    registration
}
