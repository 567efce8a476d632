//! The storage of entries: a tree of fixed depth, by slot number, shared between versions.
//!
//! Its leaves are small. A change of a shared version copies one block per level, and copying a
//! block costs not its bytes but the reference counts of its children, each of which may be a cache
//! miss. Higher blocks are fewer, and their counts are more likely in the cache: so blocks grow
//! towards the top.

use std::sync::Arc;

pub(crate) struct Leaf<T>([Option<T>; LEAF]);

struct Block<T, const N: usize>([Option<Arc<T>>; N]);

type Low<T> = Block<Leaf<T>, LOW>;
type Top<T> = Block<Low<T>, TOP>;

const LEAF: usize = 1 << LEAF_BITS;
const LEAF_BITS: u32 = 2;
const LOW: usize = 1 << LOW_BITS;
const LOW_BITS: u32 = 4;
const TOP: usize = 1 << TOP_BITS;
const TOP_BITS: u32 = 5;

pub(crate) struct Slots<T> {
    tops: Vec<Option<Arc<Top<T>>>>,
}

/// Blocks and values displaced by a change. The caller drops them where a user's drop may run.
#[expect(dead_code, reason = "the blocks are there to be dropped")]
pub(crate) struct Displaced<T> {
    top: Option<Arc<Top<T>>>,
    low: Option<Arc<Low<T>>>,
    leaf: Option<Arc<Leaf<T>>>,
    pub(crate) value: Option<T>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { tops: Vec::new() }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        let [top, low, leaf, at] = path(slot);
        let lows = self.tops.get(top)?.as_ref()?;
        let leaves = lows.0[low].as_ref()?;
        leaves.0[leaf].as_ref()?.0[at].as_ref()
    }

    /// Returns the values in slot order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        let lows = self.tops.iter().flatten().flat_map(|top| top.0.iter().flatten());
        lows.flat_map(|low| low.0.iter().flatten()).flat_map(|leaf| leaf.0.iter().flatten())
    }

    /// Returns the values with their slots.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        let tops = (0_u32..).step_by(LEAF << (LOW_BITS + TOP_BITS)).zip(&self.tops);
        let lows = tops.flat_map(|(first, top)| blocks(first, LEAF << LOW_BITS, top));
        let leaves = lows.flat_map(|(first, low)| blocks(first, LEAF, low));
        let values =
            leaves.flat_map(|(first, leaf)| leaf.iter().flat_map(move |leaf| (first..).zip(&leaf.0)));
        values.filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }
}

impl<T: Clone> Slots<T> {
    /// Returns a copy of the leaf that a change of a slot will need, if it is shared: for a change
    /// made where no user clone may run.
    pub(crate) fn spare(&self, slot: u32) -> Option<Arc<Leaf<T>>> {
        let [top, low, leaf, _] = path(slot);
        let top = self.tops.get(top)?.as_ref()?;
        let low = top.0[low].as_ref()?;
        let leaf = low.0[leaf].as_ref()?;
        let shared = is_shared(top) || is_shared(low) || is_shared(leaf);
        shared.then(|| Arc::new(Leaf(leaf.0.clone())))
    }

    /// Sets or clears a slot. Returns the displaced value and blocks instead of dropping them.
    /// Clones no user value if `spare` is the leaf from [`Slots::spare`].
    pub(crate) fn set(&mut self, slot: u32, value: Option<T>, spare: Option<Arc<Leaf<T>>>) -> Displaced<T> {
        let [top, low, leaf, at] = path(slot);
        if self.tops.len() <= top {
            self.tops.resize_with(top + 1, || None);
        }
        let (lows, old_top) = make_unique(&mut self.tops[top], Block::copy);
        let (leaves, old_low) = make_unique(&mut lows.0[low], Block::copy);
        let copy = |leaf: Option<&Leaf<T>>| spare.unwrap_or_else(|| Leaf::copy(leaf));
        let (values, old_leaf) = make_unique(&mut leaves.0[leaf], copy);
        let old = std::mem::replace(&mut values.0[at], value);
        if values.0[at].is_none() {
            self.prune(slot);
        }
        Displaced { top: old_top, low: old_low, leaf: old_leaf, value: old }
    }

    /// Removes empty blocks. Their path is not shared at this point.
    fn prune(&mut self, slot: u32) {
        let [top, low, leaf, _] = path(slot);
        let Some(lows) = self.tops[top].as_mut().and_then(Arc::get_mut) else { return };
        let Some(leaves) = lows.0[low].as_mut().and_then(Arc::get_mut) else { return };
        if clear_if(&mut leaves.0[leaf], |leaf| leaf.0.iter().all(Option::is_none))
            && clear_if(&mut lows.0[low], Block::is_empty)
            && clear_if(&mut self.tops[top], Block::is_empty)
        {
            let used = self.tops.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            self.tops.truncate(used);
        }
    }
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self { tops: self.tops.clone() }
    }
}

impl<T: Clone> Leaf<T> {
    fn copy(leaf: Option<&Self>) -> Arc<Self> {
        Arc::new(Self(leaf.map_or_else(|| [const { None }; LEAF], |leaf| leaf.0.clone())))
    }
}

impl<T, const N: usize> Block<T, N> {
    fn copy(block: Option<&Self>) -> Arc<Self> {
        Arc::new(Self(block.map_or_else(|| [const { None }; N], |block| block.0.clone())))
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

/// Returns the indexes of a slot in its blocks, from the top.
#[inline]
fn path(slot: u32) -> [usize; 4] {
    let slot = slot as usize;
    let leaf = slot >> LEAF_BITS;
    [leaf >> (LOW_BITS + TOP_BITS), (leaf >> LOW_BITS) % TOP, leaf % LOW, slot % LEAF]
}

/// Returns the children of a block, with the first slot of each.
fn blocks<T, const N: usize>(
    first: u32,
    step: usize,
    block: &Option<Arc<Block<T, N>>>,
) -> impl Iterator<Item = (u32, &Option<Arc<T>>)> {
    block.iter().flat_map(move |block| (first..).step_by(step).zip(&block.0))
}

fn is_shared<B>(block: &Arc<B>) -> bool {
    Arc::strong_count(block) > 1
}

/// Returns a block to change: a new one if absent, a copy if it is shared, and then also the shared
/// one.
#[inline]
fn make_unique<B>(
    place: &mut Option<Arc<B>>,
    copy: impl FnOnce(Option<&B>) -> Arc<B>,
) -> (&mut B, Option<Arc<B>>) {
    let mut old = None;
    // A shared block may become unique meanwhile, but not the other way round.
    if place.as_ref().is_none_or(is_shared) {
        let copy = copy(place.as_deref());
        old = place.replace(copy);
    }
    (place.as_mut().and_then(Arc::get_mut).expect("nobody else has it"), old)
}

fn clear_if<B>(place: &mut Option<Arc<B>>, is_empty: impl FnOnce(&B) -> bool) -> bool {
    let empty = place.as_deref().is_some_and(is_empty);
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
    fn a_clone_keeps_its_values() {
        let mut slots = Slots::new();
        for slot in [0, 1, 9, 200, 5000, FAR] {
            drop(slots.set(slot, Some(slot), None));
        }
        let before = slots.clone();
        drop(slots.set(9, Some(90), None));
        drop(slots.set(5000, None, None));
        let values = |slots: &Slots<u32>| slots.iter().copied().collect::<Vec<_>>();
        assert_eq!(values(&before), [0, 1, 9, 200, 5000, FAR]);
        assert_eq!(values(&slots), [0, 1, 90, 200, FAR]);
        assert_eq!((slots.get(5000), before.get(5000)), (None, Some(&5000)));
        assert!(before.numbered().all(|(slot, value)| slot == *value));
        assert_eq!(before.numbered().count(), 6);
    }

    #[test]
    fn empty_blocks_are_removed() {
        let mut slots = Slots::new();
        drop(slots.set(3, Some(()), None));
        drop(slots.set(FAR, Some(()), None));
        drop(slots.set(FAR, None, None));
        assert_eq!(slots.tops.len(), 1);
        drop(slots.set(3, None, None));
        assert!(slots.tops.is_empty());
    }

    #[test]
    fn a_spare_leaf_is_made_where_it_is_needed() {
        let mut slots = Slots::new();
        drop(slots.set(0, Some(0), None));
        drop(slots.set(1, Some(1), None));
        assert!(slots.spare(0).is_none() && slots.spare(FAR).is_none());
        let clone = slots.clone();
        let spare = slots.spare(0);
        assert!(spare.is_some());
        drop(slots.set(0, Some(9), spare));
        assert!(slots.spare(0).is_none() && slots.spare(1).is_none());
        assert_eq!((slots.get(0), slots.get(1)), (Some(&9), Some(&1)));
        assert_eq!((clone.get(0), clone.get(1)), (Some(&0), Some(&1)));
    }

    #[test]
    fn displaced_values_are_returned_and_not_dropped() {
        let mut slots = Slots::new();
        let (first, second) = (Arc::new(()), Arc::new(()));
        let counts = || (Arc::strong_count(&first), Arc::strong_count(&second));
        drop(slots.set(0, Some(first.clone()), None));
        let displaced = slots.set(0, Some(second.clone()), None);
        assert_eq!(counts(), (2, 2));
        drop(displaced);
        assert_eq!(counts(), (1, 2));
        let clone = slots.clone();
        let displaced = slots.set(0, None, None);
        drop(clone);
        assert_eq!(counts(), (1, 3));
        drop(displaced);
        assert_eq!(counts(), (1, 1));
    }
}
