//! Keys that a source refuses, each alone. They are tried again one at a time, each in its turn, later and later; so they hold up
//! no others.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Instant;

use crate::reflect::Backoff;

pub(super) struct RefusedKeys<F> {
    keys: BTreeSet<F>,
    /// The one that was tried last.
    last: Option<F>,
    /// None is tried before, but where there are no others to ask for.
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

    /// It was tried alone, to no avail. Whether that is the first time.
    pub(super) fn refuse(&mut self, key: &F, now: Instant) -> bool {
        self.last = Some(key.clone());
        let is_new = self.keys.insert(key.clone());
        if !is_new || self.not_before.is_none() {
            self.not_before = Some(now + self.backoff.next());
        }
        is_new
    }

    /// It was taken after all: so may others be.
    pub(super) fn taken(&mut self, key: &F) {
        if self.keys.remove(key) {
            self.backoff.reset();
            self.not_before = None;
        }
    }

    /// It is another's now, or nobody's.
    pub(super) fn forget(&mut self, key: &F) {
        self.keys.remove(key);
    }

    /// Whatever was wrong, it was none of them.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }

    /// The one whose turn it is.
    pub(super) fn next(&self) -> Option<F> {
        let after = self.last.as_ref().and_then(|last| self.keys.range((Excluded(last), Unbounded)).next());
        after.or_else(|| self.keys.first()).cloned()
    }

    /// When its turn is.
    pub(super) fn due(&self) -> Option<Instant> {
        self.not_before.filter(|_| !self.is_empty())
    }

    /// Whether there were some, and are none any more. It is said once.
    pub(super) fn take_cleared(&mut self) -> bool {
        let take_cleared = self.is_empty() && self.not_before.take().is_some();
        if take_cleared {
            self.backoff.reset();
        }
        take_cleared
    }
}
