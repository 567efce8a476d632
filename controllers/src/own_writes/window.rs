//! Windows of keys in flight: changes are parked until the writes of the run are known.

use std::fmt;
use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_sync::Mutex;

use super::change::{ObjectChange, OwnWrite};

/// A window for each key in flight, in which changes that concern the key are parked.
///
/// A source offers each change; a worker opens the window before it reads the subject, and closes
/// it when caches and sources have passed the writes of the run. No change is lost: one that is not
/// parked, or not made by the run alone, requests a run. `P` is the request for a run.
pub struct WriteWindows<K, P> {
    open: Mutex<HashMap<K, Vec<Parked<P>>, FixedState>>,
}

struct Parked<P> {
    change: ObjectChange,
    request: P,
}

/// Limit of parked changes of a key. Further ones request a run at once.
const PARKED: usize = 32;

/// Capacity that is kept without an open window.
const KEPT_CAPACITY: usize = 256;

/// A change that was parked in a closed window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedChange<P> {
    /// The change.
    pub change: ObjectChange,
    /// Whether the run's writes alone made it. Otherwise it requests a run.
    pub is_own: bool,
    /// The request.
    pub request: P,
}

impl<K: Hash + Eq + Clone, P> WriteWindows<K, P> {
    /// Creates the windows. The seed is for the hash table.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { open: Mutex::new(HashMap::with_hasher(FixedState::with_seed(seed))) }
    }

    /// Opens the window of a key.
    pub fn open(&self, key: &K) {
        let key = key.clone();
        let before = self.open.lock().insert(key, Vec::new());
        debug_assert!(before.is_none(), "a key is in flight once");
    }

    /// Returns whether the window of a key is open.
    pub fn is_open(&self, key: &K) -> bool {
        self.open.lock().contains_key(key)
    }

    /// Parks a change until the window of the key closes.
    ///
    /// # Errors
    /// The window is not open or full: the change requests a run now.
    pub fn park(&self, key: &K, change: ObjectChange, request: P) -> Result<(), P> {
        let mut open = self.open.lock();
        match open.get_mut(key).filter(|parked| parked.len() < PARKED) {
            Some(parked) => parked.push(Parked { change, request }),
            None => return Err(request),
        }
        Ok(())
    }

    /// Closes the window of a key, and returns the parked changes in order, each compared with the
    /// writes of the run.
    pub fn close(&self, key: &K, writes: &[OwnWrite]) -> Vec<ParkedChange<P>> {
        let mut open = self.open.lock();
        let closed = open.remove_entry(key);
        // After a burst of writes: idle keys cost nothing.
        if open.is_empty() && open.capacity() > KEPT_CAPACITY {
            open.shrink_to(KEPT_CAPACITY);
        }
        drop(open);
        let Some((_, parked)) = closed else { return Vec::new() };
        let compared = parked.into_iter().map(|Parked { change, request }| {
            let is_own = change.is_made_by(writes);
            ParkedChange { change, is_own, request }
        });
        compared.collect()
    }
}

#[cfg(test)]
impl<K, P> WriteWindows<K, P> {
    pub(super) fn capacity(&self) -> usize {
        self.open.lock().capacity()
    }
}

impl<K, P> fmt::Debug for WriteWindows<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteWindows").field("open", &self.open.lock().len()).finish()
    }
}
