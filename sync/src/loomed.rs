//! The implementation for loom: the names and signatures of `real`, as far as our crates use them.

use std::sync::Arc;

pub use self::LoomSwap as Swap;

pub use loom::sync::atomic;
pub use loom::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

const UNPOISONED: &str = "a thread of this model panicked, which fails the model anyway";

/// loom's mutex with parking_lot's signatures.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a mutex that guards `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Locks the mutex, waiting if necessary.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect(UNPOISONED)
    }

    /// Returns the guard, if the mutex is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    /// Returns the value; the borrow proves that the mutex is free.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect(UNPOISONED)
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect(UNPOISONED)
    }
}

/// As [`Mutex::lock`]: loom schedules without spinning.
pub fn lock_with_spin<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// loom's reader-writer lock with parking_lot's signatures.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates a lock that guards `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::RwLock::new(value))
    }

    /// Waits until there is no writer.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().expect(UNPOISONED)
    }

    /// Waits until there is no reader or writer.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect(UNPOISONED)
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect(UNPOISONED)
    }
}

/// A lock in place of arc-swap, which loom cannot instrument.
#[derive(Debug)]
pub struct LoomSwap<T>(Mutex<Arc<T>>);

impl<T> LoomSwap<T> {
    /// Creates a pointer to `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self(Mutex::new(value))
    }

    /// Returns the current value.
    pub fn load(&self) -> Arc<T> {
        self.0.lock().clone()
    }

    /// Replaces the value; returns the previous one.
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        std::mem::replace(&mut self.0.lock(), value)
    }
}
