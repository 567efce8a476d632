//! What the source has had, and what of it somebody has seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_objects::ObjectKey;

/// Each state that there has been, by how many writes there were before.
#[derive(Default)]
pub(super) struct KeyedSourceHistory(Vec<BTreeMap<ObjectKey, Arc<TestObject>>>);

/// Since when each object is, under each key, as somebody has seen it there. Nobody sees it go back.
#[derive(Default)]
pub(super) struct ObservedRevisions(BTreeMap<(String, ObjectKey), usize>);

impl KeyedSourceHistory {
    /// At most one write has come to it.
    pub(super) fn record(&mut self, fake: &FakeSource<TestObject>) {
        if self.now() < fake.revision() as usize || self.0.is_empty() {
            self.0.push(fake.state());
        }
    }

    /// What was written after that never was.
    pub(super) fn restored(&mut self, fake: &FakeSource<TestObject>) {
        self.0.truncate(fake.revision() as usize + 1);
    }

    pub(super) fn now(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Every name that there may be.
    pub(super) fn names() -> impl Iterator<Item = ObjectKey> {
        (0..6).map(|number| format!("default/o{number}").parse().expect("it is a name"))
    }

    /// The first time from this on that it was so under a key.
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
    /// What is shown under a key of which all has come, since the key was held first.
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
