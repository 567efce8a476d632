//! Ready keys in hand-out order: a list per priority level, or a ring of tenants per level.

use super::list::List;
use super::slab::{Entry, NIL, Slab};
use super::tenants::TenantRings;
use crate::Priority;

#[derive(Debug)]
pub(crate) struct Ready {
    /// The levels with entries, as bits.
    used: u64,
    len: usize,
    /// Worth of a level, in microseconds of waiting.
    aging: i64,
    levels: Box<[List; Priority::LEVELS]>,
    /// Replaces `levels` if the queue has tenants.
    tenants: Option<Box<TenantRings>>,
}

impl Ready {
    pub(crate) fn new(aging_us: i64, tenants: Option<Box<TenantRings>>) -> Self {
        let levels = Box::new([List::EMPTY; Priority::LEVELS]);
        Self { used: 0, len: 0, aging: aging_us, levels, tenants }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Sets the tenant of a slot.
    #[inline]
    pub(crate) fn assign(&mut self, slot: u32, tenant: u32) {
        if let Some(tenants) = &mut self.tenants {
            tenants.assign(slot, tenant);
        }
    }

    #[inline]
    pub(crate) fn push<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let level = entries[slot].level;
        match &mut self.tenants {
            None => self.levels[usize::from(level)].push_back(entries, slot),
            Some(tenants) => tenants.push(entries, slot),
        }
        self.used |= 1 << level;
        self.len += 1;
    }

    /// Returns the entry that is handed out next, and its level for [`Ready::pop`].
    #[inline]
    pub(crate) fn peek<K>(&self, entries: &Slab<K>) -> Option<(u32, usize)> {
        self.choose(entries).map(|level| (self.head(level), level))
    }

    /// Removes the entry that [`Ready::peek`] returned.
    #[inline]
    pub(crate) fn pop<K>(&mut self, entries: &mut Slab<K>, level: usize) {
        match &mut self.tenants {
            None => self.levels[level].pop_front(entries),
            Some(tenants) => tenants.pop(entries, level),
        };
        self.taken(level);
    }

    /// Removes a ready entry.
    pub(crate) fn remove<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let level = usize::from(entries[slot].level);
        match &mut self.tenants {
            None => self.levels[level].unlink(entries, slot),
            Some(tenants) => tenants.remove(entries, slot),
        }
        self.taken(level);
    }

    #[cfg(feature = "testing")]
    pub(crate) fn queued_tenants(&self) -> usize {
        self.tenants.as_ref().map_or(0, |tenants| tenants.len())
    }

    #[inline]
    fn taken(&mut self, level: usize) {
        self.len -= 1;
        if self.head(level) == NIL {
            self.used &= !(1 << level);
        }
    }

    #[inline]
    fn head(&self, level: usize) -> u32 {
        match &self.tenants {
            None => self.levels[level].head,
            Some(tenants) => tenants.head(level),
        }
    }

    /// Returns the level whose head has the lowest standing: the time at which it became ready,
    /// less a bonus per level. At equal standing the higher level.
    #[inline]
    fn choose<K>(&self, entries: &Slab<K>) -> Option<usize> {
        let highest = 63_u32.checked_sub(self.used.leading_zeros())?;
        // With one level in use, the order is that of its list.
        if self.used == 1 << highest {
            return Some(highest as usize);
        }
        let (mut best, mut best_standing) = (highest as usize, i64::MAX);
        let mut rest = self.used;
        while rest != 0 {
            let level = 63 - rest.leading_zeros();
            rest ^= 1 << level;
            let standing = standing(&entries[self.head(level as usize)], self.aging);
            if standing < best_standing {
                (best, best_standing) = (level as usize, standing);
            }
        }
        Some(best)
    }
}

fn standing<K>(entry: &Entry<K>, aging: i64) -> i64 {
    entry.since.cast_signed() - i64::from(entry.level) * aging
}
