//! Comparison of a port's list with the items of an actuator.

use std::collections::BTreeMap;

use super::entry::Entry;
use super::ledger::Ledger;
use super::{FoundItem, ItemFailure};

/// The differences that a comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison<K> {
    /// Keys with a due change, and the number of repairs in a row.
    pub(super) due: Vec<(K, u32)>,
    /// Missing, changed and undesired items.
    pub(super) missing: usize,
    pub(super) changed: usize,
    pub(super) undesired: usize,
    /// Whether the failure of an item has changed.
    pub(super) is_news: bool,
}

/// Number of repairs in a row from which an item is reported.
pub(super) const UNSTABLE: u32 = 3;

impl<K: Ord + Clone, I: Clone + PartialEq, E: Clone + PartialEq> Ledger<K, I, E> {
    /// Compares a list that was requested at a time with the items to be kept.
    pub(super) fn compare(&mut self, listed: Vec<FoundItem<K, I, E>>, since: u64) -> Comparison<K> {
        let mut result = Comparison { due: Vec::new(), missing: 0, changed: 0, undesired: 0, is_news: false };
        let mut by_key = BTreeMap::new();
        for FoundItem { key, item, error } in listed {
            let failure = error.map(ItemFailure::Failed);
            by_key
                .entry(key)
                .and_modify(|(_, failure)| *failure = Some(ItemFailure::Ambiguous))
                .or_insert((item, failure));
        }
        for (key, entry) in &mut self.entries {
            let found = by_key.remove(key);
            if entry.is_quiet_since(since) {
                let before = entry.failure.clone();
                result.entry(key, entry, found);
                result.is_news |= before != entry.failure;
            }
        }
        self.sweep();
        // Without a desired item: the remains of a change with an unknown result, or made by others.
        for (key, (item, _)) in by_key {
            let entry = Entry { stamp: since, ..Entry::new(None, Some(item)) };
            self.entries.insert(key.clone(), entry);
            result.undesired += 1;
            result.due.push((key, 0));
        }
        result
    }

    /// Takes the result of a repair by the port that was requested at a time. Returns the items
    /// that broke, and whether a failure has changed.
    pub(super) fn repaired(&mut self, mut broken: BTreeMap<K, E>, since: u64) -> (Vec<K>, bool) {
        let (mut due, mut is_news) = (Vec::new(), false);
        for (key, entry) in &mut self.entries {
            let failure = broken.remove(key).map(ItemFailure::Failed);
            if !entry.is_quiet_since(since) || entry.kept().is_none() {
                continue;
            }
            let is_known = entry.failure.is_some();
            // A change that has not been tried is none of the port's.
            if !is_known && entry.is_due() {
                continue;
            }
            if failure.is_some() && !is_known {
                due.push(key.clone());
            }
            if failure.is_none() && is_known {
                entry.found = entry.kept().cloned();
            }
            entry.is_dirty = failure.is_some();
            is_news |= entry.failure != failure;
            entry.failure = failure;
        }
        (due, is_news)
    }
}

impl<K: Clone> Comparison<K> {
    fn entry<I: Clone + PartialEq, E: Clone + PartialEq>(
        &mut self,
        key: &K,
        entry: &mut Entry<I, E>,
        found: Option<(I, Option<ItemFailure<E>>)>,
    ) {
        let was_due = entry.is_due();
        let (item, failure) = found.map_or((None, None), |(item, failure)| (Some(item), failure));
        if entry.is_unclaimed {
            (entry.is_dirty, entry.found, entry.failure) = (failure.is_some(), item, failure);
            entry.is_unclaimed = entry.found.is_some();
        } else if entry.desired == item && failure.is_none() {
            (entry.found, entry.is_dirty, entry.failure, entry.repairs) = (item, false, None, 0);
            return;
        } else if was_due {
            // Its next attempt follows by itself.
            entry.found = item.or_else(|| entry.found.take());
            return;
        } else {
            *if item.is_none() { &mut self.missing } else { &mut self.changed } += 1;
            entry.repairs += 1;
            (entry.found, entry.is_dirty) = (item, true);
            entry.failure = match failure {
                None if entry.repairs >= UNSTABLE => Some(ItemFailure::Unstable { repairs: entry.repairs }),
                failure => failure,
            };
        }
        if entry.is_due() && !was_due {
            self.due.push((key.clone(), entry.repairs));
        }
    }
}
