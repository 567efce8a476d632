//! The history of a source, and the revision that a cache shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_objects::ObjectKey;

use super::walk::Setting;

pub(super) type TestObjects = BTreeMap<ObjectKey, Arc<TestObject>>;

/// The selected objects at a revision.
struct SourceRevision {
    revision: u64,
    /// Number of restores before.
    era: u64,
    readable: TestObjects,
    /// The objects that were unreadable.
    unreadable: BTreeSet<ObjectKey>,
}

pub(super) struct SourceHistory {
    setting: Setting,
    revisions: Vec<SourceRevision>,
    era: u64,
    /// The earliest revision that the cache may show, if versions are ordered.
    at: usize,
}

impl SourceHistory {
    pub(super) fn new(setting: Setting) -> Self {
        let nothing =
            SourceRevision { revision: 0, era: 0, readable: TestObjects::new(), unreadable: BTreeSet::new() };
        Self { setting, revisions: vec![nothing], era: 0, at: 0 }
    }

    fn selects(&self, thing: &TestObject) -> bool {
        (!self.setting.labels || thing.labels.get("app") == Some("0"))
            && (!self.setting.place || &*thing.place == "0")
    }

    /// Records the current state.
    pub(super) fn note(&mut self, fake: &FakeSource<TestObject>) {
        let mut readable = fake.state();
        readable.retain(|_, thing| self.selects(thing));
        let mut unreadable = fake.unreadable();
        unreadable.retain(|_, thing| self.selects(thing));
        let unreadable = unreadable.into_keys().collect();
        self.revisions.push(SourceRevision {
            revision: fake.revision(),
            era: self.era,
            readable,
            unreadable,
        });
    }

    pub(super) fn restored(&mut self, fake: &FakeSource<TestObject>) {
        self.era += 1;
        self.note(fake);
    }

    /// Finds the revision that a cache shows, which must not be before `reached`.
    pub(super) fn find(&mut self, cache: &TestObjects, reached: Option<u64>) {
        let from = if self.setting.can.versions_are_ordered { self.at } else { 0 };
        let shown = (from..self.revisions.len()).filter(|at| self.revisions[*at].is(cache));
        let shown: Vec<_> = shown.collect();
        let Some(first) = shown.first() else {
            let revisions: Vec<_> = self.revisions[from..].iter().map(SourceRevision::text_of).collect();
            panic!(
                "the cache was never the source: {}\nbut from then on\n{}",
                text_of(cache),
                revisions.join("\n")
            );
        };
        self.at = *first;
        if let Some(reached) = reached.filter(|_| self.era == 0 && self.setting.can.versions_are_ordered) {
            let reaches = shown.iter().any(|at| self.revisions[*at].revision >= reached);
            assert!(reaches, "the cache says that it shows {reached}, and does not: {}", text_of(cache));
        }
    }

    /// Returns whether the cache shows the current state.
    pub(super) fn is_now(&self, cache: &TestObjects) -> bool {
        self.revisions.last().unwrap().is(cache)
    }

    pub(super) fn now(&self) -> String {
        self.revisions.last().unwrap().text_of()
    }

    /// Returns the keys that are unreadable now.
    pub(super) fn unreadable_now(&self) -> &BTreeSet<ObjectKey> {
        &self.revisions.last().unwrap().unreadable
    }
}

impl SourceRevision {
    fn is(&self, cache: &TestObjects) -> bool {
        let known = |things: &TestObjects| {
            let known = things.iter().filter(|(key, _)| !self.unreadable.contains(*key));
            known.map(|(key, thing)| (key.clone(), thing.clone())).collect::<TestObjects>()
        };
        known(cache) == known(&self.readable)
    }

    fn text_of(&self) -> String {
        format!(
            "{}.{}: {} ({:?} unreadable)",
            self.era,
            self.revision,
            text_of(&self.readable),
            self.unreadable
        )
    }
}

pub(super) fn text_of(things: &TestObjects) -> String {
    let text_of = things.values().map(|thing| format!("{}@{:?}", thing.key, thing.version));
    text_of.collect::<Vec<_>>().join(" ")
}
