//! Changes of an index by a change of an entry. The user's functions are called for every index
//! before any index changes.

use super::members::Members;
use super::{Column, Values, values_mut};
use crate::slots::Slots;
use crate::tree::TreePath;
use crate::version::Entry;

/// The function of an index, with the types of the function and of its values erased.
pub(crate) trait IndexFunction<K, V>: Send + Sync {
    /// Returns the index of no entries.
    fn empty(&self) -> Box<dyn Column>;
    /// Builds the index of these entries.
    fn load(&self, slots: &Slots<Entry<K, V>>) -> Box<dyn Column>;
    /// Returns the change of the index when one entry replaces another. `None`: unchanged.
    fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> Option<Box<dyn IndexChange>>;
}

/// The change of one index by one entry.
pub(crate) trait IndexChange: Send {
    /// Prepares the index for this change in place. Panics of the user's comparisons and clones
    /// happen here, before any change.
    fn prepare(&mut self, column: &mut dyn Column) -> Risk;
    /// Makes the change. A panic of user code may leave half of it, unless it was prepared and the
    /// risk was not high.
    fn apply(self: Box<Self>, column: &mut dyn Column, slot: u32);
}

/// The effect that a panic of user code can have on a prepared change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Risk {
    /// None: entries move between existing values that remain.
    None,
    /// One value is added or removed: completely or not at all.
    AllOrNothing,
    /// More than that: the change must be made to a copy.
    High,
}

/// A function that returns any number of values of an entry.
pub(crate) struct FunctionIndex<F>(pub(crate) F);

impl<K, V, I, R, F> IndexFunction<K, V> for FunctionIndex<F>
where
    I: Ord + Clone + Send + Sync + 'static,
    R: IntoIterator<Item = I>,
    F: Fn(&K, &V) -> R + Send + Sync,
{
    fn empty(&self) -> Box<dyn Column> {
        Box::new(Values::<I>::new())
    }

    fn load(&self, slots: &Slots<Entry<K, V>>) -> Box<dyn Column> {
        let found = |(slot, entry): (u32, &Entry<K, V>)| {
            (self.0)(&entry.key, &entry.value).into_iter().map(move |value| (value, slot))
        };
        collected(slots.numbered().flat_map(found).collect())
    }

    fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> Option<Box<dyn IndexChange>> {
        let of = |entry: &Entry<K, V>| (self.0)(&entry.key, &entry.value);
        if let (Some(old), Some(new)) = (old, new)
            && of(old).into_iter().eq(of(new))
        {
            return None;
        }
        let sorted = |entry: Option<&Entry<K, V>>| {
            let mut values: Vec<I> = entry.map(of).into_iter().flatten().collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        difference(sorted(old), sorted(new))
    }
}

/// Returns the index of these values and slots.
pub(super) fn collected<I>(mut pairs: Vec<(I, u32)>) -> Box<dyn Column>
where
    I: Ord + Clone + Send + Sync + 'static,
{
    pairs.sort();
    pairs.dedup();
    let mut pairs = pairs.into_iter().peekable();
    let mut values: Vec<(I, Members)> = Vec::new();
    while let Some((value, slot)) = pairs.next() {
        let mut slots = vec![slot];
        while let Some((_, slot)) = pairs.next_if(|(next, _)| *next == value) {
            slots.push(slot);
        }
        values.push((value, Members::of(&slots)));
    }
    Box::new(values.into_iter().collect::<Values<I>>())
}

/// Returns the change from one list of values to another.
pub(super) fn difference<I>(mut old: Vec<I>, mut new: Vec<I>) -> Option<Box<dyn IndexChange>>
where
    I: Ord + Clone + Send + Sync + 'static,
{
    if !old.is_empty() && !new.is_empty() {
        let before = old.clone();
        old.retain(|value| new.binary_search(value).is_err());
        new.retain(|value| before.binary_search(value).is_err());
    }
    if old.is_empty() && new.is_empty() {
        return None;
    }
    Some(Box::new(ValueMoves { removed: old, added: new, paths: Vec::new() }))
}

struct ValueMoves<I> {
    removed: Vec<I>,
    added: Vec<I>,
    /// The paths of the values, removed ones first, if it is prepared without risk.
    paths: Vec<TreePath>,
}

impl<I: Ord + Clone + Send + Sync + 'static> IndexChange for ValueMoves<I> {
    fn prepare(&mut self, column: &mut dyn Column) -> Risk {
        let values = values_mut::<I>(column);
        let mut path_to = |value, least| {
            values.locate(value).and_then(|(members, path)| (members.len() >= least).then_some(path))
        };
        // A value is removed with its last entry.
        let mut paths: Vec<Option<TreePath>> = self.removed.iter().map(|value| path_to(value, 2)).collect();
        paths.extend(self.added.iter().map(|value| path_to(value, 1)));
        // The tree adds or removes one value completely or not at all.
        if paths.len() == 1 && paths[0].is_none() {
            return Risk::AllOrNothing;
        }
        self.paths = paths.into_iter().flatten().collect();
        if self.paths.len() == self.removed.len() + self.added.len() { Risk::None } else { Risk::High }
    }

    fn apply(self: Box<Self>, column: &mut dyn Column, slot: u32) {
        let values = values_mut::<I>(column);
        let Self { removed, added, paths } = *self;
        if paths.len() == removed.len() + added.len() {
            for (at, path) in paths.iter().enumerate() {
                match values.at(path) {
                    Some(members) if at < removed.len() => members.remove(slot),
                    Some(members) => members.insert(slot),
                    None => {}
                }
            }
            return;
        }
        for value in &removed {
            match values.get_mut(value) {
                Some(members) if members.len() > 1 => members.remove(slot),
                Some(_) => drop(values.remove(value)),
                None => {}
            }
        }
        for value in added {
            match values.get_mut(&value) {
                Some(members) => members.insert(slot),
                None => drop(values.insert(value, Members::One(slot))),
            }
        }
    }
}
