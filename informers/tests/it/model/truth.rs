//! All that the source ever had, and where in it a cache is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_informers::testing::{Plane, Thing};
use machinery_objects::ObjectKey;

use super::walk::Setting;

pub(super) type Things = BTreeMap<ObjectKey, Arc<Thing>>;

/// What was selected at one revision.
struct Moment {
    revision: u64,
    /// How often the source had been restored.
    era: u64,
    readable: Things,
    /// Of these it could not tell what they were.
    unreadable: BTreeSet<ObjectKey>,
}

pub(super) struct Truth {
    setting: Setting,
    moments: Vec<Moment>,
    era: u64,
    /// No moment before this can be the cache's any more, where versions are ordered.
    at: usize,
}

impl Truth {
    pub(super) fn new(setting: Setting) -> Self {
        let nothing = Moment { revision: 0, era: 0, readable: Things::new(), unreadable: BTreeSet::new() };
        Self { setting, moments: vec![nothing], era: 0, at: 0 }
    }

    fn selects(&self, thing: &Thing) -> bool {
        (!self.setting.labels || thing.labels.get("app") == Some("0"))
            && (!self.setting.place || &*thing.place == "0")
    }

    /// How it is now.
    pub(super) fn note(&mut self, plane: &Plane<Thing>) {
        let mut readable = plane.state();
        readable.retain(|_, thing| self.selects(thing));
        let mut unreadable = plane.unreadable();
        unreadable.retain(|_, thing| self.selects(thing));
        let unreadable = unreadable.into_keys().collect();
        self.moments.push(Moment { revision: plane.revision(), era: self.era, readable, unreadable });
    }

    pub(super) fn restored(&mut self, plane: &Plane<Thing>) {
        self.era += 1;
        self.note(plane);
    }

    /// Finds the moment that a cache shows, which knows to be as far as `reached`.
    pub(super) fn find(&mut self, cache: &Things, reached: Option<u64>) {
        let from = if self.setting.can.versions_are_ordered { self.at } else { 0 };
        let shown = (from..self.moments.len()).filter(|at| self.moments[*at].is(cache));
        let shown: Vec<_> = shown.collect();
        let Some(first) = shown.first() else {
            let moments: Vec<_> = self.moments[from..].iter().map(Moment::told).collect();
            panic!(
                "the cache was never the source: {}\nbut from then on\n{}",
                told(cache),
                moments.join("\n")
            );
        };
        self.at = *first;
        if let Some(reached) = reached.filter(|_| self.era == 0 && self.setting.can.versions_are_ordered) {
            let reaches = shown.iter().any(|at| self.moments[*at].revision >= reached);
            assert!(reaches, "the cache says that it shows {reached}, and does not: {}", told(cache));
        }
    }

    /// Whether it is all that is there now.
    pub(super) fn is_now(&self, cache: &Things) -> bool {
        self.moments.last().unwrap().is(cache)
    }

    pub(super) fn now(&self) -> String {
        self.moments.last().unwrap().told()
    }

    /// What cannot be read now.
    pub(super) fn unreadable_now(&self) -> &BTreeSet<ObjectKey> {
        &self.moments.last().unwrap().unreadable
    }
}

impl Moment {
    fn is(&self, cache: &Things) -> bool {
        let known = |things: &Things| {
            let known = things.iter().filter(|(key, _)| !self.unreadable.contains(*key));
            known.map(|(key, thing)| (key.clone(), thing.clone())).collect::<Things>()
        };
        known(cache) == known(&self.readable)
    }

    fn told(&self) -> String {
        format!("{}.{}: {} ({:?} unreadable)", self.era, self.revision, told(&self.readable), self.unreadable)
    }
}

pub(super) fn told(things: &Things) -> String {
    let told = things.values().map(|thing| format!("{}@{:?}", thing.key, thing.version));
    told.collect::<Vec<_>>().join(" ")
}
