//! The production implementation: parking_lot, std, arc-swap.

use arc_swap::ArcSwap;
use std::sync::Arc;

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::atomic;

/// Locks a mutex that is held for tens of nanoseconds at a time and contended by threads that lock
/// it repeatedly.
///
/// If it is held, this spins for increasing times before it queues. Meanwhile the holder completes
/// several critical sections with their data in its cache, while strict turns would move the data
/// from core to core each time. It spins for at most 5 440 pauses: a quarter of a millisecond on
/// CPUs with a long pause instruction.
#[inline]
pub fn lock_with_spin<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.try_lock().unwrap_or_else(|| wait_for(mutex))
}

#[cold]
fn wait_for<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The first is about a microsecond, in which the holder completes some thirty operations.
    for pauses in [64, 256, 1024, 4096] {
        for _ in 0..pauses {
            std::hint::spin_loop();
        }
        if let Some(guard) = mutex.try_lock() {
            return guard;
        }
    }
    mutex.lock()
}

/// A pointer that is read without a lock while it is replaced.
#[derive(Debug)]
pub struct Swap<T>(ArcSwap<T>);

impl<T> Swap<T> {
    /// Creates a pointer to `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self(ArcSwap::new(value))
    }

    /// Returns the current value. Never blocks, and never blocks a writer.
    pub fn load(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Replaces the value; returns the previous one.
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        self.0.swap(value)
    }
}
