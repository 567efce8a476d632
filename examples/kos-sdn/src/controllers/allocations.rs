//! The allocation state of the IPAM controller: taken addresses and wait queues, rebuilt from the
//! caches.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use machinery::objects::{ObjectKey, WriteToken};

use crate::model::Vni;
use crate::plan::{AddressKey, Addresses, SplitMix64, WaitQueues};

/// Addresses believed to be taken, and the wait queues. Hints: locks are authoritative.
pub(super) struct Allocations {
    taken: BTreeMap<Vni, Addresses>,
    /// Addresses marked as taken by a claim, or by a lock without event so far. The event may never
    /// come: the informer reports nothing for a lock created and deleted between two deliveries.
    marks: BTreeMap<AddressKey, AddressMark>,
    queues: WaitQueues<ObjectKey, Waiter>,
    waiters: usize,
    chance: SplitMix64,
    is_ready: bool,
}

struct AddressMark {
    subnet: ObjectKey,
    /// A claim is in flight.
    is_claimed: bool,
    /// An event for the lock arrived during the claim.
    is_confirmed: bool,
    /// Write token of a lock created here: a cache behind it proves nothing.
    made: Option<WriteToken>,
}

/// A waiting attachment. The UID distinguishes recreated ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waiter {
    pub(super) key: ObjectKey,
    pub(super) uid: String,
}

/// The waiters of a subnet before a rebuild, with waiting times.
pub(super) struct InitialWaitQueue {
    pub(super) subnet: ObjectKey,
    /// The addresses of the subnet, if it exists.
    pub(super) of: Option<(Vni, RangeInclusive<u32>)>,
    pub(super) waiting: Vec<(Timestamp, Waiter)>,
}

/// The result of an allocation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allocation {
    /// This address is probably free.
    Free(AddressKey),
    /// The subnet is full: the attachment is queued.
    Full,
    /// The subnet is full, and the limit of waiters is reached.
    TooMany,
    /// The state is not built yet.
    Early,
}

impl Allocations {
    pub(super) fn new(waiters: usize, seed: u64) -> Self {
        Self {
            taken: BTreeMap::new(),
            marks: BTreeMap::new(),
            queues: WaitQueues::new(waiters),
            waiters,
            chance: SplitMix64::new(seed),
            is_ready: false,
        }
    }

    /// Returns true once the state is built; nothing is allocated before.
    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Drops the state.
    pub(super) fn forget(&mut self) {
        *self = Self { chance: self.chance.clone(), ..Self::new(self.waiters, 0) };
    }

    /// Builds the state from locks with their subnets and from former waiters. Returns the first
    /// waiters, as many as addresses are free.
    #[must_use = "the returned waiter must be woken"]
    pub(super) fn rebuild(
        &mut self,
        locks: Vec<(AddressKey, ObjectKey)>,
        queues: Vec<InitialWaitQueue>,
    ) -> Vec<Waiter> {
        for (key, subnet) in locks {
            if self.taken.entry(key.vni).or_default().take(key.address.into()) {
                // Unconfirmed: its creation may be undelivered, so its deletion causes no event.
                self.marks
                    .insert(key, AddressMark { subnet, is_claimed: false, is_confirmed: false, made: None });
            }
        }
        let mut woken = Vec::new();
        for InitialWaitQueue { subnet, of, waiting } in queues {
            let all = waiting.len();
            for (since, waiter) in waiting {
                // Waiters beyond the limit retry periodically.
                let _ = self.queues.wait(&subnet, &waiter, Some(since));
            }
            let free = of.map(|(vni, range)| self.taken.entry(vni).or_default().free(&range, all));
            woken.extend((0..free.unwrap_or(0)).filter_map(|_| self.queues.freed(&subnet)));
        }
        self.is_ready = true;
        woken
    }

    /// Allocates an address of a subnet, or queues the attachment at the position of its waiting
    /// time.
    pub(super) fn allocate(
        &mut self,
        subnet: &ObjectKey,
        waiter: &Waiter,
        since: Option<Timestamp>,
        vni: Vni,
        range: &RangeInclusive<u32>,
    ) -> Allocation {
        if !self.is_ready {
            return Allocation::Early;
        }
        let (taken, owed) = (self.taken.entry(vni).or_default(), self.queues.owed(subnet, waiter));
        // A newcomer does not take an address for which a waiter was woken.
        let picked = match taken.free(range, owed + 1) > owed {
            true => taken.pick(range, self.chance.next()),
            false => None,
        };
        match picked {
            Some(address) => {
                let key = AddressKey { vni, address: Ipv4Addr::from(address) };
                self.marks.insert(
                    key,
                    AddressMark { subnet: subnet.clone(), is_claimed: true, is_confirmed: false, made: None },
                );
                // An attachment without position is woken for nothing.
                let _ = self.queues.takes(subnet, waiter, since);
                Allocation::Free(key)
            }
            None if self.queues.wait(subnet, waiter, since) => Allocation::Full,
            None => Allocation::TooMany,
        }
    }

    /// Records an event: the address has a lock.
    pub(super) fn lock_seen(&mut self, key: AddressKey) {
        self.taken.entry(key.vni).or_default().take(key.address.into());
        match self.marks.get_mut(&key) {
            Some(mark) if mark.is_claimed => mark.is_confirmed = true,
            _ => drop(self.marks.remove(&key)),
        }
    }

    /// Records the deletion of a lock. Returns the waiter to wake. During a claim the claimant has
    /// priority.
    pub(super) fn lock_gone(&mut self, key: AddressKey, subnet: Option<&ObjectKey>) -> Option<Waiter> {
        if let Some(mark) = self.marks.get_mut(&key).filter(|mark| mark.is_claimed) {
            mark.is_confirmed = false;
            return None;
        }
        self.release(key);
        self.queues.freed(subnet?)
    }

    /// Ends a claim: the address is locked or free; a free one is reserved for the claimant.
    /// Returns another waiter to wake if that has left.
    pub(super) fn claim_ended(
        &mut self,
        key: AddressKey,
        waiter: &Waiter,
        is_locked: bool,
    ) -> Option<Waiter> {
        let mark = self.marks.get_mut(&key)?;
        mark.is_claimed = false;
        match (mark.is_confirmed, is_locked) {
            // The deletion of that lock will be an event.
            (true, _) => drop(self.marks.remove(&key)),
            (false, true) => {}
            (false, false) => {
                let AddressMark { subnet, .. } = self.marks.remove(&key)?;
                self.release(key);
                return self.queues.missed(&subnet, waiter);
            }
        }
        None
    }

    /// Ends a claim that created a lock.
    pub(super) fn claim_succeeded(&mut self, key: AddressKey, waiter: &Waiter, made: &WriteToken) {
        if let Some(mark) = self.marks.get_mut(&key) {
            mark.made = Some(made.clone());
        }
        let _none = self.claim_ended(key, waiter, true);
    }

    /// Returns true if an allocation or a woken waiter may never be confirmed by an event.
    pub(super) fn has_unconfirmed(&self) -> bool {
        self.queues.due().next().is_some() || self.marks.values().any(|mark| !mark.is_claimed)
    }

    /// Releases marked addresses without lock or claim, and dequeues woken waiters that no longer
    /// exist. Returns the waiters to wake.
    pub(super) fn sweep(
        &mut self,
        is_locked: impl Fn(&AddressKey, &ObjectKey, Option<&WriteToken>) -> bool,
        exists: impl Fn(&Waiter) -> bool,
    ) -> Vec<Waiter> {
        let is_free = |(key, of): &(&AddressKey, &AddressMark)| {
            !of.is_claimed && !is_locked(key, &of.subnet, of.made.as_ref())
        };
        let free = self.marks.iter().filter(is_free);
        let free: Vec<_> = free.map(|(key, mark)| (*key, mark.subnet.clone())).collect();
        let mut woken: Vec<_> =
            free.into_iter().filter_map(|(key, subnet)| self.lock_gone(key, Some(&subnet))).collect();
        loop {
            let gone = self.queues.due().find(|waiter| !exists(waiter)).cloned();
            let Some(gone) = gone else { return woken };
            woken.extend(self.queues.leave(&gone));
        }
    }

    /// Dequeues a waiter with an address.
    pub(super) fn served(&mut self, waiter: &Waiter) {
        self.queues.served(waiter);
    }

    /// Dequeues a waiter without an address. Returns the waiter to wake instead.
    pub(super) fn leave(&mut self, waiter: &Waiter) -> Option<Waiter> {
        self.queues.leave(waiter)
    }

    /// Returns the number of waiters.
    pub(super) fn waiting(&self) -> usize {
        self.queues.len()
    }

    fn release(&mut self, key: AddressKey) {
        self.marks.remove(&key);
        let Some(taken) = self.taken.get_mut(&key.vni) else { return };
        taken.release(key.address.into());
        if taken.is_empty() {
            self.taken.remove(&key.vni);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet() -> ObjectKey {
        ObjectKey::new(Some("n"), "s").unwrap()
    }

    fn waiter(name: &str) -> Waiter {
        Waiter { key: ObjectKey::new(Some("n"), name).unwrap(), uid: format!("uid-{name}") }
    }

    fn vni() -> Vni {
        Vni::new(1).unwrap()
    }

    /// Allocations with one address, which is locked.
    fn full() -> (Allocations, AddressKey) {
        let key = AddressKey { vni: vni(), address: Ipv4Addr::new(10, 0, 0, 0) };
        let mut allocations = Allocations::new(8, 0);
        assert_eq!(allocate(&mut allocations, "early"), Allocation::Early);
        assert_eq!(allocations.rebuild(vec![(key, subnet())], Vec::new()), []);
        (allocations, key)
    }

    fn allocate(allocations: &mut Allocations, name: &str) -> Allocation {
        let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
        allocations.allocate(&subnet(), &waiter(name), None, vni(), &(first..=first))
    }

    #[test]
    fn lock_without_events_is_released_by_a_sweep() {
        let (mut allocations, key) = full();
        assert_eq!(allocate(&mut allocations, "a"), Allocation::Full);
        assert!(allocations.has_unconfirmed());
        assert_eq!(allocations.sweep(|_, _, _| true, |_| true), [], "the lock still exists");
        assert_eq!(allocations.sweep(|_, _, _| false, |_| true), [waiter("a")]);
        assert_eq!(allocate(&mut allocations, "a"), Allocation::Free(key));
    }

    #[test]
    fn confirmed_locks_are_not_swept() {
        let (mut allocations, key) = full();
        allocations.lock_seen(key);
        assert!(!allocations.has_unconfirmed());
        assert_eq!(allocate(&mut allocations, "a"), Allocation::Full);
        assert_eq!(allocations.sweep(|_, _, _| false, |_| true), []);
        assert_eq!(allocations.lock_gone(key, Some(&subnet())), Some(waiter("a")));
    }

    /// A waiter created, queued and deleted between two deliveries has no event.
    #[test]
    fn deleted_waiter_is_swept() {
        let (mut allocations, key) = full();
        allocations.lock_seen(key);
        for name in ["ghost", "a"] {
            assert_eq!(allocate(&mut allocations, name), Allocation::Full);
        }
        assert_eq!(allocations.lock_gone(key, Some(&subnet())), Some(waiter("ghost")));
        assert_eq!(allocations.sweep(|_, _, _| true, |one| *one != waiter("ghost")), [waiter("a")]);
        assert_eq!(allocations.waiting(), 1);
    }

    #[test]
    fn failed_claim_has_priority_over_waiters() {
        let (mut allocations, key) = full();
        allocations.lock_seen(key);
        for name in ["a", "b"] {
            assert_eq!(allocate(&mut allocations, name), Allocation::Full);
        }
        assert_eq!(allocations.lock_gone(key, Some(&subnet())), Some(waiter("a")));
        assert_eq!(allocate(&mut allocations, "a"), Allocation::Free(key));
        // Another lock was created and deleted meanwhile; the claimant keeps its priority.
        allocations.lock_seen(key);
        assert_eq!(allocations.lock_gone(key, Some(&subnet())), None);
        assert_eq!(allocations.claim_ended(key, &waiter("a"), false), None);
        assert_eq!(allocate(&mut allocations, "b"), Allocation::Full, "reserved for a");
        assert_eq!(allocate(&mut allocations, "a"), Allocation::Free(key));
        allocations.served(&waiter("a"));
        assert_eq!(allocations.claim_ended(key, &waiter("a"), true), None);
        assert_eq!(
            allocations.sweep(|_, _, _| false, |_| true),
            [waiter("b")],
            "the created lock was deleted"
        );
    }

    #[test]
    fn rebuild_wakes_the_first_waiters() {
        let mut allocations = Allocations::new(8, 0);
        let at = |second| Timestamp::from_second(second).unwrap();
        let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
        let line = InitialWaitQueue {
            subnet: subnet(),
            of: Some((vni(), first..=first)),
            waiting: vec![(at(1), waiter("a")), (at(2), waiter("b"))],
        };
        assert_eq!(allocations.rebuild(Vec::new(), vec![line]), [waiter("a")]);
        assert_eq!(allocate(&mut allocations, "new"), Allocation::Full);
        assert_eq!(allocate(&mut allocations, "b"), Allocation::Full);
        assert!(matches!(allocate(&mut allocations, "a"), Allocation::Free(_)));
    }
}
