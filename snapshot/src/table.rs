//! The hash table from keys to slots, shared by all versions of a map.
//!
//! A lookup of a hash returns *candidates*. The caller checks the slots of its own version, and
//! takes the candidate whose slot has the key. So one table serves every version at once: a key
//! that only an older version has is a candidate without a match in a newer one, and vice versa. A
//! bucket is therefore never emptied or moved; it is marked dead when its key is removed, and
//! dropped when the table is rebuilt. Versions that still need it keep the old table.

use machinery_sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Maximum number of entries of a map.
pub(crate) const MAX_ENTRIES: u32 = DEAD - 2;

/// The hash in the upper half; the slot number plus one, and a dead flag, in the lower. Zero is
/// empty.
struct Bucket(u64);

const DEAD: u32 = 1 << 31;

/// Only the writer stores, and it publishes the version that needs a bucket through a lock
/// afterwards. So plain loads and stores suffice.
pub(crate) struct Table {
    buckets: Box<[AtomicU64]>,
    /// Number of buckets that are not empty.
    used: AtomicUsize,
}

impl Bucket {
    const fn new(hash: u32, slot: u32) -> Self {
        Self((hash as u64) << 32 | (slot + 1) as u64)
    }

    const fn hash(&self) -> u32 {
        (self.0 >> 32) as u32
    }

    const fn slot(&self) -> u32 {
        (self.0 as u32 & !DEAD) - 1
    }

    const fn is_empty(&self) -> bool {
        self.0 == 0
    }

    const fn is_dead(&self) -> bool {
        self.0 as u32 & DEAD != 0
    }

    const fn dead(&self) -> Self {
        Self(self.0 | DEAD as u64)
    }
}

impl Table {
    /// Creates a table with capacity for `keys` keys, and as many again before it must be rebuilt.
    pub(crate) fn for_keys(keys: usize) -> Self {
        let buckets = (0..(keys * 2).max(8)).map(|_| AtomicU64::new(0)).collect();
        Self { buckets, used: AtomicUsize::new(0) }
    }

    /// Returns the candidate slots of a hash.
    #[inline]
    pub(crate) fn candidates(&self, hash: u32) -> impl Iterator<Item = u32> {
        let mut at = self.home(hash);
        std::iter::from_fn(move || {
            loop {
                let bucket = self.at(at);
                if bucket.is_empty() {
                    return None;
                }
                at = self.after(at);
                if bucket.hash() == hash {
                    return Some(bucket.slot());
                }
            }
        })
    }

    /// Returns whether `more` keys would leave enough buckets empty.
    pub(crate) fn has_capacity_for(&self, more: usize) -> bool {
        let used = self.used.load(Relaxed) + more;
        // A fifth stays empty: only an empty bucket ends a probe, a dead one does not.
        used + used / 4 <= self.buckets.len()
    }

    /// Returns whether there is no capacity for one more key.
    pub(crate) fn is_full(&self) -> bool {
        !self.has_capacity_for(1)
    }

    /// Returns whether the table is mostly unused for this number of keys.
    pub(crate) fn is_oversized_for(&self, keys: usize) -> bool {
        self.buckets.len() > 64 && keys < self.buckets.len() / 16
    }

    /// Adds a candidate. Requires capacity.
    pub(crate) fn insert(&self, hash: u32, slot: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = self.at(at);
            // A key that returns to its slot takes its old bucket, or each return would use one up.
            let is_this = bucket.hash() == hash && !bucket.is_empty() && bucket.slot() == slot;
            if bucket.is_empty() || is_this {
                self.set(at, &Bucket::new(hash, slot));
                self.used.store(self.used.load(Relaxed) + usize::from(!is_this), Relaxed);
                return;
            }
            at = self.after(at);
        }
    }

    /// Marks a candidate that no later version has. The table may lack it.
    pub(crate) fn mark_dead(&self, hash: u32, slot: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = self.at(at);
            if bucket.is_empty() {
                return;
            }
            if bucket.hash() == hash && bucket.slot() == slot {
                return self.set(at, &bucket.dead());
            }
            at = self.after(at);
        }
    }

    /// Returns a new table without dead candidates, with capacity for the live ones and `more`.
    pub(crate) fn rebuilt(&self, more: usize) -> Self {
        let live = || (0..self.buckets.len()).map(|at| self.at(at)).filter(|b| !b.is_empty() && !b.is_dead());
        let table = Self::for_keys(live().count() + more);
        for bucket in live() {
            table.insert(bucket.hash(), bucket.slot());
        }
        table
    }

    /// Returns the number of buckets, and of used ones.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.buckets.len(), self.used.load(Relaxed))
    }

    /// The hash scaled to the number of buckets, which need not be a power of two.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    #[inline]
    fn at(&self, at: usize) -> Bucket {
        Bucket(self.buckets[at].load(Relaxed))
    }

    fn set(&self, at: usize, bucket: &Bucket) {
        self.buckets[at].store(bucket.0, Relaxed);
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;

    fn candidates(table: &Table, hash: u32) -> Vec<u32> {
        table.candidates(hash).collect()
    }

    #[test]
    fn a_dead_candidate_is_found_until_the_table_is_rebuilt() {
        let table = Table::for_keys(4);
        for slot in 0..4 {
            table.insert(7, slot);
        }
        table.mark_dead(7, 2);
        table.mark_dead(7, 99);
        assert_eq!(candidates(&table, 7), [0, 1, 2, 3]);
        assert_eq!(candidates(&table, 8), []);
        assert_eq!(candidates(&table.rebuilt(0), 7), [0, 1, 3]);
    }

    #[test]
    fn a_key_inserted_again_in_its_slot_reuses_its_bucket() {
        let table = Table::for_keys(4);
        for _ in 0..100 {
            table.insert(u32::MAX, 5);
            table.mark_dead(u32::MAX, 5);
        }
        assert_eq!(table.size(), (8, 1));
        table.insert(u32::MAX, 5);
        assert_eq!(candidates(&table.rebuilt(0), u32::MAX), [5]);
    }

    #[test]
    fn a_full_table_has_empty_buckets_left() {
        let table = Table::for_keys(0);
        let mut inserted = 0;
        while !table.is_full() {
            table.insert(inserted << 28, inserted);
            inserted += 1;
        }
        assert_eq!((inserted, table.size()), (7, (8, 7)));
    }
}
