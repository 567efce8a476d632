//! Production: parking_lot, std, arc-swap.

use arc_swap::ArcSwap;
use std::sync::Arc;

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::atomic;

/// Locks a mutex that is held for some tens of nanoseconds at a time by those who want it again at once.
///
/// If it is held, this stays away from it for a while, and for longer the next time, before it stands in line.
/// Meanwhile the holder gets on with several turns while what it works on is in its cache, where taking turns strictly
/// would move that from core to core each time. It spins for 5 440 pauses at the most: a quarter of a
/// millisecond where a pause is long.
#[inline]
pub fn lock_with_spin<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.try_lock().unwrap_or_else(|| wait_for(mutex))
}

#[cold]
fn wait_for<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
    /// Holds `value` until it is replaced.
    pub fn new(value: Arc<T>) -> Self {
        Self(ArcSwap::new(value))
    }

    /// The value of this moment. Never blocks, and never blocks a writer.
    pub fn load(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Replaces the value; returns the one before it.
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        self.0.swap(value)
    }
}
