//! Where the objects of a cache are kept: a map of them, or one of who has them.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use machinery_objects::{ObjectKey, ResourceVersion};
use machinery_snapshot::{Map, Writer};

use crate::deliver::{Change as What, Gone, News};
use crate::reflect::Found;

/// All keys that came.
pub(crate) type Seen = HashSet<ObjectKey, FixedState>;

pub(crate) trait Shelf<T>: Clone {
    /// By what those who are told know an object.
    type Name;
    type Change<'a>: Change<T, Name = Self::Name>
    where
        Self: 'a;

    fn len(&self) -> usize;
    /// What is there under a key, and the key that it is there under.
    fn there(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<T>)>;
    /// All keys that are not among these, of what is renewed.
    fn others(&self, seen: &Seen) -> Vec<ObjectKey>;
    /// Begins a change, after what was changed before.
    fn change(&self, changed: Changed<Self::Name, T>) -> Self::Change<'_>;
}

/// What changes come to.
#[derive(Debug)]
pub(crate) struct Changed<N, T> {
    /// Whether there is anybody to tell.
    pub(crate) is_heard: bool,
    pub(crate) news: Vec<News<N, Arc<T>>>,
    /// What was there before, and nobody is told of: to be dropped where nothing is locked.
    pub(crate) displaced: Vec<Arc<T>>,
}

/// Several changes that are seen together.
pub(crate) trait Change<T> {
    type Name;

    fn get(&self, key: &ObjectKey) -> Option<&Arc<T>>;
    /// How many more there is room for, and whether one of this name needs it, when these have gone.
    fn room_without(&self, _gone: &[ObjectKey]) -> usize {
        usize::MAX
    }
    fn is_more(&self, _key: &ObjectKey) -> bool {
        false
    }
    /// So many come, and there is nothing yet.
    fn load(&mut self, _count: usize) {}
    /// Versions have begun anew: what comes may be later than what has a greater one. It comes first.
    fn begins_anew(&mut self) {}
    /// Whether what is there has not come since they have.
    fn is_lost(&self, _key: &ObjectKey) -> bool {
        false
    }
    /// What is renewed has come.
    fn all_came(&mut self) {}
    /// False: there is no room for it, also if so many go later, and it is as if it had not come.
    fn put(&mut self, found: Found<Arc<T>>, initial: bool, going: usize) -> bool;
    /// `last`: as the source told it, if it did.
    fn remove(&mut self, key: &ObjectKey, at: Option<&ResourceVersion>, last: Option<Arc<T>>, why: Gone);
    /// It is nothing that is to be there.
    fn displace(&mut self, object: Arc<T>);
    /// Makes them.
    fn commit(self) -> Changed<Self::Name, T>;
}

/// A map of objects.
pub(crate) struct Objects<T>(pub(crate) Arc<Map<ObjectKey, Arc<T>>>);

pub(crate) struct ObjectsChange<'a, T> {
    writer: Writer<'a, ObjectKey, Arc<T>>,
    changed: Changed<ObjectKey, T>,
}

impl<T: Send + Sync + 'static> Shelf<T> for Objects<T> {
    type Name = ObjectKey;
    type Change<'a> = ObjectsChange<'a, T>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn there(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<T>)> {
        self.0.snapshot().entry(key).map(|(key, object)| (key.clone(), object.clone()))
    }

    fn others(&self, seen: &Seen) -> Vec<ObjectKey> {
        let there = self.0.snapshot();
        there.iter().filter(|(key, _)| !seen.contains(*key)).map(|(key, _)| key.clone()).collect()
    }

    fn change(&self, changed: Changed<ObjectKey, T>) -> ObjectsChange<'_, T> {
        ObjectsChange { writer: self.0.write(), changed }
    }
}

impl<T> Change<T> for ObjectsChange<'_, T> {
    type Name = ObjectKey;

    fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.writer.get(key)
    }

    /// All of it is indexed at once.
    fn load(&mut self, count: usize) {
        self.writer.reserve(count);
        self.writer.index_last();
    }

    fn put(&mut self, found: Found<Arc<T>>, initial: bool, _going: usize) -> bool {
        let Found { key, object, .. } = found;
        if self.changed.is_heard {
            let before = self.writer.insert(key.clone(), object.clone());
            self.changed.news.push(News { key, before, change: What::Now { object, initial } });
        } else {
            self.changed.displaced.extend(self.writer.insert(key, object));
        }
        true
    }

    fn remove(&mut self, key: &ObjectKey, _at: Option<&ResourceVersion>, last: Option<Arc<T>>, why: Gone) {
        let Some(before) = self.writer.remove(key) else { return };
        if self.changed.is_heard {
            let last = last.unwrap_or_else(|| before.clone());
            let change = What::Gone { last, why };
            self.changed.news.push(News { key: key.clone(), before: Some(before), change });
        } else {
            self.changed.displaced.push(before);
        }
    }

    fn displace(&mut self, object: Arc<T>) {
        self.changed.displaced.push(object);
    }

    fn commit(self) -> Changed<ObjectKey, T> {
        self.writer.commit();
        self.changed
    }
}

impl<N, T> Default for Changed<N, T> {
    fn default() -> Self {
        Self { is_heard: false, news: Vec::new(), displaced: Vec::new() }
    }
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
