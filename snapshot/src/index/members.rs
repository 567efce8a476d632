//! The entries of one value of an index.

use crate::{Range, Tree};

/// A set of slots, sorted and never empty: a value is removed with its last entry.
#[derive(Clone)]
pub(crate) enum Members {
    /// A single slot, because many indexes have one value per entry.
    One(u32),
    Many(Tree<u32, ()>),
}

impl Members {
    /// Creates a set of one or more sorted slots.
    pub(super) fn of(slots: &[u32]) -> Self {
        match slots {
            [one] => Self::One(*one),
            _ => Self::Many(slots.iter().map(|&slot| (slot, ())).collect()),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(slots) => slots.len(),
        }
    }

    pub(super) fn insert(&mut self, slot: u32) {
        match self {
            Self::One(one) if *one == slot => {}
            Self::One(one) => *self = Self::of(&[(*one).min(slot), (*one).max(slot)]),
            Self::Many(slots) => {
                slots.insert(slot, ());
            }
        }
    }

    /// Removes one of several slots.
    pub(super) fn remove(&mut self, slot: u32) {
        if let Self::Many(slots) = self {
            slots.remove(&slot);
            if slots.len() == 1
                && let Some((&one, ())) = slots.first()
            {
                *self = Self::One(one);
            }
        }
    }

    pub(crate) fn iter(&self) -> MembersIter<'_> {
        match self {
            Self::One(slot) => MembersIter::One(Some(*slot)),
            Self::Many(slots) => MembersIter::Many(slots.iter()),
        }
    }
}

#[derive(Clone)]
pub(crate) enum MembersIter<'a> {
    One(Option<u32>),
    Many(Range<'a, u32, ()>),
}

impl Iterator for MembersIter<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        match self {
            Self::One(slot) => slot.take(),
            Self::Many(slots) => slots.next().map(|(&slot, ())| slot),
        }
    }
}

impl DoubleEndedIterator for MembersIter<'_> {
    fn next_back(&mut self) -> Option<u32> {
        match self {
            Self::One(slot) => slot.take(),
            Self::Many(slots) => slots.next_back().map(|(&slot, ())| slot),
        }
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_sorted_and_small_again_when_it_shrinks() {
        fn check(members: &Members, expected: &[u32]) {
            assert_eq!(members.iter().collect::<Vec<_>>(), expected);
            assert_eq!(members.len(), expected.len());
            assert_eq!(matches!(members, Members::One(_)), expected.len() == 1);
        }
        let mut members = Members::One(5);
        members.insert(5);
        check(&members, &[5]);
        members.insert(3);
        members.insert(9);
        members.insert(3);
        check(&members, &[3, 5, 9]);
        members.remove(5);
        members.remove(5);
        check(&members, &[3, 9]);
        members.remove(9);
        check(&members, &[3]);
    }
}
