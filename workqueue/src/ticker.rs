//! Time on a tokio runtime: read when that is rare, ticked when it is not; and the task that turns it.
//!
//! A quiet queue has no ticks, and each operation reads the clock. Once many operations share a millisecond, the
//! driver stores the time every millisecond and they load it, until one passes in which nobody did. The driver also
//! wakes for delays that are due. It holds the queue weakly, is told to stop when the last handle or work is gone, and
//! is awaited by [`crate::Queue::drain`].

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

/// So many clock reads in one millisecond, and ticking is cheaper.
const BUSY: u64 = 32;
/// tokio's timers round up to the next millisecond, so this is one tick each.
const TICK: Duration = Duration::from_micros(500);

/// Not ticking. Like [`STOPPED`] beyond all time, and even: nobody has used it.
const OFF: u64 = u64::MAX - 1;
/// There is no driver any more, and there will be no tick.
const STOPPED: u64 = u64::MAX - 3;

pub(crate) struct Ticker {
    origin: Instant,
    /// The time of the last tick, shifted left by one; the low bit says that somebody used it. [`OFF`], [`STOPPED`].
    tick: AtomicU64,
    /// The millisecond of the last clock read (high 48 bits), and how many there were in it (low 16).
    recent: AtomicU64,
    kick: Arc<Notify>,
    driver: TaskTracker,
    stop: CancellationToken,
    /// Stops the driver with the last handle, if nobody did before.
    _stop: DropGuard,
}

/// What a driver needs, apart from the queue itself.
pub(crate) struct Driver {
    runtime: Handle,
    kick: Arc<Notify>,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Ticker {
    pub(crate) fn new() -> Result<(Self, Driver), ConfigError> {
        let runtime = Handle::try_current().map_err(|_| ConfigError::NoRuntime)?;
        // There is no other way to ask a runtime whether it has timers.
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

    /// Ends the driver, and waits until it has.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.driver.close();
        self.driver.wait().await;
    }

    /// The first use of a tick, or a time without ticks.
    #[cold]
    fn unticked(&self, tick: u64) -> u64 {
        if tick != OFF && tick != STOPPED {
            // If this fails, the driver has ticked on or stopped ticking this instant: the time is as good.
            let _ = self.tick.compare_exchange(tick, tick | 1, Relaxed, Relaxed);
            return tick >> 1;
        }
        let now = self.exact();
        let millisecond = now / 1000;
        let recent = self.recent.load(Relaxed);
        let reads = if recent >> 16 == millisecond { (recent & 0xffff) + 1 } else { 1 };
        self.recent.store(millisecond << 16 | reads.min(0xffff), Relaxed);
        if reads == BUSY && self.tick.compare_exchange(OFF, now << 1 | 1, Relaxed, Relaxed).is_ok() {
            self.kick.notify_one();
        }
        now
    }

    /// The driver's part: stores the time, or stops ticking if nobody has used the last one.
    fn tick_or_stop(&self, now: u64) -> bool {
        let tick = self.tick.load(Relaxed);
        if tick == OFF {
            return false;
        }
        let ticking = tick & 1 == 1;
        self.tick.store(if ticking { now << 1 } else { OFF }, Relaxed);
        ticking
    }
}

impl Driver {
    pub(crate) fn start<K: Key>(self, queue: &Arc<Shared<K>>) {
        let queue = Arc::downgrade(queue);
        self.tracker.spawn_on(drive(queue, self.kick, self.stop), &self.runtime);
    }
}

async fn drive<K: Key>(queue: Weak<Shared<K>>, kick: Arc<Notify>, stop: CancellationToken) {
    let _mark_stopped = MarkStopped(queue.clone());
    loop {
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

/// However the driver ends, by a drain or because its runtime is gone, nobody takes its last tick for the time.
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

/// Moves the queue to the present, and says when to do so again.
fn advance_and_arm<K: Key>(queue: &Shared<K>) -> Option<NextWake> {
    let crate::clock::Clock::Tokio(ticker) = &queue.clock else { return None };
    let now = ticker.exact();
    let tick = ticker.tick_or_stop(now).then(|| now + micros(TICK));
    let next = queue.with(|core| {
        core.advance(now);
        core.arm(tick)
    });
    // A time so far off that tokio has no instant for it: the next kick will do.
    let at = next.and_then(|next| ticker.origin.checked_add(Duration::from_micros(next)));
    Some(at.map_or(NextWake::Kick, NextWake::At))
}
