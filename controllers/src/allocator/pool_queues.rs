//! The wait queues of all pools, in order of arrival. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinery_objects::ObjectKey;
use tokio::time::Instant;

use super::pool_queue::{PoolQueue, QueuePosition};
use super::ranges::Ranges;

/// The wait queues of all pools.
///
/// Each freed member is reserved for the longest waiter, which is notified. It keeps its position
/// until it has a member or leaves: if it finds the pool full again, it stays ahead of later
/// waiters; if it leaves, the next one is notified.
#[derive(Clone, Debug)]
pub(super) struct PoolQueues<S, W> {
    limit: usize,
    queues: BTreeMap<PoolId<S>, PoolQueue<W>>,
    positions: BTreeMap<W, (PoolId<S>, QueuePosition)>,
    /// Notified waiters that the shell has not requested yet.
    unsent: Vec<W>,
    next: u64,
    latest: Timestamp,
}

/// Space and name of a pool: pools of one space are adjacent.
pub(super) type PoolId<S> = (S, ObjectKey);

impl<S: Ord + Clone, W: Ord + Clone> PoolQueues<S, W> {
    /// Creates queues for at most `limit` waiters in all.
    pub(super) fn new(limit: usize) -> Self {
        let (queues, positions) = (BTreeMap::new(), BTreeMap::new());
        Self { limit, queues, positions, unsent: Vec::new(), next: 0, latest: Timestamp::MIN }
    }

    /// Sets the members of a pool that has waiters. Returns whether they have changed.
    pub(super) fn set_ranges(&mut self, pool: &PoolId<S>, ranges: &Arc<Ranges>) -> bool {
        let Some(queue) = self.queues.get_mut(pool).filter(|queue| queue.ranges != *ranges) else {
            return false;
        };
        queue.ranges = ranges.clone();
        true
    }

    /// Puts a waiter to sleep at its position, or last. Returns since when it waits; `None` at the
    /// limit: the waiter has to retry by itself.
    pub(super) fn wait(
        &mut self,
        pool: &PoolId<S>,
        ranges: &Arc<Ranges>,
        waiter: &W,
        since: WaitingSince,
    ) -> Option<Timestamp> {
        let position = self.position(pool, ranges, waiter, since)?;
        self.queues.get_mut(pool)?.sleep(position);
        Some(position.0)
    }

    /// Begins a claim. The waiter keeps or gets a position until it is [removed](Self::leave), so
    /// it comes first if the claim fails. At the limit it has none.
    pub(super) fn begin_claim(
        &mut self,
        pool: &PoolId<S>,
        ranges: &Arc<Ranges>,
        waiter: &W,
        since: WaitingSince,
    ) {
        let Some(position) = self.position(pool, ranges, waiter, since) else { return };
        if let Some(queue) = self.queues.get_mut(pool) {
            queue.begin_claim(position);
        }
    }

    /// Ends a claim whose member turned out to be free: it is reserved for the claimant if that is
    /// still queued, else for the next waiter.
    pub(super) fn claim_missed(&mut self, pool: &PoolId<S>, waiter: &W, now: Instant) {
        if let Some((at, position)) = self.positions.get(waiter)
            && at == pool
            && let Some(queue) = self.queues.get_mut(pool)
            && queue.keep_reserved(*position, now)
        {
            return;
        }
        self.notify(pool, now);
    }

    /// Returns the number of free members reserved for other waiters of a pool.
    pub(super) fn reserved(&self, pool: &PoolId<S>, waiter: &W) -> usize {
        let position = self.positions.get(waiter).filter(|(at, _)| at == pool).map(|(_, position)| *position);
        self.queues.get(pool).map_or(0, |queue| queue.reserved(position))
    }

    /// Reserves a free member of a pool for its longest waiter.
    pub(super) fn notify(&mut self, pool: &PoolId<S>, now: Instant) {
        let waiter = self.queues.get_mut(pool).and_then(|queue| queue.notify(now));
        self.unsent.extend(waiter);
    }

    /// Reserves a free member in each pool that contains it, except one. Where pools overlap, one
    /// of the notified waiters finds the member taken and sleeps again.
    pub(super) fn freed(&mut self, space: &S, number: u128, except: Option<&PoolId<S>>, now: Instant) {
        let first = (space.clone(), ObjectKey::unnamed());
        let of_space = self.queues.range_mut(first..).take_while(|((of, _), _)| of == space);
        for (pool, queue) in of_space {
            if queue.ranges.contains(number) && Some(pool) != except {
                self.unsent.extend(queue.notify(now));
            }
        }
    }

    /// Dequeues a waiter. A member that is reserved for it passes to the next one.
    pub(super) fn leave(&mut self, waiter: &W, now: Instant) {
        if let Some((pool, true)) = self.remove(waiter) {
            self.notify(&pool, now);
        }
    }

    /// Dequeues a waiter that has used its reservation.
    pub(super) fn serve(&mut self, waiter: &W) {
        self.remove(waiter);
    }

    /// Dequeues a waiter of another pool.
    pub(super) fn leave_others(&mut self, pool: &PoolId<S>, waiter: &W, now: Instant) {
        if self.positions.get(waiter).is_some_and(|(at, _)| at != pool) {
            self.leave(waiter, now);
        }
    }

    /// Passes on reservations of waiters that were notified before an instant and have not run.
    pub(super) fn expire(&mut self, before: Instant, now: Instant) {
        for queue in self.queues.values_mut() {
            for _ in 0..queue.expire(before) {
                self.unsent.extend(queue.notify(now));
            }
        }
    }

    /// Notifies as many sleepers of each pool as it has free members, which no other waiter is
    /// notified of.
    pub(super) fn notify_surplus(&mut self, count_free: impl Fn(&S, &Ranges, usize) -> usize, now: Instant) {
        for ((space, _), queue) in &mut self.queues {
            while queue.has_sleepers() {
                let notified = queue.notified();
                if count_free(space, &queue.ranges, notified + 1) <= notified {
                    break;
                }
                self.unsent.extend(queue.notify(now));
            }
        }
    }

    /// Takes the notified waiters, for each of which a run has to be requested.
    pub(super) fn take_notified(&mut self) -> Vec<W> {
        std::mem::take(&mut self.unsent)
    }

    pub(super) fn has_notified(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Returns notified and claiming waiters.
    pub(super) fn due(&self) -> impl Iterator<Item = &W> {
        self.queues.values().flat_map(PoolQueue::due)
    }

    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns the position of a waiter, enqueueing it if needed; `None` at the limit.
    fn position(
        &mut self,
        pool: &PoolId<S>,
        ranges: &Arc<Ranges>,
        waiter: &W,
        since: WaitingSince,
    ) -> Option<QueuePosition> {
        if let Some((at, position)) = self.positions.get(waiter) {
            return (at == pool).then_some(*position);
        }
        if self.positions.len() >= self.limit {
            return None;
        }
        let since = match since {
            WaitingSince::Recorded(since) => since,
            // Later than all others, also if the clock of an earlier process was ahead.
            WaitingSince::New(now) => {
                now.max(self.latest.saturating_add(SignedDuration::from_micros(1)).unwrap_or(Timestamp::MAX))
            }
        };
        self.latest = self.latest.max(since);
        let position = (since, self.next);
        self.next += 1;
        let queue = self.queues.entry(pool.clone()).or_insert_with(|| PoolQueue::new(ranges.clone()));
        queue.enqueue(position, waiter.clone());
        self.positions.insert(waiter.clone(), (pool.clone(), position));
        Some(position)
    }

    fn remove(&mut self, waiter: &W) -> Option<(PoolId<S>, bool)> {
        let (pool, position) = self.positions.remove(waiter)?;
        let queue = self.queues.get_mut(&pool)?;
        let was_due = queue.remove(position);
        if queue.is_empty() {
            self.queues.remove(&pool);
        }
        Some((pool, was_due))
    }
}

/// The time since when a waiter waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum WaitingSince {
    /// Its object records it: it waited before a restart.
    Recorded(Timestamp),
    /// It begins to wait now.
    New(Timestamp),
}

#[cfg(test)]
impl<S: Ord + Clone, W: Ord + Clone> PoolQueues<S, W> {
    pub(super) fn asleep(&self, pool: &PoolId<S>) -> Vec<W> {
        self.queues.get(pool).map(PoolQueue::asleep).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
