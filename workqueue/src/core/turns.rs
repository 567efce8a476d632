//! Tenants take turns: per priority level, a ring of lanes, one per tenant with something ready.

use super::list::List;
use super::slab::{NIL, Slab};
use crate::Priority;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Turns {
    /// By slot: here and not in the entries, because most queues have one tenant.
    tenants: Vec<u32>,
    lanes: Vec<Lane>,
    free: Vec<usize>,
    by_tenant: HashMap<(u8, u32), usize, FixedState>,
    /// Lanes in the order of their turns. The first has something; one further back may have been emptied by a
    /// cancel, and keeps its turn until it comes to the front.
    rings: Vec<VecDeque<usize>>,
}

#[derive(Debug)]
struct Lane {
    level: u8,
    tenant: u32,
    list: List,
}

impl Turns {
    pub(crate) fn new(seed: u64) -> Self {
        let by_tenant = HashMap::with_hasher(FixedState::with_seed(seed));
        let rings = (0..Priority::LEVELS).map(|_| VecDeque::new()).collect();
        Self { tenants: Vec::new(), lanes: Vec::new(), free: Vec::new(), by_tenant, rings }
    }

    /// Says whose key is in a slot.
    pub(crate) fn assign(&mut self, slot: u32, tenant: u32) {
        let slot = slot as usize;
        if self.tenants.len() <= slot {
            self.tenants.resize(slot + 1, 0);
        }
        self.tenants[slot] = tenant;
    }

    pub(crate) fn push<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let (level, tenant) = (entries[slot].level, self.tenants[slot as usize]);
        let lane = match self.by_tenant.get(&(level, tenant)) {
            Some(&lane) => lane,
            None => self.open(level, tenant),
        };
        self.lanes[lane].list.push_back(entries, slot);
    }

    pub(crate) fn pop<K>(&mut self, entries: &mut Slab<K>, level: usize) -> Option<u32> {
        let lane = self.rings[level].pop_front()?;
        let slot = self.lanes[lane].list.pop_front(entries);
        // To the back even if it is empty now: closing it is the business of whoever finds it at the front.
        self.rings[level].push_back(lane);
        self.clean(level);
        slot
    }

    pub(crate) fn remove<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let (level, tenant) = (entries[slot].level, self.tenants[slot as usize]);
        let lane = self.by_tenant[&(level, tenant)];
        self.lanes[lane].list.unlink(entries, slot);
        self.clean(usize::from(level));
    }

    pub(crate) fn head(&self, level: usize) -> u32 {
        self.rings[level].front().map_or(NIL, |&lane| self.lanes[lane].list.head)
    }

    fn open(&mut self, level: u8, tenant: u32) -> usize {
        let lane = Lane { level, tenant, list: List::EMPTY };
        let index = match self.free.pop() {
            Some(index) => {
                self.lanes[index] = lane;
                index
            }
            None => {
                self.lanes.push(lane);
                self.lanes.len() - 1
            }
        };
        self.by_tenant.insert((level, tenant), index);
        self.rings[usize::from(level)].push_back(index);
        index
    }

    /// Closes empty lanes at the front.
    fn clean(&mut self, level: usize) {
        while let Some(&lane) = self.rings[level].front() {
            if !self.lanes[lane].list.is_empty() {
                return;
            }
            self.rings[level].pop_front();
            self.by_tenant.remove(&(self.lanes[lane].level, self.lanes[lane].tenant));
            self.free.push(lane);
        }
    }
}
