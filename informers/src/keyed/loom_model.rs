//! The cache of keyed informers without a source, for loom models.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machinery_objects::ObjectKey;

use super::interest_counts::Tenure;
use super::keyed_cache::{KeyedCache, Name};
use crate::deliver::{Change, Events, Notification};
use crate::lookup::Lookup;

/// A keyed cache with numbers as keys and objects.
pub struct Model {
    keyed_cache: KeyedCache<u8, u8>,
    now: Instant,
}

impl Model {
    #[allow(clippy::new_without_default, missing_docs)]
    pub fn new(now: Instant) -> Self {
        Self { keyed_cache: KeyedCache::new(1, 9, Duration::ZERO), now }
    }

    /// Acquires a key; returns the number of its tenure.
    pub fn acquire(&self, key: u8) -> u64 {
        self.keyed_cache.acquire(&key, self.now).map_or(0, |tenure| tenure.0)
    }

    /// Releases a key as the drop of an interest does.
    pub fn release(&self, key: u8, tenure: u64) {
        self.keyed_cache.release(&key, Tenure(tenure), self.now);
    }

    /// Stores an object as a stream does. Returns false if the tenure is over.
    pub fn put(&self, key: u8, tenure: u64, name: &ObjectKey, object: u8) -> bool {
        let done = self.keyed_cache.with_tenure(&key, Tenure(tenure), |publishing| {
            let mut change = self.keyed_cache.names.change();
            change.put(&key, name, Arc::new(object), None);
            let changed = change.commit();
            let notifications: Vec<_> = changed
                .into_iter()
                .filter_map(|changed| {
                    let object = changed.after?;
                    let change = Change::Present { object, initial: false };
                    Some(Notification { key: (changed.key, changed.name), before: changed.before, change })
                })
                .collect();
            publishing.publish(self.now, &notifications);
        });
        done.is_some()
    }

    /// Takes the keys with a stream to be opened or closed.
    pub fn take_changed(&self) -> Vec<(u8, Option<u64>)> {
        let changed = self.keyed_cache.take_changed();
        changed.into_iter().map(|(key, tenure)| (key, tenure.map(|tenure| tenure.0))).collect()
    }

    #[allow(missing_docs)]
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<u8, Arc<u8>> {
        self.keyed_cache.names.holders(name).map_or(Lookup::Absent, |held| held.lookup())
    }

    #[allow(missing_docs)]
    pub fn events(&self) -> Events<Name<u8>, Arc<u8>> {
        let names = &self.keyed_cache.names;
        let events = self.keyed_cache.hub.register(
            self.now,
            || names.read(),
            |names, each| {
                names.iter().for_each(|(key, name, object)| each(&(*key, name.clone()), object));
            },
        );
        events.expect("it is not closed")
    }

    #[allow(missing_docs)]
    pub fn close(&self) {
        self.keyed_cache.hub.close();
    }
}
