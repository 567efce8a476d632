//! The clock on a tokio runtime: read if reads are rare, ticked if they are frequent; and its
//! driver task.
//!
//! An idle queue has no ticks, and each operation reads the clock. Once many operations share a
//! millisecond, the driver stores the time every millisecond and operations load it, until a
//! millisecond passes without a use. The driver also wakes for delays that are due. It holds the
//! queue weakly, is cancelled when the last handle or work is dropped, and is awaited by
//! [`crate::Queue::drain`].

use crate::Key;
use crate::config::ConfigError;
use crate::core::micros;
use crate::shared::Shared;
use machinery_sync::Notify;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Number of clock reads in one millisecond from which ticking is cheaper.
const BUSY: u64 = 32;
/// tokio's timers round up to the next millisecond, so this is one tick each.
const TICK: Duration = Duration::from_micros(500);

/// Ticking is off. Like [`STOPPED`] beyond all times, and even: marked as not used.
const OFF: u64 = u64::MAX - 1;
/// The driver has stopped, and no tick follows.
const STOPPED: u64 = u64::MAX - 3;

pub(crate) struct Ticker {
    origin: Instant,
    /// The time of the last tick, shifted left by one; the low bit marks that an operation used it.
    /// [`OFF`], [`STOPPED`].
    tick: AtomicU64,
    /// The millisecond of the last clock read (high 48 bits), and the number of reads in it (low
    /// 16).
    recent: AtomicU64,
    kick: Arc<Notify>,
    driver: TaskTracker,
    stop: CancellationToken,
    /// Cancels the driver with the last handle, unless it was stopped before.
    _stop: DropGuard,
}

/// The parts of a driver, apart from the queue itself.
pub(crate) struct Driver {
    runtime: Handle,
    kick: Arc<Notify>,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Ticker {
    pub(crate) fn new() -> Result<(Self, Driver), ConfigError> {
        let runtime = Handle::try_current().map_err(|_| ConfigError::NoRuntime)?;
        // tokio has no other way to find out whether a runtime has timers.
        std::panic::catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO)))
            .map_err(|_| ConfigError::NoRuntime)?;
        let kick = Arc::new(Notify::new());
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        let ticker = Self {
            origin: Instant::now(),
            tick: AtomicU64::new(OFF),
            recent: AtomicU64::new(0),
            kick: kick.clone(),
            driver: tracker.clone(),
            stop: stop.clone(),
            _stop: stop.clone().drop_guard(),
        };
        Ok((ticker, Driver { runtime, kick, stop, tracker }))
    }

    #[inline]
    pub(crate) fn coarse(&self) -> u64 {
        // Relaxed: the time guards no memory; the lock of the queue does.
        let tick = self.tick.load(Relaxed);
        if tick & 1 == 1 { tick >> 1 } else { self.unticked(tick) }
    }

    #[inline]
    pub(crate) fn exact(&self) -> u64 {
        micros(self.origin.elapsed())
    }

    pub(crate) fn rearm(&self) {
        self.kick.notify_one();
    }

    /// Stops the driver and waits for its end.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.driver.close();
        self.driver.wait().await;
    }

    /// The first use of a tick, or a time without ticks.
    #[cold]
    fn unticked(&self, tick: u64) -> u64 {
        if tick != OFF && tick != STOPPED {
            // If this fails, the driver has ticked or stopped ticking this instant: the time is as
            // good.
            let _ = self.tick.compare_exchange(tick, tick | 1, Relaxed, Relaxed);
            return tick >> 1;
        }
        let now = self.exact();
        let millisecond = now / 1000;
        let recent = self.recent.load(Relaxed);
        let reads = if recent >> 16 == millisecond { (recent & 0xffff) + 1 } else { 1 };
        // Not one atomic step: a lost count only delays the start of ticking.
        self.recent.store(millisecond << 16 | reads.min(0xffff), Relaxed);
        if reads == BUSY && self.tick.compare_exchange(OFF, now << 1 | 1, Relaxed, Relaxed).is_ok() {
            self.kick.notify_one();
        }
        now
    }

    /// Stores the time, or stops ticking if no operation used the last tick. Called by the driver.
    fn tick_or_stop(&self, now: u64) -> bool {
        let tick = self.tick.load(Relaxed);
        if tick == OFF {
            return false;
        }
        let ticking = tick & 1 == 1;
        // A use after the load is lost: at worst ticking stops, and starts again.
        self.tick.store(if ticking { now << 1 } else { OFF }, Relaxed);
        ticking
    }
}

impl Driver {
    pub(crate) fn start<K: Key>(self, queue: &Arc<Shared<K>>) {
        // Weak, or the driver would keep a queue without handles alive.
        let queue = Arc::downgrade(queue);
        self.tracker.spawn_on(drive(queue, self.kick, self.stop), &self.runtime);
    }
}

async fn drive<K: Key>(queue: Weak<Shared<K>>, kick: Arc<Notify>, stop: CancellationToken) {
    let _mark_stopped = MarkStopped(queue.clone());
    loop {
        // Before the next time is computed, so that no kick falls in between.
        let kicked = kick.listen();
        let Some(next) = queue.upgrade().and_then(|queue| advance_and_arm(&queue)) else { return };
        let waited = async {
            match next {
                NextWake::At(time) => tokio::time::sleep_until(time).await,
                NextWake::Kick => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = kicked => {}
            () = waited => {}
        }
    }
}

/// Marks the ticker as stopped however the driver ends, by a drain or with its runtime, so that its
/// last tick is not taken for the time.
struct MarkStopped<K: Key>(Weak<Shared<K>>);

impl<K: Key> Drop for MarkStopped<K> {
    fn drop(&mut self) {
        let queue = self.0.upgrade();
        if let Some(crate::clock::Clock::Tokio(ticker)) = queue.as_ref().map(|queue| &queue.clock) {
            ticker.tick.store(STOPPED, Relaxed);
        }
    }
}

enum NextWake {
    At(Instant),
    Kick,
}

/// Advances the queue to the present, and returns the time of the next wake-up.
fn advance_and_arm<K: Key>(queue: &Shared<K>) -> Option<NextWake> {
    let crate::clock::Clock::Tokio(ticker) = &queue.clock else { return None };
    let now = ticker.exact();
    let tick = ticker.tick_or_stop(now).then(|| now + micros(TICK));
    let next = queue.with(|core| {
        core.advance(now);
        core.arm(tick)
    });
    // A time too far for a tokio instant: the next kick comes first.
    let at = next.and_then(|next| ticker.origin.checked_add(Duration::from_micros(next)));
    Some(at.map_or(NextWake::Kick, NextWake::At))
}
