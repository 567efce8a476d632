//! The wait queue of one pool. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

use super::ranges::Ranges;

/// Waiting time, then order of arrival.
pub(super) type QueuePosition = (Timestamp, u64);

/// The waiters of a pool, each in one of four states: asleep; notified of a free member, which is
/// reserved for it; claiming; or overdue, notified without having run for a while.
#[derive(Clone, Debug)]
pub(super) struct PoolQueue<W> {
    pub(super) ranges: Arc<Ranges>,
    waiters: BTreeMap<QueuePosition, W>,
    asleep: BTreeSet<QueuePosition>,
    notified: BTreeMap<QueuePosition, Instant>,
    claiming: BTreeSet<QueuePosition>,
}

impl<W: Clone> PoolQueue<W> {
    pub(super) fn new(ranges: Arc<Ranges>) -> Self {
        let (asleep, claiming) = (BTreeSet::new(), BTreeSet::new());
        Self { ranges, waiters: BTreeMap::new(), asleep, notified: BTreeMap::new(), claiming }
    }

    pub(super) fn enqueue(&mut self, position: QueuePosition, waiter: W) {
        self.waiters.insert(position, waiter);
    }

    pub(super) fn sleep(&mut self, position: QueuePosition) {
        self.rouse(position);
        self.asleep.insert(position);
    }

    pub(super) fn begin_claim(&mut self, position: QueuePosition) {
        self.rouse(position);
        self.claiming.insert(position);
    }

    /// Ends a claim without a lock, whose member is free: the member is reserved for the claimant.
    /// Returns `false` if the waiter is not claiming.
    pub(super) fn keep_reserved(&mut self, position: QueuePosition, now: Instant) -> bool {
        let was_claiming = self.claiming.remove(&position);
        if was_claiming {
            self.notified.insert(position, now);
        }
        was_claiming
    }

    /// Reserves a free member for the longest waiter, and returns that. Overdue waiters come last.
    pub(super) fn notify(&mut self, now: Instant) -> Option<W> {
        let is_overdue = |position: &&QueuePosition| {
            !self.notified.contains_key(*position) && !self.claiming.contains(*position)
        };
        let position = match self.asleep.pop_first() {
            Some(first) => first,
            // Nobody else waits, so this look-up is over notified waiters only.
            None => *self.waiters.keys().find(is_overdue)?,
        };
        self.notified.insert(position, now);
        self.waiters.get(&position).cloned()
    }

    /// Number of members reserved for notified waiters other than this one.
    pub(super) fn reserved(&self, position: Option<QueuePosition>) -> usize {
        // A notified waiter takes its own; its order among the others is that of their runs.
        match position {
            Some(position) if self.notified.contains_key(&position) => 0,
            _ => self.notified.len(),
        }
    }

    pub(super) fn has_sleepers(&self) -> bool {
        !self.asleep.is_empty()
    }

    /// Number of notified waiters.
    pub(super) fn notified(&self) -> usize {
        self.notified.len()
    }

    /// Ends reservations of waiters that were notified before an instant. Returns their number.
    pub(super) fn expire(&mut self, before: Instant) -> usize {
        self.notified.extract_if(.., |_, since| *since < before).count()
    }

    /// Removes a waiter. Returns whether a member may be reserved for it.
    pub(super) fn remove(&mut self, position: QueuePosition) -> bool {
        self.waiters.remove(&position);
        self.rouse(position)
    }

    /// Notified and claiming waiters: if one of them was deleted, it blocks others.
    pub(super) fn due(&self) -> impl Iterator<Item = &W> {
        let due = self.notified.keys().chain(&self.claiming);
        due.filter_map(|position| self.waiters.get(position))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    #[cfg(test)]
    pub(super) fn asleep(&self) -> Vec<W> {
        self.asleep.iter().filter_map(|position| self.waiters.get(position)).cloned().collect()
    }

    /// Removes a waiter from its state. Returns whether a member may be reserved for it.
    fn rouse(&mut self, position: QueuePosition) -> bool {
        self.asleep.remove(&position);
        self.notified.remove(&position).is_some() | self.claiming.remove(&position)
    }
}
