//! Keys that a source refuses even alone. They are retried one at a time, in turn, with a back-off,
//! and so delay no other keys.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Instant;

use crate::reflect::Backoff;

pub(super) struct RefusedKeys<F> {
    keys: BTreeSet<F>,
    /// The key that was tried last.
    last: Option<F>,
    /// The earliest time of the next retry, unless there are no other keys.
    not_before: Option<Instant>,
    backoff: Backoff,
}

impl<F: Ord + Clone> RefusedKeys<F> {
    pub(super) const fn new(seed: u64) -> Self {
        Self { keys: BTreeSet::new(), last: None, not_before: None, backoff: Backoff::new(seed) }
    }

    pub(super) fn has(&self, key: &F) -> bool {
        self.keys.contains(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Records a key that was refused alone; returns whether it is new.
    pub(super) fn refuse(&mut self, key: &F, now: Instant) -> bool {
        self.last = Some(key.clone());
        let is_new = self.keys.insert(key.clone());
        // A further refused key must not postpone the retry of the others.
        if !is_new || self.not_before.is_none() {
            self.not_before = Some(now + self.backoff.next());
        }
        is_new
    }

    /// Removes a key that was accepted; the others may be retried at once.
    pub(super) fn taken(&mut self, key: &F) {
        if self.keys.remove(key) {
            self.backoff.reset();
            self.not_before = None;
        }
    }

    /// Removes a key that was released or has a new tenure.
    pub(super) fn forget(&mut self, key: &F) {
        self.keys.remove(key);
    }

    /// Removes all keys, as the refusals had another cause.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }

    /// Returns the key to retry next.
    pub(super) fn next(&self) -> Option<F> {
        let after = self.last.as_ref().and_then(|last| self.keys.range((Excluded(last), Unbounded)).next());
        after.or_else(|| self.keys.first()).cloned()
    }

    /// Returns the time of the next retry.
    pub(super) fn due(&self) -> Option<Instant> {
        self.not_before.filter(|_| !self.is_empty())
    }

    /// Returns whether the last refused key was removed since the previous call.
    pub(super) fn take_cleared(&mut self) -> bool {
        let cleared = self.is_empty() && self.not_before.take().is_some();
        if cleared {
            self.backoff.reset();
        }
        cleared
    }
}
