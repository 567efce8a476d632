//! Pools that all users share, such as watches: no user can take the places that others need.

use std::ops::Deref;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_sync::Mutex;

use super::Flow;

/// The fraction of a pool that only the level `exempt` may take.
const RESERVE: usize = 20;
/// By this factor a flow of the level `exempt` may hold more than is free.
const EXEMPT_FACTOR: usize = 8;

/// Returns whether a flow that holds `held` of a pool may take `more`.
///
/// A flow may hold as much as is free: one flow at most half of the pool, and `n` flows with equal
/// demand `1 / (n + 1)` of it each. As much stays free for the next one. This needs no count of
/// flows and no limit of its own.
pub(super) const fn admits(size: usize, used: usize, held: usize, more: usize, is_exempt: bool) -> bool {
    let free = size.saturating_sub(used);
    if is_exempt {
        return more <= free && held.saturating_add(more) <= free.saturating_mul(EXEMPT_FACTOR);
    }
    held.saturating_add(more) <= free.saturating_sub(size / RESERVE)
}

/// A pool of places or bytes.
#[derive(Debug)]
pub(crate) struct FairPool {
    size: usize,
    state: Mutex<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    used: usize,
    /// By flow; flows that hold nothing are absent.
    held: HashMap<Flow, usize, FixedState>,
}

/// A share of a pool, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct PoolShare<P: Deref<Target = FairPool>> {
    pool: P,
    flow: Flow,
    amount: usize,
}

impl FairPool {
    pub(crate) fn new(size: usize, seed: FixedState) -> Self {
        Self { size, state: Mutex::new(PoolState { used: 0, held: HashMap::with_hasher(seed) }) }
    }

    /// Takes a share, if the flow may have it.
    pub(crate) fn take<P: Deref<Target = Self>>(pool: P, flow: Flow, amount: usize) -> Option<PoolShare<P>> {
        pool.reserve(flow, amount).then(|| PoolShare { pool, flow, amount })
    }

    fn reserve(&self, flow: Flow, amount: usize) -> bool {
        if amount == 0 {
            return true;
        }
        let mut state = self.state.lock();
        let held = state.held.get(&flow).copied().unwrap_or_default();
        let admitted = admits(self.size, state.used, held, amount, flow.is_exempt());
        if admitted {
            state.used += amount;
            state.held.insert(flow, held + amount);
        }
        admitted
    }

    fn give_back(&self, flow: Flow, amount: usize) {
        if amount == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.used -= amount;
        if let Some(held) = state.held.get_mut(&flow) {
            *held -= amount;
            if *held == 0 {
                state.held.remove(&flow);
            }
        }
    }
}

impl<P: Deref<Target = FairPool>> PoolShare<P> {
    /// Enlarges the share. Returns whether the flow may have it.
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        let admitted = self.pool.reserve(self.flow, more);
        self.amount += if admitted { more } else { 0 };
        admitted
    }
}

impl<P: Deref<Target = FairPool>> Drop for PoolShare<P> {
    fn drop(&mut self) {
        self.pool.give_back(self.flow, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flowcontrol::PriorityLevel;

    const ANN: Flow = Flow::test(PriorityLevel::GlobalDefault, 1);
    const ADMIN: Flow = Flow::test(PriorityLevel::Exempt, 1);

    fn fill(pool: &FairPool, flow: Flow) -> Vec<PoolShare<&FairPool>> {
        std::iter::from_fn(|| FairPool::take(pool, flow, 1)).collect()
    }

    #[test]
    fn a_flow_holds_at_most_half_and_each_next_one_finds_places() {
        let pool = FairPool::new(1000, FixedState::with_seed(1));
        let mut all = Vec::new();
        for user in 0..9 {
            let mine = fill(&pool, Flow::test(PriorityLevel::WorkloadLow, user));
            assert!(!mine.is_empty(), "user {user} finds none");
            assert!(mine.len() <= 475, "{} are more than half", mine.len());
            all.push(mine);
        }
        let used: usize = all.iter().map(Vec::len).sum();
        assert!(used <= 950, "{used} are in the reserve");
        let admins = fill(&pool, ADMIN);
        assert!(admins.len() >= 44, "an admin finds only {}", admins.len());
        drop((all, admins));
        let state = pool.state.lock();
        assert!(state.used == 0 && state.held.is_empty(), "{state:?}");
    }

    #[test]
    fn one_exempt_flow_leaves_a_ninth() {
        let pool = FairPool::new(900, FixedState::with_seed(1));
        assert_eq!(fill(&pool, ADMIN).len(), 800);
    }

    #[test]
    fn the_last_place_of_a_small_pool_is_given_out() {
        let pool = FairPool::new(1, FixedState::with_seed(1));
        let first = FairPool::take(&pool, ANN, 1);
        assert!(first.is_some() && FairPool::take(&pool, ADMIN, 1).is_none());
        drop(first);
        assert!(FairPool::take(&pool, ADMIN, 1).is_some());
    }

    #[test]
    fn a_share_grows_within_the_limit_of_its_flow() {
        let pool = FairPool::new(1000, FixedState::with_seed(1));
        let mut share = FairPool::take(&pool, ANN, 400).expect("less than half");
        assert!(share.grow(50) && !share.grow(200), "{share:?}");
        drop(share);
        assert!(FairPool::take(&pool, ANN, 450).is_some());
    }
}
