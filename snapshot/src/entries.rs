//! Iterators over the results of an index.

use crate::index::{Members, MembersIter};
use crate::slots::Slots;
use crate::tree;
use crate::version::Entry;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

/// The entries with a value of an index, or with values between two bounds: keys and values.
pub struct Entries<'a, K, V, I> {
    slots: &'a Slots<Entry<K, V>>,
    slots_left: SlotIter<'a, I>,
    /// Prefetched entries from the front. Reading an entry is a cache miss, and several misses can
    /// overlap.
    ahead: [Option<&'a Entry<K, V>>; AHEAD],
    /// The prefetched entries that were not returned yet.
    left: Range<usize>,
}

// About as many cache misses as can overlap.
const AHEAD: usize = 8;

impl<'a, K, V, I> Entries<'a, K, V, I> {
    pub(crate) fn of(slots: &'a Slots<Entry<K, V>>, members: Option<&'a Members>) -> Self {
        Self::new(
            slots,
            SlotIter { values: tree::Range::empty(), front: members.map(Members::iter), back: None },
        )
    }

    pub(crate) const fn between(slots: &'a Slots<Entry<K, V>>, values: tree::Range<'a, I, Members>) -> Self {
        Self::new(slots, SlotIter { values, front: None, back: None })
    }

    const fn new(slots: &'a Slots<Entry<K, V>>, slots_left: SlotIter<'a, I>) -> Self {
        Self { slots, slots_left, ahead: [None; AHEAD], left: 0..0 }
    }

    #[inline]
    fn prefetch(&mut self) {
        self.left = 0..0;
        while self.left.end < AHEAD
            && let Some(slot) = self.slots_left.next()
        {
            // `None` only if a user's function was inconsistent and left a slot in an index.
            if let Some(entry) = self.slots.get(slot) {
                self.ahead[self.left.end] = Some(entry);
                self.left.end += 1;
            }
        }
    }
}

impl<'a, K, V, I> Iterator for Entries<'a, K, V, I> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            self.prefetch();
        }
        self.ahead[self.left.next()?].map(Entry::pair)
    }
}

impl<K, V, I> DoubleEndedIterator for Entries<'_, K, V, I> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let behind = self.slots_left.by_ref().rev().find_map(|slot| self.slots.get(slot));
        behind.or_else(|| self.ahead[self.left.next_back()?]).map(Entry::pair)
    }
}

impl<K, V, I> FusedIterator for Entries<'_, K, V, I> {}

impl<K, V, I> Clone for Entries<'_, K, V, I> {
    fn clone(&self) -> Self {
        let Self { slots, slots_left, ahead, left } = self;
        Self { slots, slots_left: slots_left.clone(), ahead: *ahead, left: left.clone() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug, I> fmt::Debug for Entries<'_, K, V, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// Values of an index, sorted, each with its number of entries.
pub struct Counts<'a, I> {
    values: tree::Range<'a, I, Members>,
}

impl<'a, I> Counts<'a, I> {
    pub(crate) const fn new(values: tree::Range<'a, I, Members>) -> Self {
        Self { values }
    }
}

impl<'a, I> Iterator for Counts<'a, I> {
    type Item = (&'a I, usize);

    fn next(&mut self) -> Option<Self::Item> {
        self.values.next().map(|(value, members)| (value, members.len()))
    }
}

impl<I> DoubleEndedIterator for Counts<'_, I> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.values.next_back().map(|(value, members)| (value, members.len()))
    }
}

impl<I> FusedIterator for Counts<'_, I> {}

impl<I> Clone for Counts<'_, I> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone() }
    }
}

impl<I: fmt::Debug> fmt::Debug for Counts<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// The slots of a range of values of an index.
struct SlotIter<'a, I> {
    values: tree::Range<'a, I, Members>,
    /// The partly consumed values, from either end.
    front: Option<MembersIter<'a>>,
    back: Option<MembersIter<'a>>,
}

impl<I> Iterator for SlotIter<'_, I> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(slot) = self.front.as_mut().and_then(Iterator::next) {
                return Some(slot);
            }
            match self.values.next() {
                Some((_, members)) => self.front = Some(members.iter()),
                None => self.front = Some(self.back.take()?),
            }
        }
    }
}

impl<I> DoubleEndedIterator for SlotIter<'_, I> {
    fn next_back(&mut self) -> Option<u32> {
        loop {
            if let Some(slot) = self.back.as_mut().and_then(DoubleEndedIterator::next_back) {
                return Some(slot);
            }
            match self.values.next_back() {
                Some((_, members)) => self.back = Some(members.iter()),
                None => self.back = Some(self.front.take()?),
            }
        }
    }
}

impl<I> Clone for SlotIter<'_, I> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone(), front: self.front.clone(), back: self.back.clone() }
    }
}
