//! Wait queues for the addresses of full subnets, in order of arrival.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// The wait queues of all subnets.
///
/// Each released address wakes the longest waiter. A woken waiter keeps its position until it has
/// an address or leaves: if it finds the subnet full again, it stays ahead of later waiters, and if
/// it leaves, the next waiter is woken.
#[derive(Clone, Debug)]
pub struct WaitQueues<S, A> {
    limit: usize,
    queues: BTreeMap<S, WaitQueue<A>>,
    /// The position of each waiter.
    positions: BTreeMap<A, (S, QueuePosition)>,
    next: u64,
}

#[derive(Clone, Debug)]
struct WaitQueue<A> {
    positions: BTreeMap<QueuePosition, A>,
    /// Waiters woken for a free address that have not run yet.
    woken: BTreeSet<QueuePosition>,
    /// Waiters with a claim in flight, which may fail.
    taking: BTreeSet<QueuePosition>,
}

/// Waiting time, then order of arrival.
type QueuePosition = (Timestamp, u64);

impl<S: Ord + Clone, A: Ord + Clone> WaitQueues<S, A> {
    /// Creates queues for at most `limit` waiters in all.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, queues: BTreeMap::new(), positions: BTreeMap::new(), next: 0 }
    }

    /// Queues a waiter, at its existing position or last. Returns false at the limit: the waiter
    /// has to retry by itself.
    ///
    /// A waiter of another subnet must [leave](Self::leave) first. If an attachment was deleted
    /// before it was queued, the caller must dequeue it at once, since no later event will. A
    /// waiter from before a restart passes the time since when it waits, and regains its position.
    #[must_use = "an attachment that is not queued is never woken"]
    pub fn wait(&mut self, subnet: &S, waiter: &A, since: Option<Timestamp>) -> bool {
        let Some(position) = self.position(subnet, waiter, since) else { return false };
        if let Some(queue) = self.queues.get_mut(subnet) {
            queue.woken.remove(&position);
            queue.taking.remove(&position);
        }
        true
    }

    /// Begins a claim. The waiter keeps or gets a position until it is [served](Self::served), so
    /// it comes first if the claim fails. Returns false at the limit: no position.
    pub fn takes(&mut self, subnet: &S, waiter: &A, since: Option<Timestamp>) -> bool {
        let Some(position) = self.position(subnet, waiter, since) else { return false };
        if let Some(queue) = self.queues.get_mut(subnet) {
            queue.woken.remove(&position);
            queue.taking.insert(position);
        }
        true
    }

    /// Ends a claim whose address turned out to be free: it is reserved for the claimant if that is
    /// still queued. Otherwise returns the waiter to wake.
    #[must_use = "the returned waiter must be woken"]
    pub fn missed(&mut self, subnet: &S, waiter: &A) -> Option<A> {
        if let Some((at, position)) = self.positions.get(waiter)
            && at == subnet
            && let Some(queue) = self.queues.get_mut(at)
            && queue.taking.remove(position)
        {
            queue.woken.insert(*position);
            return None;
        }
        self.freed(subnet)
    }

    /// Returns the number of free addresses reserved for others: woken waiters that have not run
    /// yet.
    #[must_use]
    pub fn owed(&self, subnet: &S, waiter: &A) -> usize {
        let Some(queue) = self.queues.get(subnet) else { return 0 };
        let is_woken = self.positions.get(waiter).is_some_and(|(_, position)| queue.woken.contains(position));
        if is_woken { 0 } else { queue.woken.len() }
    }

    /// Records a free address. Returns the waiter to wake.
    #[must_use = "the returned waiter must be woken"]
    pub fn freed(&mut self, subnet: &S) -> Option<A> {
        let queue = self.queues.get_mut(subnet)?;
        let sleeps = |position| !queue.woken.contains(position) && !queue.taking.contains(position);
        let (position, waiter) = queue.positions.iter().find(|(position, _)| sleeps(position))?;
        queue.woken.insert(*position);
        Some(waiter.clone())
    }

    /// Dequeues a waiter that has an address.
    pub fn served(&mut self, waiter: &A) {
        self.remove(waiter);
    }

    /// Dequeues a waiter without an address. Returns the waiter to wake if an address was reserved
    /// for this one.
    #[must_use = "the returned waiter must be woken"]
    pub fn leave(&mut self, waiter: &A) -> Option<A> {
        let (subnet, was_woken) = self.remove(waiter)?;
        if was_woken { self.freed(&subnet) } else { None }
    }

    /// Returns waiters that were woken or have a claim in flight; a deleted one among them would
    /// block others.
    pub fn due(&self) -> impl Iterator<Item = &A> {
        let of_line =
            |queue: &'_ WaitQueue<A>| queue.woken.iter().chain(&queue.taking).copied().collect::<Vec<_>>();
        let due = self.queues.values().map(move |queue| (queue, of_line(queue)));
        due.flat_map(|(queue, due)| due.into_iter().filter_map(|position| queue.positions.get(&position)))
    }

    /// Returns the waiters of a subnet, for when the subnet changes.
    pub fn waiting(&self, subnet: &S) -> impl Iterator<Item = &A> {
        self.queues.get(subnet).into_iter().flat_map(|queue| queue.positions.values())
    }

    /// Returns the number of waiters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns true if nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the position of a waiter, queueing it if needed; `None` at the limit or if it waits
    /// elsewhere.
    fn position(&mut self, subnet: &S, waiter: &A, since: Option<Timestamp>) -> Option<QueuePosition> {
        if let Some((at, position)) = self.positions.get(waiter) {
            return (at == subnet).then_some(*position);
        }
        if self.positions.len() >= self.limit {
            return None;
        }
        let new =
            || WaitQueue { positions: BTreeMap::new(), woken: BTreeSet::new(), taking: BTreeSet::new() };
        // Waiters from before a restart precede new ones, which have no recorded time yet.
        let position = (since.unwrap_or(Timestamp::MAX), self.next);
        self.queues.entry(subnet.clone()).or_insert_with(new).positions.insert(position, waiter.clone());
        self.positions.insert(waiter.clone(), (subnet.clone(), position));
        self.next += 1;
        Some(position)
    }

    fn remove(&mut self, waiter: &A) -> Option<(S, bool)> {
        let (subnet, position) = self.positions.remove(waiter)?;
        let queue = self.queues.get_mut(&subnet)?;
        queue.positions.remove(&position);
        let was_woken = queue.woken.remove(&position) | queue.taking.remove(&position);
        if queue.positions.is_empty() {
            self.queues.remove(&subnet);
        }
        Some((subnet, was_woken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn three() -> WaitQueues<&'static str, u32> {
        let mut queues = WaitQueues::new(3);
        for waiter in [3, 1, 2] {
            assert!(queues.wait(&"s", &waiter, None));
        }
        queues
    }

    /// The original retried by back-off, up to eight hours later, in no order.
    #[test]
    fn longest_waiter_is_woken_first() {
        let mut queues = three();
        assert_eq!(queues.freed(&"other"), None);
        assert_eq!([queues.freed(&"s"), queues.freed(&"s")], [Some(3), Some(1)]);
        queues.served(&3);
        assert!(queues.wait(&"s", &1, None), "another controller was faster");
        assert_eq!(queues.freed(&"s"), Some(1), "it keeps its position");
        assert_eq!([queues.freed(&"s"), queues.freed(&"s")], [Some(2), None]);
    }

    /// After a restart all waiters arrive at once, in any order.
    #[test]
    fn former_waiters_regain_their_positions() {
        let mut queues = WaitQueues::new(8);
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        for (waiter, since) in [("new", None), ("late", at(7)), ("early", at(3)), ("newer", None)] {
            assert!(queues.wait(&(), &waiter, since));
        }
        let woken: Vec<_> = std::iter::from_fn(|| queues.freed(&())).collect();
        assert_eq!(woken, ["early", "late", "new", "newer"]);
    }

    #[test]
    fn addresses_of_woken_waiters_are_reserved() {
        let mut queues = three();
        assert_eq!(queues.owed(&"s", &9), 0);
        assert_eq!(queues.freed(&"s"), Some(3));
        assert_eq!([9, 1, 3].map(|waiter| queues.owed(&"s", &waiter)), [1, 1, 0]);
        queues.served(&3);
        assert_eq!(queues.owed(&"s", &9), 0);
    }

    #[test]
    fn leaving_waiter_wakes_the_next() {
        let mut queues = three();
        assert_eq!(queues.leave(&1), None, "it was not woken");
        assert_eq!(queues.freed(&"s"), Some(3));
        assert_eq!(queues.leave(&3), Some(2));
        assert_eq!(queues.leave(&2), None);
        assert!(queues.is_empty() && queues.queues.is_empty());
    }

    /// A failed claim leaves the waiter ahead of all later ones.
    #[test]
    fn failed_claimant_comes_first() {
        let mut queues = three();
        assert_eq!(queues.freed(&"s"), Some(3));
        assert!(queues.takes(&"s", &3, None));
        assert_eq!(
            (queues.owed(&"s", &9), queues.freed(&"s")),
            (0, Some(1)),
            "a claimed address is free for nobody"
        );
        assert_eq!(queues.missed(&"s", &3), None);
        assert_eq!(queues.owed(&"s", &9), 2);
        assert!(queues.takes(&"s", &3, None));
        assert_eq!(queues.due().collect::<Vec<_>>(), [&1, &3]);
        assert_eq!(queues.leave(&3), Some(2), "a claimant that leaves passes the address on");
        assert_eq!(queues.missed(&"s", &3), None, "all were woken");
        assert!(queues.wait(&"s", &2, None));
        assert_eq!(queues.missed(&"s", &3), Some(2), "the claimant has left");
    }

    #[test]
    fn limit_of_waiters_is_enforced() {
        let mut queues = three();
        assert!(!queues.wait(&"s", &4, None) && queues.wait(&"s", &2, None));
        assert_eq!((queues.len(), queues.waiting(&"s").count()), (3, 3));
    }

    #[derive(Clone, Copy, Debug)]
    enum WaitOp {
        Want(u8),
        GiveBack,
        Run(prop::sample::Index),
        /// The claimed address is locked by a stranger and released at once.
        Miss(prop::sample::Index),
        Vanish(u8),
    }

    fn op() -> impl Strategy<Value = WaitOp> {
        prop_oneof![
            2 => (0..12_u8).prop_map(WaitOp::Want),
            1 => Just(WaitOp::GiveBack),
            2 => any::<prop::sample::Index>().prop_map(WaitOp::Run),
            1 => any::<prop::sample::Index>().prop_map(WaitOp::Miss),
            1 => (0..12_u8).prop_map(WaitOp::Vanish),
        ]
    }

    proptest! {
        /// Three addresses; each claimant runs, and waits if none is free.
        #[test]
        fn free_addresses_never_exceed_woken_waiters(ops in proptest::collection::vec(op(), 0..200)) {
            let mut queues = WaitQueues::new(64);
            let (mut free, mut have, mut due) = (3_usize, BTreeSet::new(), BTreeSet::new());
            for op in ops {
                match op {
                    WaitOp::Want(waiter) if !have.contains(&waiter) => drop(due.insert(waiter)),
                    WaitOp::GiveBack if !have.is_empty() => {
                        have.pop_first();
                        free += 1;
                        due.extend(queues.freed(&()));
                    }
                    WaitOp::Run(which) if !due.is_empty() => {
                        let waiter = *due.iter().nth(which.index(due.len())).unwrap();
                        due.remove(&waiter);
                        if free > queues.owed(&(), &waiter) {
                            prop_assert!(queues.takes(&(), &waiter, None));
                            free -= 1;
                            have.insert(waiter);
                            queues.served(&waiter);
                        } else {
                            prop_assert!(queues.wait(&(), &waiter, None));
                        }
                    }
                    WaitOp::Miss(which) if !due.is_empty() => {
                        let waiter = *due.iter().nth(which.index(due.len())).unwrap();
                        if free > queues.owed(&(), &waiter) {
                            prop_assert!(queues.takes(&(), &waiter, None));
                            due.extend(queues.missed(&(), &waiter));
                        }
                    }
                    WaitOp::Vanish(waiter) if !have.contains(&waiter) => {
                        due.remove(&waiter);
                        due.extend(queues.leave(&waiter));
                    }
                    _ => {}
                }
                let asleep = queues.waiting(&()).filter(|waiter| !due.contains(waiter)).count();
                prop_assert!(asleep == 0 || free <= due.len(), "{free} are free, {asleep} sleep, and only {due:?} run");
            }
        }
    }
}
