//! Cache of decoded objects: each version is decoded once for all readers.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock, Weak};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::{Kind, Revision};
use machinery_sync::Mutex;

use crate::refusal::Refusal;

/// Number of unused objects to cache for later readers.
const RECENT: usize = 4096;
/// Limit of their total stored size in bytes.
const RECENT_BYTES: usize = 16 << 20;
/// Minimum size of the table at which released objects are swept from it; otherwise twice the size
/// after the last sweep.
const SWEEP: usize = 2 * RECENT;

/// The decoded objects of one kind and type. Objects in use are never decoded again; of the others
/// the most recent are cached.
pub(super) struct Decoded<K> {
    state: Mutex<State<K>>,
}

/// Identifies a decoded version of an object: its state, the fingerprints of the schemas of the
/// served and stored version, and the displayed revision, which for a deleted object is that of the
/// deletion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DecodedKey {
    pub(super) key: Arc<str>,
    pub(super) prints: (u64, u64),
    pub(super) state: Revision,
    pub(super) shown: Revision,
}

struct State<K> {
    slots: HashMap<DecodedKey, CacheSlot<K>, FixedState>,
    recent: VecDeque<(Arc<K>, usize)>,
    recent_bytes: usize,
    sweep_at: usize,
}

enum CacheSlot<K> {
    /// Being decoded; concurrent readers wait for the result.
    Making(Arc<OnceLock<Result<Arc<K>, Refusal>>>),
    // Weak: an object in use is shared by all readers and costs no memory here.
    Made(Weak<K>),
}

impl<K> Decoded<K> {
    fn new(seed: u64) -> Self {
        let slots = HashMap::with_hasher(FixedState::with_seed(seed));
        let state = State { slots, recent: VecDeque::new(), recent_bytes: 0, sweep_at: SWEEP };
        Self { state: Mutex::new(state) }
    }

    /// Returns the object, decoding it if necessary. `bytes` is its stored size.
    pub(super) fn get(
        &self,
        form: &DecodedKey,
        bytes: usize,
        decode: impl FnOnce() -> Result<K, Refusal>,
    ) -> Result<Arc<K>, Refusal> {
        let making = {
            let mut state = self.state.lock();
            match state.slots.get(form) {
                Some(CacheSlot::Making(making)) => making.clone(),
                Some(CacheSlot::Made(object)) if let Some(object) = object.upgrade() => return Ok(object),
                _ => {
                    let making = Arc::new(OnceLock::new());
                    state.slots.insert(form.clone(), CacheSlot::Making(making.clone()));
                    making
                }
            }
        };
        // Without the lock: readers of other objects do not wait for this one.
        let made = making.get_or_init(|| decode().map(Arc::new)).clone();
        let mut state = self.state.lock();
        let ours =
            |slot: &CacheSlot<K>| matches!(slot, CacheSlot::Making(slot) if Arc::ptr_eq(slot, &making));
        if state.slots.get(form).is_some_and(ours) {
            match &made {
                Ok(object) => state.keep(form.clone(), object, bytes),
                Err(_) => drop(state.slots.remove(form)),
            }
        }
        made
    }

    /// Adds the object of a completed write, which needs no decoding.
    pub(super) fn put(&self, form: DecodedKey, bytes: usize, object: &Arc<K>) {
        self.state.lock().keep(form, object, bytes);
    }
}

impl<K> State<K> {
    fn keep(&mut self, form: DecodedKey, object: &Arc<K>, bytes: usize) {
        self.slots.insert(form, CacheSlot::Made(Arc::downgrade(object)));
        self.recent.push_back((object.clone(), bytes));
        self.recent_bytes += bytes;
        while self.recent.len() > RECENT || (self.recent_bytes > RECENT_BYTES && self.recent.len() > 1) {
            let Some((_, bytes)) = self.recent.pop_front() else { break };
            self.recent_bytes -= bytes;
        }
        if self.slots.len() >= self.sweep_at {
            self.slots.retain(|_, slot| match slot {
                CacheSlot::Making(_) => true,
                CacheSlot::Made(object) => object.strong_count() > 0,
            });
            self.sweep_at = SWEEP.max(2 * self.slots.len());
        }
    }
}

/// The caches of a server, by type and kind. A cache without handles is dropped.
#[derive(Default)]
pub(crate) struct DecodedCaches(Mutex<BTreeMap<(TypeId, Kind), Arc<dyn Any + Send + Sync>>>);

impl DecodedCaches {
    pub(super) fn of<K: Send + Sync + 'static>(&self, kind: &Kind, seed: u64) -> Arc<Decoded<K>> {
        let mut caches = self.0.lock();
        caches.retain(|_, cache| Arc::strong_count(cache) > 1);
        let new = || Arc::new(Decoded::<K>::new(seed)) as Arc<dyn Any + Send + Sync>;
        let cache = caches.entry((TypeId::of::<K>(), kind.clone())).or_insert_with(new).clone();
        cache.downcast().expect("it is under its own type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(key: &str, state: u64) -> DecodedKey {
        DecodedKey { key: key.into(), prints: (1, 1), state: Revision(state), shown: Revision(state) }
    }

    #[test]
    fn objects_in_use_are_not_decoded_again_and_others_are_evicted() {
        let decoded = Decoded::new(7);
        let held = decoded.get(&form("held", 1), 1, || Ok(0)).unwrap();
        for at in 0..20 * RECENT as u64 {
            decoded.get(&form("passing", at), 1, || Ok(at)).unwrap();
        }
        let again = decoded.get(&form("held", 1), 1, || unreachable!("somebody holds it")).unwrap();
        assert!(Arc::ptr_eq(&held, &again));
        let last = 20 * RECENT as u64 - 1;
        decoded.get(&form("passing", last), 1, || unreachable!("it came a moment ago")).unwrap();
        decoded.get(&form("passing", 0), 1, || Ok(1)).unwrap();
        let state = decoded.state.lock();
        assert!(state.recent.len() <= RECENT && state.slots.len() <= 2 * SWEEP, "{}", state.slots.len());
    }

    #[test]
    fn the_cache_is_limited_by_size() {
        let decoded = Decoded::new(7);
        for at in 0..10 {
            decoded.get(&form("large", at), RECENT_BYTES / 4, || Ok(at)).unwrap();
        }
        assert_eq!(decoded.state.lock().recent.len(), 4);
    }

    #[test]
    fn failed_decoding_is_retried() {
        let decoded = Decoded::new(7);
        let wrong = || Err(Refusal::bad_request("no"));
        assert!(decoded.get(&form("a", 1), 1, wrong).is_err());
        assert_eq!(*decoded.get(&form("a", 1), 1, || Ok(3)).unwrap(), 3);
    }

    #[test]
    fn concurrent_readers_decode_once() {
        let (decoded, counted) = (Decoded::new(7), std::sync::atomic::AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for at in 0..500 {
                        let count = || {
                            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            Ok(at)
                        };
                        assert_eq!(*decoded.get(&form("a", at), 1, count).unwrap(), at);
                    }
                });
            }
        });
        assert_eq!(counted.into_inner(), 500);
    }
}
