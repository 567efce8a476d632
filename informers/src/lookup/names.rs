//! All names: a map that is read as of a moment, and says what each change changed.

use super::{Lookup, NameHolders};
use machinery_objects::{ObjectKey, Revision};
use machinery_snapshot::{Index, Map, Snapshot, Writer};
use std::fmt;

/// Names and who holds them. Whoever changes it is told what changed, and owes the news to others.
pub(crate) struct NameTable<F, T> {
    map: Map<ObjectKey, NameHolders<F, T>>,
    by_key: Index<F>,
}

/// What changed of a name under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameChange<F, T> {
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
pub(crate) struct NamesTransaction<'a, F, T> {
    names: &'a NameTable<F, T>,
    writer: Writer<'a, ObjectKey, NameHolders<F, T>>,
    changed: Vec<NameChange<F, T>>,
    /// Versions have begun anew, so nothing is older than anything else.
    restarted: bool,
}

/// Who holds what, as of a moment. Read without any lock, and cloned as a pointer.
pub struct LookupSnapshot<F, T> {
    names: Snapshot<ObjectKey, NameHolders<F, T>>,
    by_key: Index<F>,
}

impl<F, T> NameTable<F, T>
where
    F: Ord + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(crate) fn new(seed: u64) -> Self {
        let mut builder = Map::builder(seed);
        let by_key = builder.index(|_, holders: &NameHolders<F, T>| holders.keys());
        Self { map: builder.build(), by_key }
    }

    /// Begins a change. Waits while there is another.
    pub(crate) fn change(&self) -> NamesTransaction<'_, F, T> {
        NamesTransaction { names: self, writer: self.map.write(), changed: Vec::new(), restarted: false }
    }

    pub(crate) fn read(&self) -> LookupSnapshot<F, T> {
        LookupSnapshot { names: self.map.snapshot(), by_key: self.by_key }
    }

    pub(crate) fn holders(&self, name: &ObjectKey) -> Option<NameHolders<F, T>> {
        self.map.get(name)
    }

    /// Takes away all that is under a key.
    pub(crate) fn release(&self, key: &F) -> Vec<NameChange<F, T>> {
        let mut change = self.change();
        // Nobody else writes now, so this is what there is.
        let read = self.read();
        for (name, _) in read.under(key) {
            change.remove(key, name, None);
        }
        change.commit()
    }
}

impl<F: Ord + Clone, T: Clone> NamesTransaction<'_, F, T> {
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
    pub(crate) fn holder_count(&self, name: &ObjectKey) -> usize {
        self.writer.get(name).map_or(0, |holders| holders.all().count())
    }

    /// Sets what is under a key of a name, in this version if versions are ordered.
    pub(crate) fn put(&mut self, key: &F, name: &ObjectKey, object: T, version: Option<Revision>) {
        let holders = self.writer.get(name);
        let before = holders.and_then(|holders| holders.of(key)).cloned();
        let after = Some(object.clone());
        let holders = match holders {
            None => NameHolders::first(key.clone(), object, version),
            Some(holders) => holders.with(key.clone(), object, version),
        };
        self.writer.insert(name.clone(), holders);
        self.changed.push(NameChange { key: key.clone(), name: name.clone(), before, after });
    }

    /// Takes away what is under a key of a name: at this version, if versions are ordered and the source told of it.
    pub(crate) fn remove(&mut self, key: &F, name: &ObjectKey, version: Option<Revision>) {
        let Some(holders) = self.writer.get(name) else { return };
        let Some(before) = holders.of(key).cloned() else { return };
        match holders.without(key, version) {
            None => self.writer.remove(name),
            Some(holders) if self.restarted => self.writer.insert(name.clone(), holders.without_superseded()),
            Some(holders) => self.writer.insert(name.clone(), holders),
        };
        let name = name.clone();
        self.changed.push(NameChange { key: key.clone(), name, before: Some(before), after: None });
    }

    /// Versions have begun anew, as in a server that was restored. No end that was heard before, or comes in this change, says
    /// anything of what others have. What was hidden is told as changed; returns how much that is. It comes first in a change.
    pub(crate) fn versions_restarted(&mut self) -> usize {
        self.restarted = true;
        let there = self.names.map.snapshot();
        for (name, holders) in there.iter().filter(|(_, holders)| holders.has_superseded()) {
            for (key, object) in holders.superseded() {
                let (key, object) = (key.clone(), Some(object.clone()));
                let before = object.clone();
                self.changed.push(NameChange { key, name: name.clone(), before, after: object });
            }
            self.writer.insert(name.clone(), holders.without_superseded());
        }
        self.changed.len()
    }

    /// Makes the changes, for everybody at once. Returns them in order: tell of them now.
    #[must_use = "whoever waits for the end of an ambiguity waits for these to be told"]
    pub(crate) fn commit(self) -> Vec<NameChange<F, T>> {
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
        self.names.get(name).map_or(Lookup::Absent, NameHolders::lookup)
    }

    /// As [`LookupSnapshot::lookup`], but where several have one the latest version decides, if versions are ordered.
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.get(name).map_or(Lookup::Absent, NameHolders::newest)
    }

    /// All that is under a key, also what is out of date by what another key has told. Costs what it finds.
    pub fn under<'a>(&'a self, key: &'a F) -> impl Iterator<Item = (&'a ObjectKey, &'a T)> {
        let names = self.names.by(&self.by_key, key);
        names.filter_map(move |(name, holders)| Some((name, holders.of(key)?)))
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
        self.names
            .iter()
            .flat_map(|(name, holders)| holders.all().map(move |(key, object)| (key, name, object)))
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

impl<F, T> fmt::Debug for NameTable<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("len", &self.map.len()).finish_non_exhaustive()
    }
}
