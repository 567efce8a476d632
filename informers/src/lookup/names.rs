//! All names: a map that is read as of a moment, and says what each change changed.

use super::{Held, Lookup};
use machinery_objects::{ObjectKey, Revision};
use machinery_snapshot::{Index, Map, Snapshot, Writer};
use std::fmt;

/// Names and who holds them. Whoever changes it is told what changed, and owes the news to others.
pub(crate) struct Names<F, T> {
    map: Map<ObjectKey, Held<F, T>>,
    by_key: Index<F>,
}

/// What changed of a name under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed<F, T> {
    /// Under which key.
    pub(crate) key: F,
    /// Of which name.
    pub(crate) name: ObjectKey,
    /// What was there.
    pub(crate) before: Option<T>,
    /// What is there now.
    pub(crate) after: Option<T>,
}

/// Several changes that are seen as one. Dropped without a commit it has changed nothing.
#[must_use = "a change is nothing until it is committed"]
pub(crate) struct Change<'a, F, T> {
    names: &'a Names<F, T>,
    writer: Writer<'a, ObjectKey, Held<F, T>>,
    changed: Vec<Changed<F, T>>,
    /// Versions have begun anew, so nothing is older than anything else.
    anew: bool,
}

/// Who holds what, as of a moment. Read without any lock, and cloned as a pointer.
pub struct LookupSnapshot<F, T> {
    names: Snapshot<ObjectKey, Held<F, T>>,
    by_key: Index<F>,
}

impl<F, T> Names<F, T>
where
    F: Ord + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(crate) fn new(seed: u64) -> Self {
        let mut builder = Map::builder(seed);
        let by_key = builder.index(|_, held: &Held<F, T>| held.keys());
        Self { map: builder.build(), by_key }
    }

    /// Begins a change. Waits while there is another.
    pub(crate) fn change(&self) -> Change<'_, F, T> {
        Change { names: self, writer: self.map.write(), changed: Vec::new(), anew: false }
    }

    pub(crate) fn read(&self) -> LookupSnapshot<F, T> {
        LookupSnapshot { names: self.map.snapshot(), by_key: self.by_key }
    }

    pub(crate) fn held(&self, name: &ObjectKey) -> Option<Held<F, T>> {
        self.map.get(name)
    }

    /// Takes away all that is under a key.
    pub(crate) fn release(&self, key: &F) -> Vec<Changed<F, T>> {
        let mut change = self.change();
        // Nobody else writes now, so this is what there is.
        let read = self.read();
        for (name, _) in read.under(key) {
            change.remove(key, name, None);
        }
        change.commit()
    }
}

impl<F: Ord + Clone, T: Clone> Change<'_, F, T> {
    #[cfg(feature = "tokio")]
    /// What is there of a name under this key; or, if any will do, what the first has.
    pub(crate) fn under(&self, name: &ObjectKey, key: Option<&F>) -> Option<(&F, &T)> {
        self.writer.get(name)?.under(key)
    }

    #[cfg(feature = "tokio")]
    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.writer.len()
    }

    #[cfg(feature = "tokio")]
    /// How many have a name.
    pub(crate) fn holders(&self, name: &ObjectKey) -> usize {
        self.writer.get(name).map_or(0, |held| held.all().count())
    }

    /// Sets what is under a key of a name, in this version if versions are ordered.
    pub(crate) fn put(&mut self, key: &F, name: &ObjectKey, object: T, version: Option<Revision>) {
        let held = self.writer.get(name);
        let before = held.and_then(|held| held.of(key)).cloned();
        let after = Some(object.clone());
        let held = match held {
            None => Held::first(key.clone(), object, version),
            Some(held) => held.with(key.clone(), object, version),
        };
        self.writer.insert(name.clone(), held);
        self.changed.push(Changed { key: key.clone(), name: name.clone(), before, after });
    }

    /// Takes away what is under a key of a name: at this version, if versions are ordered and the source told of it.
    pub(crate) fn remove(&mut self, key: &F, name: &ObjectKey, version: Option<Revision>) {
        let Some(held) = self.writer.get(name) else { return };
        let Some(before) = held.of(key).cloned() else { return };
        match held.without(key, version) {
            None => self.writer.remove(name),
            Some(held) if self.anew => self.writer.insert(name.clone(), held.revealed()),
            Some(held) => self.writer.insert(name.clone(), held),
        };
        let name = name.clone();
        self.changed.push(Changed { key: key.clone(), name, before: Some(before), after: None });
    }

    /// Versions have begun anew, as in a server that was restored. No end that was heard before, or comes in this change, says
    /// anything of what others have. What was hidden is told as changed; returns how much that is. It comes first in a change.
    pub(crate) fn begins_anew(&mut self) -> usize {
        self.anew = true;
        let there = self.names.map.snapshot();
        for (name, held) in there.iter().filter(|(_, held)| held.hides()) {
            for (key, object) in held.hidden() {
                let (key, object) = (key.clone(), Some(object.clone()));
                let before = object.clone();
                self.changed.push(Changed { key, name: name.clone(), before, after: object });
            }
            self.writer.insert(name.clone(), held.revealed());
        }
        self.changed.len()
    }

    /// Makes the changes, for everybody at once. Returns them in order: tell of them now.
    #[must_use = "whoever waits for the end of an ambiguity waits for these to be told"]
    pub(crate) fn commit(self) -> Vec<Changed<F, T>> {
        self.writer.commit();
        self.changed
    }
}

impl<F, T> LookupSnapshot<F, T>
where
    F: Ord + Clone + 'static,
    T: Clone,
{
    /// Who has an object of this name.
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.get(name).map_or(Lookup::Absent, Held::lookup)
    }

    /// As [`LookupSnapshot::lookup`], but where several have one the latest version decides, if versions are ordered.
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.get(name).map_or(Lookup::Absent, Held::newest)
    }

    /// All that is under a key, also what is out of date by what another key has told. Costs what it finds.
    pub fn under<'a>(&'a self, key: &'a F) -> impl Iterator<Item = (&'a ObjectKey, &'a T)> {
        let names = self.names.by(&self.by_key, key);
        names.filter_map(move |(name, held)| Some((name, held.of(key)?)))
    }

    /// How many names are under a key.
    pub fn count(&self, key: &F) -> usize {
        self.names.count(&self.by_key, key)
    }

    /// How many names somebody has.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether nobody has anything.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All that anybody has, in no order: under which key, of which name, and the object.
    pub fn iter(&self) -> impl Iterator<Item = (&F, &ObjectKey, &T)> {
        self.names.iter().flat_map(|(name, held)| held.all().map(move |(key, object)| (key, name, object)))
    }

    /// Every name, in no order.
    pub fn names(&self) -> impl Iterator<Item = &ObjectKey> {
        self.names.iter().map(|(name, _)| name)
    }
}

impl<F, T> Clone for LookupSnapshot<F, T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), by_key: self.by_key }
    }
}

impl<F, T> fmt::Debug for LookupSnapshot<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupSnapshot").field("len", &self.names.len()).finish_non_exhaustive()
    }
}

impl<F, T> fmt::Debug for Names<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("len", &self.map.len()).finish_non_exhaustive()
    }
}
