//! The items of an actuator: claims and attempts.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::Entry;
use super::{BrokenItem, FoundItem, ItemChange, ItemFailure, ItemState};

/// The state of all items. Pure: no clock, no lock, no port.
#[derive(Clone, Debug)]
pub(super) struct Ledger<K, I, E> {
    pub(super) entries: BTreeMap<K, Entry<I, E>>,
    limit: usize,
    clock: u64,
    unclaimed: usize,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim<I> {
    /// The item exists as desired.
    Existing,
    /// The item exists and is broken: a change repairs it.
    Repair,
    /// A change creates the item, after the deletion of another one if there is one.
    Create,
    /// The key has another desired item.
    Taken(I),
    /// The limit is reached.
    Full,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AttemptEnd {
    /// Whether another change is due, because the desired item has changed meanwhile.
    pub(super) is_due: bool,
    /// Whether the failure of the item has changed.
    pub(super) is_news: bool,
}

impl<K: Ord + Clone, I: Clone + PartialEq, E: Clone + PartialEq> Ledger<K, I, E> {
    pub(super) const fn new(limit: usize) -> Self {
        Self { entries: BTreeMap::new(), limit, clock: 0, unclaimed: 0 }
    }

    /// Returns the present time, for [`Entry::is_quiet_since`].
    pub(super) const fn now(&self) -> u64 {
        self.clock
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Takes the list of the first call: items that nobody desires yet are unclaimed. Returns the
    /// keys with a due change.
    pub(super) fn load(&mut self, listed: Vec<FoundItem<K, I, E>>) -> Vec<K> {
        for entry in self.entries.values_mut() {
            // The changes of an earlier run have ended, with an unknown result.
            (entry.is_in_flight, entry.found, entry.failure, entry.is_dirty) = (false, None, None, false);
        }
        let mut seen = BTreeSet::new();
        for FoundItem { key, item, error } in listed {
            let stamp = self.tick();
            let is_first = seen.insert(key.clone());
            let entry = self.entries.entry(key).or_insert_with(|| {
                let entry = Entry::new(None, None);
                Entry { is_unclaimed: true, ..entry }
            });
            entry.stamp = stamp;
            if is_first {
                entry.found = Some(item);
                entry.failure = error.map(ItemFailure::Failed);
            } else {
                entry.failure = Some(ItemFailure::Ambiguous);
            }
            entry.is_dirty = entry.failure.is_some();
        }
        self.sweep();
        self.due_keys()
    }

    /// Drops the entries that say nothing any more, and counts the unclaimed ones.
    pub(super) fn sweep(&mut self) {
        self.entries.retain(|_, entry| !entry.is_over());
        self.unclaimed = self.entries.values().filter(|entry| entry.is_unclaimed).count();
    }

    /// Returns the number of unclaimed items.
    pub(super) const fn unclaimed_count(&self) -> usize {
        self.unclaimed
    }

    /// Returns whether a key is desired as this item, and whether the item exists so: then a claim
    /// needs no change.
    pub(super) fn lookup(&self, key: &K, item: &I) -> (bool, bool) {
        let Some(entry) = self.entries.get(key) else { return (false, false) };
        let is_quiet = !entry.is_in_flight && !entry.is_dirty;
        (
            entry.desired.as_ref() == Some(item),
            is_quiet && entry.kept() == Some(item) && entry.found.as_ref() == Some(item),
        )
    }

    /// Returns the keys with a due change.
    pub(super) fn due_keys(&self) -> Vec<K> {
        self.entries.iter().filter(|(_, entry)| entry.is_due()).map(|(key, _)| key.clone()).collect()
    }

    /// Claims a key for an item.
    pub(super) fn claim(&mut self, key: &K, item: &I) -> Claim<I> {
        let stamp = self.tick();
        let Some(entry) = self.entries.get_mut(key) else {
            if self.entries.len() >= self.limit {
                return Claim::Full;
            }
            let entry = Entry { stamp, ..Entry::new(Some(item.clone()), None) };
            self.entries.insert(key.clone(), entry);
            return Claim::Create;
        };
        match &entry.desired {
            Some(other) if other != item => return Claim::Taken(other.clone()),
            _ => {}
        }
        let exists = entry.found.as_ref() == Some(item);
        self.unclaimed -= usize::from(entry.is_unclaimed);
        (entry.desired, entry.is_unclaimed, entry.is_orphan) = (Some(item.clone()), false, false);
        match (exists, entry.is_in_flight || entry.is_due()) {
            (_, false) => Claim::Existing,
            (true, true) => Claim::Repair,
            (false, true) => Claim::Create,
        }
    }

    /// Ends the claim of an item; another item of the key stays. Returns whether a change is due.
    pub(super) fn release(&mut self, key: &K, item: &I) -> bool {
        let stamp = self.tick();
        let Some(entry) = self.entries.get_mut(key) else { return false };
        match entry.kept() {
            Some(kept) if kept != item => return false,
            _ => {}
        }
        self.unclaimed -= usize::from(entry.is_unclaimed);
        (entry.desired, entry.is_unclaimed) = (None, false);
        entry.stamp = stamp;
        if entry.is_over() {
            self.entries.remove(key);
            return false;
        }
        true
    }

    /// Disowns unclaimed items; returns the keys of those that were unclaimed.
    pub(super) fn disown(&mut self, keys: Vec<K>) -> Vec<K> {
        let mut orphans = Vec::new();
        for key in keys {
            let Some(entry) = self.entries.get_mut(&key).filter(|entry| entry.is_unclaimed) else { continue };
            (entry.is_unclaimed, entry.is_orphan) = (false, true);
            self.unclaimed -= 1;
            orphans.push(key);
        }
        orphans
    }

    /// Returns whether the changes of a key are applied alone.
    pub(super) fn is_suspect(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.is_suspect)
    }

    /// Begins an attempt; `None` if no change is due.
    pub(super) fn begin(&mut self, key: &K) -> Option<ItemChange<K, I>> {
        let stamp = self.tick();
        let entry = self.entries.get_mut(key).filter(|entry| entry.is_due())?;
        (entry.is_in_flight, entry.stamp) = (true, stamp);
        Some(ItemChange { key: key.clone(), from: entry.found.clone(), to: entry.kept().cloned() })
    }

    /// Ends an attempt.
    pub(super) fn finish(
        &mut self,
        change: ItemChange<K, I>,
        result: Result<(), ItemFailure<E>>,
    ) -> AttemptEnd {
        let stamp = self.tick();
        let Some(entry) = self.entries.get_mut(&change.key) else { return AttemptEnd::default() };
        (entry.is_in_flight, entry.stamp) = (false, stamp);
        let before = entry.failure.clone();
        let failure = match result {
            Ok(()) => {
                (entry.found, entry.is_dirty, entry.is_suspect) = (change.to, false, false);
                // Until a comparison finds that it stays.
                before.clone().filter(|failure| matches!(failure, ItemFailure::Unstable { .. }))
            }
            Err(failure) => {
                (entry.found, entry.is_dirty) = (change.from.or(change.to), true);
                entry.is_suspect |=
                    matches!(failure, ItemFailure::TimedOut { .. } | ItemFailure::Panicked { .. });
                Some(failure)
            }
        };
        entry.failure = failure;
        let is_news = before != entry.failure;
        let is_due = entry.is_due();
        if entry.is_over() {
            self.entries.remove(&change.key);
        }
        AttemptEnd { is_due, is_news }
    }

    /// Ends an attempt without a result of its own: the port failed, or the batch hung.
    pub(super) fn interrupt(&mut self, change: ItemChange<K, I>, is_suspect: bool) {
        let stamp = self.tick();
        let Some(entry) = self.entries.get_mut(&change.key) else { return };
        (entry.is_in_flight, entry.is_dirty, entry.stamp) = (false, true, stamp);
        entry.found = change.from.or(change.to);
        entry.is_suspect |= is_suspect;
    }

    /// Returns the state of an item.
    pub(super) fn state(&self, key: &K) -> Option<ItemState<I, E>> {
        let entry = self.entries.get(key)?;
        Some(match (&entry.failure, entry.is_due() || entry.is_in_flight) {
            (Some(failure), _) => ItemState::Broken(failure.clone()),
            (None, true) => ItemState::Pending,
            (None, false) if entry.is_unclaimed => ItemState::Unclaimed(entry.found.clone()?),
            (None, false) => ItemState::Ready(entry.desired.clone()?),
        })
    }

    /// Returns the items that do not work, or cannot be deleted.
    pub(super) fn broken(&self) -> BTreeMap<K, BrokenItem<I, E>> {
        let broken = |(key, entry): (&K, &Entry<I, E>)| {
            let item = entry.kept().or(entry.found.as_ref())?.clone();
            let is_leaving = entry.kept().is_none();
            Some((key.clone(), BrokenItem { item, is_leaving, failure: entry.failure.clone()? }))
        };
        self.entries.iter().filter_map(broken).collect()
    }

    /// Returns the unclaimed items.
    pub(super) fn unclaimed(&self) -> Vec<(K, I)> {
        let unclaimed = self.entries.iter().filter(|(_, entry)| entry.is_unclaimed);
        unclaimed.filter_map(|(key, entry)| Some((key.clone(), entry.found.clone()?))).collect()
    }

    /// Returns the numbers of kept items, and of orphans not deleted yet.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count =
            |test: fn(&Entry<I, E>) -> bool| self.entries.values().filter(|entry| test(entry)).count();
        (count(|entry| entry.kept().is_some()), count(|entry| entry.is_orphan && entry.desired.is_none()))
    }
}
