//! Production: parking_lot, std, arc-swap.

use arc_swap::ArcSwap;
use std::sync::Arc;

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::atomic;

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
