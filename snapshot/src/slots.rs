//! Where entries are: a tree of fixed depth, by number, that versions share.
//!
//! Its leaves are small. A change under a snapshot copies one block on each level, and copying a block costs not its
//! bytes but the reference counts of what it points to, each of which may be a cache miss.

use std::sync::Arc;

/// A pointer for each slot: with its counts, 80 bytes.
type Leaf<T> = Block<T, 8>;
type Middle<T> = Block<Leaf<T>, 16>;
type Top<T> = Block<Middle<T>, 32>;

const LEAF_BITS: u32 = 3;
const MIDDLE_BITS: u32 = 4;
const TOP_BITS: u32 = 5;

struct Block<T, const N: usize>([Option<Arc<T>>; N]);

pub(crate) struct Slots<T> {
    tops: Vec<Option<Arc<Top<T>>>>,
}

/// What a change has put out of use. It is the caller's to drop, where a drop of the user's may run.
#[expect(dead_code, reason = "most of it is there to be dropped")]
pub(crate) struct Displaced<T> {
    top: Option<Arc<Top<T>>>,
    middle: Option<Arc<Middle<T>>>,
    leaf: Option<Arc<Leaf<T>>>,
    /// What was there, if other versions have it, too.
    pub(crate) shared: Option<Arc<T>>,
    /// What was there, if no other has it.
    pub(crate) own: Option<T>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { tops: Vec::new() }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Arc<T>> {
        let [top, middle, leaf, at] = way(slot);
        let middles = self.tops.get(top)?.as_ref()?;
        let leaves = middles.0[middle].as_ref()?;
        leaves.0[leaf].as_ref()?.0[at].as_ref()
    }

    /// Fills a slot or empties it. Clones nothing of the user's, and drops nothing.
    pub(crate) fn set(&mut self, slot: u32, value: Option<T>) -> Displaced<T> {
        let [top, middle, leaf, at] = way(slot);
        if self.tops.len() <= top {
            self.tops.resize_with(top + 1, || None);
        }
        let (middles, old_top) = own(&mut self.tops[top]);
        let (leaves, old_middle) = own(&mut middles.0[middle]);
        let (values, old_leaf) = own(&mut leaves.0[leaf]);
        let (shared, own) = replace(&mut values.0[at], value);
        if values.0[at].is_none() {
            self.prune(slot);
        }
        Displaced { top: old_top, middle: old_middle, leaf: old_leaf, shared, own }
    }

    /// Takes blocks away that have become empty. Their path is this version's own by now.
    fn prune(&mut self, slot: u32) {
        let [top, middle, leaf, _] = way(slot);
        let Some(middles) = self.tops[top].as_mut().and_then(Arc::get_mut) else { return };
        let Some(leaves) = middles.0[middle].as_mut().and_then(Arc::get_mut) else { return };
        if clear_if_empty(&mut leaves.0[leaf])
            && clear_if_empty(&mut middles.0[middle])
            && clear_if_empty(&mut self.tops[top])
        {
            let used = self.tops.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            self.tops.truncate(used);
        }
    }

    /// Every value, by slot.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> + Clone {
        let leaves = self.tops.iter().flatten().flat_map(|top| top.0.iter().flatten());
        leaves.flat_map(|middle| middle.0.iter().flatten()).flat_map(|leaf| leaf.0.iter().flatten())
    }
}

impl<T> Slots<T> {
    /// Every value and its slot.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        let leaves = (0_u32..).step_by(1 << (LEAF_BITS + MIDDLE_BITS + TOP_BITS)).zip(&self.tops);
        let leaves = leaves.flat_map(|(first, top)| blocks(first, 1 << (LEAF_BITS + MIDDLE_BITS), top));
        let leaves = leaves.flat_map(|(first, middle)| blocks(first, 1 << LEAF_BITS, middle));
        let values = leaves.flat_map(|(first, leaf)| blocks(first, 1, leaf));
        values.filter_map(|(slot, value)| Some((slot, &**value.as_ref()?)))
    }
}

/// What is in a block, with the first slot of each.
fn blocks<T, const N: usize>(
    first: u32,
    step: usize,
    block: &Option<Arc<Block<T, N>>>,
) -> impl Iterator<Item = (u32, &Option<Arc<T>>)> {
    block.iter().flat_map(move |block| (first..).step_by(step).zip(&block.0))
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self { tops: self.tops.clone() }
    }
}

/// Where a slot is, from the top.
#[inline]
fn way(slot: u32) -> [usize; 4] {
    let part = |shift: u32, bits: u32| (slot >> shift) as usize & ((1 << bits) - 1);
    let middles = LEAF_BITS + MIDDLE_BITS;
    let tops = middles + TOP_BITS;
    [(slot >> tops) as usize, part(middles, TOP_BITS), part(LEAF_BITS, MIDDLE_BITS), part(0, LEAF_BITS)]
}

/// A block to change: a new one if there is none, a copy if it is shared, and then the shared one beside it.
#[inline]
fn own<T, const N: usize>(
    place: &mut Option<Arc<Block<T, N>>>,
) -> (&mut Block<T, N>, Option<Arc<Block<T, N>>>) {
    let block = place.get_or_insert_with(|| Arc::new(Block([const { None }; N])));
    let mut old = None;
    // One that others have may become ours alone meanwhile, but not the other way round.
    if Arc::strong_count(block) > 1 {
        let copy = Arc::new(Block(block.0.clone()));
        old = Some(std::mem::replace(block, copy));
    }
    (Arc::get_mut(block).expect("nobody else has it"), old)
}

/// Puts a value in the place of another: into the same memory, unless another version has that too.
fn replace<T>(place: &mut Option<Arc<T>>, value: Option<T>) -> (Option<Arc<T>>, Option<T>) {
    match (place.as_mut().and_then(Arc::get_mut), value) {
        (Some(old), Some(new)) => (None, Some(std::mem::replace(old, new))),
        (_, new) => match std::mem::replace(place, new.map(Arc::new)).map(Arc::try_unwrap) {
            None => (None, None),
            Some(Ok(own)) => (None, Some(own)),
            Some(Err(shared)) => (Some(shared), None),
        },
    }
}

fn clear_if_empty<T, const N: usize>(place: &mut Option<Arc<Block<T, N>>>) -> bool {
    let empty = place.as_ref().is_some_and(|block| block.0.iter().all(Option::is_none));
    if empty {
        *place = None;
    }
    empty
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;

    const FAR: u32 = 1 << 20;

    #[test]
    fn a_clone_keeps_what_it_had() {
        let mut slots = Slots::new();
        for slot in [0, 1, 9, 200, 5000, FAR] {
            drop(slots.set(slot, Some(slot)));
        }
        let before = slots.clone();
        drop(slots.set(9, Some(90)));
        drop(slots.set(5000, None));
        let values = |slots: &Slots<u32>| slots.iter().map(|value| **value).collect::<Vec<_>>();
        assert!(before.numbered().all(|(slot, value)| slot == *value));
        assert_eq!(before.numbered().count(), 6);
        assert_eq!(values(&before), [0, 1, 9, 200, 5000, FAR]);
        assert_eq!(values(&slots), [0, 1, 90, 200, FAR]);
        assert_eq!(slots.get(5000), None);
        assert_eq!(before.get(5000).map(|value| **value), Some(5000));
    }

    #[test]
    fn empty_blocks_go() {
        let mut slots = Slots::new();
        drop(slots.set(3, Some(())));
        drop(slots.set(FAR, Some(())));
        drop(slots.set(FAR, None));
        assert_eq!(slots.tops.len(), 1);
        drop(slots.set(3, None));
        assert!(slots.tops.is_empty());
    }

    #[test]
    fn what_is_displaced_is_handed_out_and_not_dropped() {
        let mut slots = Slots::new();
        let (first, second) = (Arc::new(()), Arc::new(()));
        let counts = || (Arc::strong_count(&first), Arc::strong_count(&second));
        drop(slots.set(0, Some(first.clone())));
        let displaced = slots.set(0, Some(second.clone()));
        assert_eq!(counts(), (2, 2));
        drop(displaced);
        assert_eq!(counts(), (1, 2));
        let clone = slots.clone();
        let displaced = slots.set(0, None);
        drop(clone);
        assert_eq!(counts(), (1, 2));
        drop(displaced);
        assert_eq!(counts(), (1, 1));
    }
}
