//! Turns of tenants: per priority level, a ring of lanes, one per tenant with ready keys.

use super::list::List;
use super::slab::{NIL, Slab};
use crate::Priority;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

#[derive(Debug)]
pub(crate) struct TenantRings {
    /// By slot: here and not in the entries, because most queues have one tenant.
    tenants: Vec<u32>,
    lanes: Vec<Lane>,
    free: Vec<u32>,
    by_tenant: HashMap<(u8, u32), u32, FixedState>,
    /// The first and last lane of each level, in the order of their turns. No lane is empty.
    rings: [(u32, u32); Priority::LEVELS],
}

#[derive(Debug)]
struct Lane {
    level: u8,
    tenant: u32,
    list: List,
    prev: u32,
    next: u32,
}

impl TenantRings {
    pub(crate) fn new(seed: u64) -> Self {
        let by_tenant = HashMap::with_hasher(FixedState::with_seed(seed));
        let rings = [(NIL, NIL); Priority::LEVELS];
        Self { tenants: Vec::new(), lanes: Vec::new(), free: Vec::new(), by_tenant, rings }
    }

    /// Sets the tenant of a slot.
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
        self.lanes[lane as usize].list.push_back(entries, slot);
    }

    pub(crate) fn pop<K>(&mut self, entries: &mut Slab<K>, level: usize) -> Option<u32> {
        let (lane, _) = self.rings[level];
        if lane == NIL {
            return None;
        }
        let slot = self.lanes[lane as usize].list.pop_front(entries);
        self.unlink_lane(lane);
        if self.lanes[lane as usize].list.is_empty() {
            self.close(lane);
        } else {
            self.push_lane(lane);
        }
        slot
    }

    pub(crate) fn remove<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let (level, tenant) = (entries[slot].level, self.tenants[slot as usize]);
        let lane = self.by_tenant[&(level, tenant)];
        self.lanes[lane as usize].list.unlink(entries, slot);
        if self.lanes[lane as usize].list.is_empty() {
            self.unlink_lane(lane);
            self.close(lane);
        }
    }

    pub(crate) fn head(&self, level: usize) -> u32 {
        match self.rings[level] {
            (NIL, _) => NIL,
            (lane, _) => self.lanes[lane as usize].list.head,
        }
    }

    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.lanes.len() - self.free.len()
    }

    fn open(&mut self, level: u8, tenant: u32) -> u32 {
        let new = Lane { level, tenant, list: List::EMPTY, prev: NIL, next: NIL };
        let lane = match self.free.pop() {
            Some(lane) => {
                self.lanes[lane as usize] = new;
                lane
            }
            None => {
                self.lanes.push(new);
                u32::try_from(self.lanes.len() - 1).expect("no more lanes than entries")
            }
        };
        self.by_tenant.insert((level, tenant), lane);
        self.push_lane(lane);
        lane
    }

    fn close(&mut self, lane: u32) {
        let Lane { level, tenant, .. } = self.lanes[lane as usize];
        self.by_tenant.remove(&(level, tenant));
        self.free.push(lane);
    }

    /// Appends a lane to its level's ring.
    fn push_lane(&mut self, lane: u32) {
        let (first, last) = &mut self.rings[usize::from(self.lanes[lane as usize].level)];
        let prev = std::mem::replace(last, lane);
        match prev {
            NIL => *first = lane,
            prev => self.lanes[prev as usize].next = lane,
        }
        let lane = &mut self.lanes[lane as usize];
        (lane.prev, lane.next) = (prev, NIL);
    }

    /// Removes a lane from its level's ring.
    fn unlink_lane(&mut self, lane: u32) {
        let Lane { level, prev, next, .. } = self.lanes[lane as usize];
        let (first, last) = &mut self.rings[usize::from(level)];
        match prev {
            NIL => *first = next,
            prev => self.lanes[prev as usize].next = next,
        }
        match next {
            NIL => *last = prev,
            next => self.lanes[next as usize].prev = prev,
        }
    }
}
