//! Where a queue's time comes from: a hand that turns it, or a tokio runtime.

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
    /// Microseconds since the queue began, at most a tick behind the truth. For orders, ages and durations.
    #[inline]
    pub(crate) fn coarse(&self) -> u64 {
        match self {
            // The core never goes back, so 0 means "now" to it.
            Self::Manual => 0,
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.coarse(),
        }
    }

    /// Microseconds since the queue began. For deadlines: a delay must not end early because a tick was late.
    #[inline]
    pub(crate) fn exact(&self) -> u64 {
        match self {
            Self::Manual => 0,
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.exact(),
        }
    }

    /// Ends whatever turns it. Time goes on for those who look, but nobody is woken by it.
    pub(crate) async fn stop(&self) {
        match self {
            Self::Manual => {}
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.stop().await,
        }
    }

    /// Something is due before the clock's next look at the queue.
    pub(crate) fn rearm(&self) {
        match self {
            Self::Manual => {}
            #[cfg(feature = "tokio")]
            Self::Tokio(ticker) => ticker.rearm(),
        }
    }
}

/// The time of a queue made by [`crate::Queue::manual`]. It stands still unless it is moved.
pub struct ManualClock<K: Key> {
    shared: Arc<Shared<K>>,
}

impl<K: Key> ManualClock<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>) -> Self {
        Self { shared }
    }

    /// Moves the time on. What became due is ready when this returns, and whoever waits for it is woken.
    pub fn advance(&self, by: Duration) {
        self.shared.with(|core| core.advance(core.now().saturating_add(micros(by))));
    }

    /// The time since the queue began.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.shared.with(|core| core.now()))
    }

    /// In how long something changes by itself, or a little before it; `None` if nothing will.
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
