//! An order of commits that explains a history, with the contents at each revision.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::Revision;

use crate::{Change, Condition, Entry, Event, Key, Operation, Range, Transaction};

/// The contents of a store.
pub(super) type StoreContents = BTreeMap<Key, Arc<Entry>>;

/// An order of commits: the contents and the events of each revision.
#[derive(Clone, Debug)]
pub struct Linearization {
    pub(super) first: Revision,
    pub(super) moments: Vec<RevisionState>,
}

/// A revision.
#[derive(Clone, Debug)]
pub(super) struct RevisionState {
    pub(super) held: Arc<StoreContents>,
    pub(super) events: Arc<Vec<Event>>,
    /// The time of the commit's call.
    pub(super) called: u64,
}

impl Linearization {
    pub(super) fn new(first: Revision) -> Self {
        let begin = RevisionState { held: Arc::default(), events: Arc::default(), called: 0 };
        Self { first, moments: vec![begin] }
    }

    /// Returns the newest revision.
    #[must_use]
    pub fn last(&self) -> Revision {
        Revision(self.first.0 + self.moments.len() as u64 - 1)
    }

    pub(super) fn moment(&self, revision: Revision) -> Option<&RevisionState> {
        self.moments.get(revision.0.checked_sub(self.first.0)? as usize)
    }

    /// Returns the revisions after `after`, each with its state.
    pub(super) fn behind(&self, after: Revision) -> impl Iterator<Item = (Revision, &RevisionState)> {
        let from = after.0.saturating_sub(self.first.0) as usize + 1;
        let numbered = self.moments.iter().enumerate().skip(from);
        numbered.map(|(place, moment)| (Revision(self.first.0 + place as u64), moment))
    }

    /// Returns whether `condition` holds at the newest revision; `None` if that depends on a
    /// compaction, which may have reached `compacted`.
    pub(super) fn holds(&self, condition: &Condition, compacted: Option<Revision>) -> Option<bool> {
        let now = &self.moments[self.moments.len() - 1].held;
        let entry = now.get(condition.key());
        match condition {
            Condition::Absent(_) => Some(entry.is_none()),
            Condition::At(_, revision) => Some(entry.is_some_and(|entry| entry.modified == *revision)),
            Condition::Unchanged(_, since) if *since > self.last() => Some(false),
            Condition::Unchanged(key, since) => match entry {
                Some(entry) => Some(entry.modified <= *since),
                None if compacted.is_some_and(|compacted| *since < compacted) => None,
                None => Some(self.moment(*since).is_some_and(|then| !then.held.contains_key(key))),
            },
        }
    }

    /// Returns the revision that `transaction` would make next, and the previous entry of each
    /// operation.
    pub(super) fn apply(
        &self,
        transaction: &Transaction,
        called: u64,
    ) -> (RevisionState, Vec<Option<Arc<Entry>>>) {
        let revision = self.last().next();
        let mut held = (*self.moments[self.moments.len() - 1].held).clone();
        let (mut events, mut befores) = (Vec::new(), Vec::new());
        for operation in &transaction.operations {
            let before = match operation {
                Operation::Put(key, value) => {
                    let created = held.get(key).map_or(revision, |old| old.created);
                    let (name, value) = (Arc::clone(key), Arc::clone(value));
                    let entry = Arc::new(Entry { key: name, value, created, modified: revision });
                    let before = held.insert(Arc::clone(key), Arc::clone(&entry));
                    events.push(Event { before: before.clone(), change: Change::Put(entry) });
                    before
                }
                Operation::Delete(key) => {
                    let before = held.remove(key);
                    if before.is_some() {
                        events
                            .push(Event { before: before.clone(), change: Change::Deleted(Arc::clone(key)) });
                    }
                    before
                }
            };
            befores.push(before);
        }
        (RevisionState { held: Arc::new(held), events: Arc::new(events), called }, befores)
    }
}

/// Returns the entries of a page of `range`, and the number of entries after it.
pub(super) fn page_of(held: &StoreContents, range: &Range) -> (Vec<Arc<Entry>>, usize) {
    let behind = |key: &Key| range.after.as_ref().is_none_or(|after| key > after);
    let all = held.iter().filter(|(key, _)| range.span.contains(key) && behind(key));
    let mut entries: Vec<Arc<Entry>> = all.map(|(_, entry)| Arc::clone(entry)).collect();
    let limit = range.limit.map_or(entries.len(), |limit| limit.get().min(entries.len()));
    let rest = entries.split_off(limit).len();
    (entries, rest)
}
