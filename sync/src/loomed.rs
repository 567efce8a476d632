//! Under loom: the same names and signatures as `real`, as far as our crates use them.

use std::sync::Arc;

pub use self::LoomSwap as Swap;

pub use loom::sync::atomic;
pub use loom::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

const UNPOISONED: &str = "a thread of this model panicked, which fails the model anyway";

/// loom's mutex with parking_lot's signatures.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A mutex that guards `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Waits until nobody else holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect(UNPOISONED)
    }

    /// The guard, if nobody holds it now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    /// The value; the borrow proves that nobody else holds it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect(UNPOISONED)
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect(UNPOISONED)
    }
}

/// As [`Mutex::lock`]: loom's schedules are patience enough.
pub fn lock_with_spin<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// loom's reader-writer lock with parking_lot's signatures.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock that guards `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::RwLock::new(value))
    }

    /// Waits until nobody writes.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().expect(UNPOISONED)
    }

    /// Waits until nobody reads or writes.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect(UNPOISONED)
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect(UNPOISONED)
    }
}

/// A lock in the place of arc-swap, which loom cannot look into.
#[derive(Debug)]
pub struct LoomSwap<T>(Mutex<Arc<T>>);

impl<T> LoomSwap<T> {
    /// Holds `value` until it is replaced.
    pub fn new(value: Arc<T>) -> Self {
        Self(Mutex::new(value))
    }

    /// The value of this moment.
    pub fn load(&self) -> Arc<T> {
        self.0.lock().clone()
    }

    /// Replaces the value; returns the one before it.
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        std::mem::replace(&mut self.0.lock(), value)
    }
}
