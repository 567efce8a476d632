//! What loom is to see of keyed informers: everything that threads share, without a source.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machinery_objects::ObjectKey;

use super::holdings::{Holdings, Name};
use super::wanted::Tenure;
use crate::deliver::{Change, Events, News};
use crate::lookup::Lookup;

/// Holdings of numbers under numbers.
pub struct Model {
    holdings: Holdings<u8, u8>,
    now: Instant,
}

impl Model {
    #[allow(clippy::new_without_default, missing_docs)]
    pub fn new(now: Instant) -> Self {
        Self { holdings: Holdings::new(1, 9, Duration::ZERO), now }
    }

    /// The number of the tenure.
    pub fn acquire(&self, key: u8) -> u64 {
        self.holdings.acquire(&key, self.now).map_or(0, |tenure| tenure.0)
    }

    /// As the drop of an interest does it.
    pub fn release(&self, key: u8, tenure: u64) {
        self.holdings.release(&key, Tenure(tenure), self.now);
    }

    /// As a stream does it that was told of an object. False: its tenure is over.
    pub fn tell(&self, key: u8, tenure: u64, name: &ObjectKey, object: u8) -> bool {
        let told = self.holdings.during(&key, Tenure(tenure), |publishing| {
            let mut change = self.holdings.names.change();
            change.put(&key, name, Arc::new(object), None);
            let changed = change.commit();
            let news: Vec<_> = changed
                .into_iter()
                .filter_map(|changed| {
                    let object = changed.after?;
                    let change = Change::Now { object, initial: false };
                    Some(News { key: (changed.key, changed.name), before: changed.before, change })
                })
                .collect();
            publishing.publish(self.now, &news);
        });
        told.is_some()
    }

    /// What a stream is to be begun and ended for.
    pub fn take_changed(&self) -> Vec<(u8, Option<u64>)> {
        let changed = self.holdings.take_changed();
        changed.into_iter().map(|(key, tenure)| (key, tenure.map(|tenure| tenure.0))).collect()
    }

    #[allow(missing_docs)]
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<u8, Arc<u8>> {
        self.holdings.names.held(name).map_or(Lookup::Absent, |held| held.lookup())
    }

    #[allow(missing_docs)]
    pub fn events(&self) -> Events<Name<u8>, Arc<u8>> {
        let names = &self.holdings.names;
        let events = self.holdings.hub.register(
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
        self.holdings.hub.close();
    }
}
