//! The history of a source, and the revisions that observers have seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_objects::ObjectKey;

/// The state of the source after each write.
#[derive(Default)]
pub(super) struct KeyedSourceHistory(Vec<BTreeMap<ObjectKey, Arc<TestObject>>>);

/// The earliest revision of each object under each key that an observer may have seen; it never
/// decreases.
#[derive(Default)]
pub(super) struct ObservedRevisions(BTreeMap<(String, ObjectKey), usize>);

impl KeyedSourceHistory {
    /// Records the state after at most one write.
    pub(super) fn record(&mut self, fake: &FakeSource<TestObject>) {
        if self.now() < fake.revision() as usize || self.0.is_empty() {
            self.0.push(fake.state());
        }
    }

    /// Discards the states that were lost in a restore.
    pub(super) fn restored(&mut self, fake: &FakeSource<TestObject>) {
        self.0.truncate(fake.revision() as usize + 1);
    }

    pub(super) fn now(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Returns all possible names.
    pub(super) fn names() -> impl Iterator<Item = ObjectKey> {
        (0..6).map(|number| format!("default/o{number}").parse().expect("it is a name"))
    }

    /// Returns the first revision from `from` at which the object was in this state under the key.
    pub(super) fn since(
        &self,
        from: usize,
        key: &str,
        name: &ObjectKey,
        there: Option<&Arc<TestObject>>,
    ) -> Option<usize> {
        let was = |at: &usize| self.0[*at].get(name).filter(|thing| *thing.place == *key) == there;
        (from..self.0.len()).find(was)
    }
}

impl ObservedRevisions {
    /// Checks the objects under a complete key against the history since the key was acquired.
    pub(super) fn check_key(
        &mut self,
        history: &KeyedSourceHistory,
        held: usize,
        key: &str,
        there: impl Fn(&ObjectKey) -> Option<Arc<TestObject>>,
    ) -> Result<(), String> {
        for name in KeyedSourceHistory::names() {
            let seen = self.0.entry((key.to_owned(), name.clone())).or_default();
            let (from, there) = ((*seen).max(held), there(&name));
            *seen = history.since(from, key, &name, there.as_ref()).ok_or_else(|| {
                format!("{name} was never so under {key} since {from} of {}: {there:?}", history.now())
            })?;
        }
        Ok(())
    }
}
