//! Who waits for which name, in the order in which they came. Pure.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{ObjectKey, ResourceVersion};

/// Who waits for which names.
///
/// Whoever is told that a name is free keeps the place until it is free again: if another was faster, it is its turn before those that came
/// after it. Who does not come again by then has lost it.
pub(super) struct Lines<W> {
    limit: usize,
    lines: BTreeMap<ObjectKey, Line<W>>,
    /// In which lines each has a place.
    of: BTreeMap<W, BTreeSet<ObjectKey>>,
    places: usize,
    next: u64,
}

struct Line<W> {
    places: BTreeMap<W, Place>,
    /// The lock that was in the way was seen in this version.
    seen: Option<ResourceVersion>,
}

struct Place {
    number: u64,
    /// It has not been told since it came.
    waits: bool,
}

impl<W: Ord + Clone> Lines<W> {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, lines: BTreeMap::new(), of: BTreeMap::new(), places: 0, next: 0 }
    }

    /// Takes a place, or the one that it has. Whether there was one.
    pub(super) fn wait(&mut self, name: &ObjectKey, who: &W) -> bool {
        if let Some(place) = self.lines.get_mut(name).and_then(|line| line.places.get_mut(who)) {
            place.waits = true;
            return true;
        }
        if self.places >= self.limit {
            self.drop_told();
        }
        if self.places >= self.limit {
            return false;
        }
        let line =
            self.lines.entry(name.clone()).or_insert_with(|| Line { places: BTreeMap::new(), seen: None });
        line.places.insert(who.clone(), Place { number: self.next, waits: true });
        self.of.entry(who.clone()).or_default().insert(name.clone());
        self.next += 1;
        self.places += 1;
        true
    }

    /// Says in which version the lock was that is in the way.
    pub(super) fn saw(&mut self, name: &ObjectKey, version: Option<ResourceVersion>) {
        if let Some(line) = self.lines.get_mut(name) {
            line.seen = version;
        }
    }

    /// The name is free: who is to be told, the longest waiting first.
    pub(super) fn freed(&mut self, name: &ObjectKey) -> Vec<W> {
        let Some(line) = self.lines.get_mut(name) else { return Vec::new() };
        line.seen = None;
        let gone =
            line.places.extract_if(.., |_, place| !place.waits).map(|(who, _)| who).collect::<Vec<_>>();
        let mut told: Vec<_> = line.places.iter().map(|(who, place)| (place.number, who.clone())).collect();
        told.sort_unstable_by_key(|(number, _)| *number);
        for place in line.places.values_mut() {
            place.waits = false;
        }
        self.places -= gone.len();
        for who in gone {
            self.left(name, &who);
        }
        self.drop_if_empty(name);
        told.into_iter().map(|(_, who)| who).collect()
    }

    /// It has the name, or wants it no more.
    pub(super) fn leave(&mut self, name: &ObjectKey, who: &W) {
        let Some(line) = self.lines.get_mut(name) else { return };
        if line.places.remove(who).is_some() {
            self.places -= 1;
            self.left(name, who);
            self.drop_if_empty(name);
        }
    }

    /// It wants nothing any more.
    pub(super) fn forget(&mut self, who: &W) {
        for name in self.of.get(who).cloned().unwrap_or_default() {
            self.leave(&name, who);
        }
    }

    /// The names that somebody is still to be told of, each with the version in which its lock was seen.
    pub(super) fn waited_for(&self) -> impl Iterator<Item = (&ObjectKey, Option<&ResourceVersion>)> {
        let waited = |line: &Line<W>| line.places.values().any(|place| place.waits);
        self.lines.iter().filter(move |(_, line)| waited(line)).map(|(name, line)| (name, line.seen.as_ref()))
    }

    /// Everybody who has a place.
    pub(super) fn everybody(&self) -> impl Iterator<Item = &W> {
        self.of.keys()
    }

    pub(super) const fn len(&self) -> usize {
        self.places
    }

    /// Those who were told, and may come again or not, make room for others.
    fn drop_told(&mut self) {
        let told = self.lines.iter().flat_map(|(name, line)| {
            line.places.iter().filter(|(_, place)| !place.waits).map(|(who, _)| (name.clone(), who.clone()))
        });
        for (name, who) in told.collect::<Vec<_>>() {
            self.leave(&name, &who);
        }
    }

    fn left(&mut self, name: &ObjectKey, who: &W) {
        if let Some(names) = self.of.get_mut(who) {
            names.remove(name);
            if names.is_empty() {
                self.of.remove(who);
            }
        }
    }

    fn drop_if_empty(&mut self, name: &ObjectKey) {
        if self.lines.get(name).is_some_and(|line| line.places.is_empty()) {
            self.lines.remove(name);
        }
    }
}
