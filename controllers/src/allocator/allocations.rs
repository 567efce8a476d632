//! The allocation state: taken members and wait queues. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use machinery_objects::WriteToken;
use tokio::time::Instant;

use super::pool_queues::{PoolId, PoolQueues, WaitingSince};
use super::ranges::Ranges;
use super::runs::Runs;
use super::scope::{ScopedMember, ScopedSpace};
use super::{Member, Pool};
use crate::locks::LockOwner;

/// Time after which the reservation of a notified waiter that has not run passes to the next one.
pub(super) const RESERVATION: Duration = Duration::from_secs(5);

/// Members believed to be taken, and the wait queues. They suggest: locks decide.
#[derive(Debug)]
pub(super) struct Allocations<M: Member> {
    taken: BTreeMap<ScopedSpace<M>, Runs>,
    /// Members taken by a claim, or by a lock without event so far. The event may never come: the
    /// informer reports nothing for a lock created and deleted between two deliveries.
    marks: BTreeMap<ScopedMember<M>, MemberMark<M>>,
    queues: PoolQueues<ScopedSpace<M>, LockOwner>,
    waiters: usize,
    chance: u64,
    is_ready: bool,
    /// A run waits for the state.
    is_requested: bool,
}

#[derive(Clone, Debug)]
struct MemberMark<M: Member> {
    /// Pool of the claim in flight, if any.
    claim: Option<PoolId<ScopedSpace<M>>>,
    /// An event of the lock arrived during the claim.
    is_confirmed: bool,
    /// Write token of a lock created here: a cache behind it proves nothing.
    created: Option<WriteToken>,
}

/// Result of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reservation<M> {
    /// This member is probably free, and marked as taken.
    Free(ScopedMember<M>),
    /// All are taken, or reserved for earlier waiters: the owner waits since this time. `None`: the
    /// limit of waiters is reached.
    Full(Option<Timestamp>),
    /// The state is not built yet.
    Unready,
}

/// A waiter from before a rebuild.
pub(super) struct FormerWaiter<M: Member> {
    pub(super) since: Timestamp,
    pub(super) owner: LockOwner,
    pub(super) pool: Pool<M>,
    pub(super) space: ScopedSpace<M>,
}

impl<M: Member> Allocations<M> {
    pub(super) fn new(waiters: usize, seed: u64) -> Self {
        let (taken, marks, queues) = (BTreeMap::new(), BTreeMap::new(), PoolQueues::new(waiters));
        Self { taken, marks, queues, waiters, chance: seed, is_ready: false, is_requested: false }
    }

    /// Returns whether the state is built; nothing is allocated before.
    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Requests the state to be built. Only a run does: then all that it reads has synced.
    pub(super) fn request_build(&mut self) {
        self.is_requested = true;
    }

    pub(super) const fn needs_build(&self) -> bool {
        self.is_requested && !self.is_ready
    }

    /// Drops the state.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.waiters, self.chance);
    }

    /// Builds the state from all locks and the former waiters, and notifies as many waiters as
    /// members are free.
    pub(super) fn rebuild(
        &mut self,
        locks: impl IntoIterator<Item = ScopedMember<M>>,
        mut former: Vec<FormerWaiter<M>>,
        now: Instant,
    ) {
        self.forget();
        for member in locks {
            // Unconfirmed: its creation may be undelivered, and its deletion would be no event
            // then.
            self.take(&member);
            let mark = MemberMark { claim: None, is_confirmed: false, created: None };
            self.marks.insert(member, mark);
        }
        // By the recorded time: after a restart all waiters arrive at once, in any order.
        former.sort_by(|one, other| (one.since, &one.owner).cmp(&(other.since, &other.owner)));
        for FormerWaiter { since, owner, pool, space } in former {
            // Waiters beyond the limit retry by themselves.
            let id = (space, pool.name);
            self.queues.wait(&id, &pool.ranges, &owner, WaitingSince::Recorded(since));
        }
        self.is_ready = true;
        self.notify_surplus(now);
    }

    /// Reserves a free member of a pool for a claim, or puts the owner to sleep.
    pub(super) fn reserve(
        &mut self,
        space: &ScopedSpace<M>,
        pool: &Pool<M>,
        owner: &LockOwner,
        since: WaitingSince,
        now: Instant,
    ) -> Reservation<M> {
        if !self.is_ready {
            return Reservation::Unready;
        }
        let (id, ranges) = ((space.clone(), pool.name.clone()), &pool.ranges);
        self.queues.leave_others(&id, owner, now);
        if self.queues.set_ranges(&id, ranges) {
            // Before a newcomer takes the members that were added.
            self.notify_surplus(now);
        }
        let reserved = self.queues.reserved(&id, owner);
        let chance = self.chance();
        let taken = self.taken.entry(space.clone()).or_default();
        // A newcomer takes no member that is reserved for a notified waiter.
        let picked = match ranges.count_free(taken, reserved + 1) > reserved {
            true => ranges.pick(taken, chance).and_then(|number| space.member(number)),
            false => None,
        };
        let Some(member) = picked else {
            return Reservation::Full(self.queues.wait(&id, ranges, owner, since));
        };
        self.take(&member);
        self.queues.begin_claim(&id, ranges, owner, since);
        let mark = MemberMark { claim: Some(id), is_confirmed: false, created: None };
        self.marks.insert(member.clone(), mark);
        Reservation::Free(member)
    }

    /// Records an event: the member has a lock.
    pub(super) fn lock_seen(&mut self, member: &ScopedMember<M>) {
        self.take(member);
        match self.marks.get_mut(member) {
            Some(mark) if mark.claim.is_some() => mark.is_confirmed = true,
            _ => drop(self.marks.remove(member)),
        }
    }

    /// Records the deletion of a lock: the longest waiter is notified. During a claim the claimant
    /// has priority.
    pub(super) fn lock_gone(&mut self, member: &ScopedMember<M>, now: Instant) {
        match self.marks.get_mut(member) {
            Some(mark) if mark.claim.is_some() => mark.is_confirmed = false,
            _ => self.release(member, None, now),
        }
    }

    /// Ends a claim: the member is locked or free. A free one is reserved for the claimant.
    pub(super) fn claim_ended(
        &mut self,
        member: &ScopedMember<M>,
        owner: &LockOwner,
        is_locked: bool,
        now: Instant,
    ) {
        let Some(mark) = self.marks.get_mut(member) else { return };
        let claim = mark.claim.take();
        match (mark.is_confirmed, is_locked) {
            // The deletion of that lock will be an event.
            (true, _) => drop(self.marks.remove(member)),
            (false, true) => {}
            (false, false) => {
                self.release(member, claim.as_ref(), now);
                if let Some(pool) = claim {
                    self.queues.claim_missed(&pool, owner, now);
                }
            }
        }
    }

    /// Ends a claim that created a lock, and dequeues its owner.
    pub(super) fn claim_succeeded(
        &mut self,
        member: &ScopedMember<M>,
        owner: &LockOwner,
        created: &WriteToken,
        now: Instant,
    ) {
        if let Some(mark) = self.marks.get_mut(member) {
            mark.created = Some(created.clone());
        }
        self.claim_ended(member, owner, true, now);
        self.queues.serve(owner);
    }

    /// Dequeues an owner; a member that is reserved for it passes to the next waiter.
    pub(super) fn leave(&mut self, owner: &LockOwner, now: Instant) {
        self.queues.leave(owner, now);
    }

    /// Returns whether a mark or a notified waiter may never be confirmed by an event.
    pub(super) fn has_unconfirmed(&self) -> bool {
        self.queues.due().next().is_some() || self.marks.values().any(|mark| mark.claim.is_none())
    }

    /// Releases marked members without lock or claim, dequeues notified waiters that do not exist,
    /// and passes on reservations that were not used in time.
    pub(super) fn sweep(
        &mut self,
        is_locked: impl Fn(&ScopedMember<M>, Option<&WriteToken>) -> bool,
        exists: impl Fn(&LockOwner) -> bool,
        now: Instant,
    ) {
        let free = self
            .marks
            .iter()
            .filter(|(member, mark)| mark.claim.is_none() && !is_locked(member, mark.created.as_ref()));
        for member in free.map(|(member, _)| member.clone()).collect::<Vec<_>>() {
            self.release(&member, None, now);
        }
        // One at a time: the next one that is notified may not exist either.
        loop {
            let gone = self.queues.due().find(|owner| !exists(owner)).cloned();
            let Some(gone) = gone else { break };
            self.queues.leave(&gone, now);
        }
        if let Some(before) = now.checked_sub(RESERVATION) {
            self.queues.expire(before, now);
        }
    }

    /// Notifies sleepers for whom a member is free, whatever the reason: the range has grown, or an
    /// event was missed.
    pub(super) fn notify_surplus(&mut self, now: Instant) {
        let (taken, none) = (&self.taken, Runs::default());
        let count_free = |space: &ScopedSpace<M>, ranges: &Ranges, at_most| {
            ranges.count_free(taken.get(space).unwrap_or(&none), at_most)
        };
        self.queues.notify_surplus(count_free, now);
    }

    /// Takes the notified waiters, for each of which a run has to be requested.
    pub(super) fn take_notified(&mut self) -> Vec<LockOwner> {
        self.queues.take_notified()
    }

    pub(super) fn has_notified(&self) -> bool {
        self.queues.has_notified()
    }

    pub(super) fn waiting(&self) -> usize {
        self.queues.len()
    }

    fn take(&mut self, member: &ScopedMember<M>) {
        self.taken.entry(member.space()).or_default().insert(member.member.number());
    }

    fn release(&mut self, member: &ScopedMember<M>, except: Option<&PoolId<ScopedSpace<M>>>, now: Instant) {
        self.marks.remove(member);
        let (space, number) = (member.space(), member.member.number());
        let Some(taken) = self.taken.get_mut(&space) else { return };
        let was_taken = taken.remove(number);
        if taken.is_empty() {
            self.taken.remove(&space);
        }
        if was_taken {
            self.queues.freed(&space, number, except, now);
        }
    }

    /// Returns a pseudo-random number (SplitMix64, twice).
    fn chance(&mut self) -> u128 {
        let mut half = || {
            self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.chance ^ (self.chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            u128::from(mixed ^ (mixed >> 31))
        };
        half() << 64 | half()
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
