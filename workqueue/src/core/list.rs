//! A first-in, first-out list, linked through the entries themselves.

use super::slab::{NIL, Slab};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub head: u32,
    tail: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: NIL, tail: NIL };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    #[inline]
    pub(crate) fn push_back<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let entry = &mut entries[slot];
        entry.prev = self.tail;
        entry.next = NIL;
        match self.tail {
            NIL => self.head = slot,
            tail => entries[tail].next = slot,
        }
        self.tail = slot;
    }

    #[inline]
    pub(crate) fn pop_front<K>(&mut self, entries: &mut Slab<K>) -> Option<u32> {
        let slot = self.head;
        if slot == NIL {
            return None;
        }
        let next = entries[slot].next;
        self.head = next;
        match next {
            NIL => self.tail = NIL,
            next => entries[next].prev = NIL,
        }
        Some(slot)
    }

    /// Removes an entry of this list.
    #[inline]
    pub(crate) fn unlink<K>(&mut self, entries: &mut Slab<K>, slot: u32) {
        let (prev, next) = (entries[slot].prev, entries[slot].next);
        match prev {
            NIL => self.head = next,
            prev => entries[prev].next = next,
        }
        match next {
            NIL => self.tail = prev,
            next => entries[next].prev = prev,
        }
    }

    pub(crate) fn iter<'a, K>(&self, entries: &'a Slab<K>) -> impl Iterator<Item = u32> + use<'a, K> {
        let some = |slot: u32| (slot != NIL).then_some(slot);
        std::iter::successors(some(self.head), move |&slot| some(entries[slot].next))
    }
}
