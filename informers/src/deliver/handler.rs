//! Handlers: who is called, and how that ends.

use super::slot::{HandlerControl, TakeMode};
use super::{Closed, Delivery, Events, Lag};
use machinery_objects::Mark;
use machinery_sync::contained;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

/// A handler that is called. Dropping this removes it, without waiting for a call that is running: what it captured
/// belongs to whoever came with it, and ends with them. [`Registration::detach`] lets it live as long as its informer.
#[must_use = "dropping it removes the handler"]
pub struct Registration {
    control: Arc<dyn HandlerControl>,
    detached: bool,
}

impl Registration {
    pub(super) const fn new(control: Arc<dyn HandlerControl>) -> Self {
        Self { control, detached: false }
    }

    /// Waits until the handler has handled all that was there at the beginning. Dropping the future changes nothing.
    ///
    /// # Errors
    /// If it never will: the informer has stopped, or the handler was removed.
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

    /// Whether the handler has handled all that was there at the beginning.
    pub fn is_synced(&self) -> bool {
        self.control.synced() == Some(Ok(()))
    }

    /// How far the handler is behind at a time.
    pub fn lag_at(&self, now: Instant) -> Lag {
        self.control.lag(now)
    }

    /// How far the handler is behind.
    #[cfg(feature = "tokio")]
    pub fn lag(&self) -> Lag {
        self.lag_at(tokio::time::Instant::now().into_std())
    }

    /// Removes the handler: once this has returned no call begins any more. The future that it returns waits for the call
    /// that is running, if there is one; whoever does not care drops it. Doing it again does no harm.
    ///
    /// In the handler's own call there is nothing to wait for: that call is the last.
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

    /// Leaves the handler to its informer: it is called for as long as that runs.
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

/// After so many calls others have a turn, however much is due.
const CALLS_PER_YIELD: u32 = 64;

pub(super) async fn run<N, T, H>(events: Events<N, T>, mut handle: H)
where
    N: Hash + Eq + Clone + Send + 'static,
    T: Clone + Send + 'static,
    H: FnMut(Delivery<N, T>),
{
    let mut calls = 0;
    while let Some(delivery) = events.take(TakeMode::Call).await {
        let was_synced = matches!(delivery, Delivery::Mark(Mark::Synced));
        let panicked = contained(|| handle(delivery)).is_err();
        events.slot.returned(was_synced, panicked);
        calls += 1;
        if calls % CALLS_PER_YIELD == 0 {
            yield_now().await;
        }
    }
}

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

/// Has a task of its own call a handler until it is removed, the token is cancelled, or all that was due when the hub
/// closed has been told.
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
