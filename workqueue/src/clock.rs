//! The clock of a queue: moved by hand, or driven by a tokio runtime.

use crate::Key;
use crate::core::micros;
use crate::shared::Shared;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "tokio")]
use crate::ticker::Ticker;

pub(crate) enum Clock {
    /// The core's own time, which [`ManualClock`] moves.
    Manual,
    #[cfg(feature = "tokio")]
    Tokio(Ticker),
}

impl Clock {
    /// Microseconds since the queue was created, at most one tick late. For ordering, ages and
    /// durations.
    #[inline]
    pub(crate) fn coarse(&self) -> u64 {
        match self {
            // The core never goes back, so 0 means "now" to it.
            Self::Manual => 0,
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.coarse(),
        }
    }

    /// Microseconds since the queue was created, exact. For deadlines: a delay must not end early
    /// because a tick was late.
    #[inline]
    pub(crate) fn exact(&self) -> u64 {
        match self {
            Self::Manual => 0,
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.exact(),
        }
    }

    /// Stops the driver. Reading the time still works, but no delay ends by itself.
    pub(crate) async fn stop(&self) {
        match self {
            Self::Manual => {}
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.stop().await,
        }
    }

    /// Wakes the driver, because a key is due before its next wake-up.
    pub(crate) fn rearm(&self) {
        match self {
            Self::Manual => {}
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.rearm(),
        }
    }
}

/// The clock of a queue made by [`crate::Queue::manual`]. It moves only by
/// [`ManualClock::advance`].
pub struct ManualClock<K: Key> {
    shared: Arc<Shared<K>>,
}

impl<K: Key> ManualClock<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>) -> Self {
        Self { shared }
    }

    /// Moves the clock. Keys that became due are ready when this returns, and their waiters are
    /// woken.
    pub fn advance(&self, by: Duration) {
        self.shared.with(|core| core.advance(core.now().saturating_add(micros(by))));
    }

    /// Returns the time since the queue was created.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.shared.with(|core| core.now()))
    }

    /// Returns the time until the next delay or deadline ends, or a little less; `None` if there is
    /// none.
    pub fn next(&self) -> Option<Duration> {
        let wait = self.shared.with(|core| core.next_wake().map(|next| next.saturating_sub(core.now())));
        wait.map(Duration::from_micros)
    }
}

impl<K: Key> fmt::Debug for ManualClock<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("now", &self.now()).finish()
    }
}
