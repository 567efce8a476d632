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
    /// All keys that are not among these, of what is renewed; or of all.
    fn others(&self, seen: &Seen, of_all: bool) -> Vec<ObjectKey>;
    /// Begins a change; whether there is anybody to tell of it.
    fn change(&self, tells: bool) -> Self::Change<'_>;
}

/// Several changes that are seen together.
pub(crate) trait Change<T> {
    type Name;

    fn get(&self, key: &ObjectKey) -> Option<&Arc<T>>;
    /// So many come, and there is nothing yet.
    fn load(&mut self, _count: usize) {}
    /// Versions have begun anew: what comes may be later than what has a greater one. It comes first.
    fn begins_anew(&mut self) {}
    fn put(&mut self, found: Found<Arc<T>>, initial: bool);
    /// `last`: as the source told it, if it did.
    fn remove(&mut self, key: &ObjectKey, at: Option<&ResourceVersion>, last: Option<Arc<T>>, why: Gone);
    /// Makes them. What there is to tell is added to `news`, what there was to what is to be dropped where nothing is locked.
    fn commit(self, news: &mut Vec<News<Self::Name, Arc<T>>>, displaced: &mut Vec<Arc<T>>);
}

/// A map of objects.
pub(crate) struct Objects<T>(pub(crate) Arc<Map<ObjectKey, Arc<T>>>);

pub(crate) struct ObjectsChange<'a, T> {
    writer: Writer<'a, ObjectKey, Arc<T>>,
    tells: bool,
    news: Vec<News<ObjectKey, Arc<T>>>,
    displaced: Vec<Arc<T>>,
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

    fn others(&self, seen: &Seen, _of_all: bool) -> Vec<ObjectKey> {
        let there = self.0.snapshot();
        there.iter().filter(|(key, _)| !seen.contains(*key)).map(|(key, _)| key.clone()).collect()
    }

    fn change(&self, tells: bool) -> ObjectsChange<'_, T> {
        ObjectsChange { writer: self.0.write(), tells, news: Vec::new(), displaced: Vec::new() }
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

    fn put(&mut self, found: Found<Arc<T>>, initial: bool) {
        let Found { key, object, .. } = found;
        if self.tells {
            let before = self.writer.insert(key.clone(), object.clone());
            self.news.push(News { key, before, change: What::Now { object, initial } });
        } else {
            self.displaced.extend(self.writer.insert(key, object));
        }
    }

    fn remove(&mut self, key: &ObjectKey, _at: Option<&ResourceVersion>, last: Option<Arc<T>>, why: Gone) {
        let Some(before) = self.writer.remove(key) else { return };
        if self.tells {
            let last = last.unwrap_or_else(|| before.clone());
            self.news.push(News { key: key.clone(), before: Some(before), change: What::Gone { last, why } });
        } else {
            self.displaced.push(before);
        }
    }

    fn commit(self, news: &mut Vec<News<ObjectKey, Arc<T>>>, displaced: &mut Vec<Arc<T>>) {
        self.writer.commit();
        news.extend(self.news);
        displaced.extend(self.displaced);
    }
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
