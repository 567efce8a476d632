//! What an index finds, one after another.

use crate::Range;
use crate::index::{Members, MembersIter};
use crate::slots::Slots;
use crate::version::Entry;
use std::fmt;
use std::iter::FusedIterator;

/// The entries that an index has for a value, or for those between two bounds: keys and values.
pub struct Entries<'a, K, V, I> {
    slots: &'a Slots<Entry<K, V>>,
    values: Range<'a, I, Members>,
    /// The values that were begun, from either end.
    front: Option<MembersIter<'a>>,
    back: Option<MembersIter<'a>>,
}

impl<'a, K, V, I> Entries<'a, K, V, I> {
    pub(crate) fn of(slots: &'a Slots<Entry<K, V>>, members: Option<&'a Members>) -> Self {
        Self { slots, values: Range::empty(), front: members.map(Members::iter), back: None }
    }

    pub(crate) const fn between(slots: &'a Slots<Entry<K, V>>, values: Range<'a, I, Members>) -> Self {
        Self { slots, values, front: None, back: None }
    }

    /// `None` only where a function of the user's has not kept its word, and left a slot in an index.
    #[inline]
    fn entry(&self, slot: u32) -> Option<(&'a K, &'a V)> {
        self.slots.get(slot).map(Entry::pair)
    }
}

impl<'a, K, V, I> Iterator for Entries<'a, K, V, I> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some(slot) = self.front.as_mut().and_then(Iterator::next) {
                if let Some(entry) = self.entry(slot) {
                    return Some(entry);
                }
            }
            match self.values.next() {
                Some((_, members)) => self.front = Some(members.iter()),
                None => self.front = Some(self.back.take()?),
            }
        }
    }
}

impl<K, V, I> DoubleEndedIterator for Entries<'_, K, V, I> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            while let Some(slot) = self.back.as_mut().and_then(DoubleEndedIterator::next_back) {
                if let Some(entry) = self.entry(slot) {
                    return Some(entry);
                }
            }
            match self.values.next_back() {
                Some((_, members)) => self.back = Some(members.iter()),
                None => self.back = Some(self.front.take()?),
            }
        }
    }
}

impl<K, V, I> FusedIterator for Entries<'_, K, V, I> {}

impl<K, V, I> Clone for Entries<'_, K, V, I> {
    fn clone(&self) -> Self {
        let Self { slots, values, front, back } = self;
        Self { slots, values: values.clone(), front: front.clone(), back: back.clone() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug, I> fmt::Debug for Entries<'_, K, V, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// Values of an index, in order, each with the number of entries that have it.
pub struct Counts<'a, I> {
    values: Range<'a, I, Members>,
}

impl<'a, I> Counts<'a, I> {
    pub(crate) const fn new(values: Range<'a, I, Members>) -> Self {
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
