//! The cache of keyed informers, shared by all threads: names, interests and handlers.
//!
//! A writer holds [`Hub::publishing`] and checks the key's tenure under it. So a stream of an
//! ended tenure changes nothing once the release that ended it has returned.
//!
//! Lock order: publishing, then the names, then `interests`, under which nothing else is locked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machinery_objects::{Bookmark, EditNumber, LeaveReason, ObjectKey};
use machinery_sync::{Listener, Mutex, Notify};

pub(crate) use super::interest_counts::AcquireRefusal;
use super::interest_counts::{InterestCounts, Tenure};
use crate::deliver::{Change, Hub, Notification, Publishing, Removal};
use crate::lookup::NameTable;

/// The identity of an object in notifications of keyed informers.
pub(crate) type Name<F> = (F, ObjectKey);

pub(crate) struct KeyedCache<F, T> {
    pub(crate) hub: Hub<Name<F>, Arc<T>>,
    pub(crate) names: NameTable<F, Arc<T>>,
    interests: Mutex<InterestCounts<F>>,
    linger: Duration,
    /// The set of keys with an interest changed.
    interests_changed: Notify,
    /// A key became complete, or the cache was closed.
    completed_changed: Notify,
}

impl<F, T> KeyedCache<F, T>
where
    F: Ord + Clone + std::hash::Hash + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    pub(crate) fn new(seed: u64, limit: usize, linger: Duration) -> Self {
        let hub = Hub::new(seed);
        // A handler receives the cached objects and then this mark.
        hub.publishing().mark(&Bookmark::Synced);
        Self {
            hub,
            names: NameTable::new(seed),
            interests: Mutex::new(InterestCounts::new(limit)),
            linger,
            interests_changed: Notify::new(),
            completed_changed: Notify::new(),
        }
    }

    pub(crate) fn acquire(&self, key: &F, now: Instant) -> Result<Tenure, AcquireRefusal> {
        // Without `publishing`: no object changes, so an acquire waits for no writer.
        let acquired = self.interests.lock().acquire(key);
        let (tenure, is_first) = match acquired {
            Err(AcquireRefusal::TooMany(_)) => self.acquire_evicting(key, now)?,
            acquired => acquired?,
        };
        if is_first {
            self.interests_changed.notify_all();
        }
        Ok(tenure)
    }

    /// Evicts a lingering key for a new one.
    fn acquire_evicting(&self, key: &F, now: Instant) -> Result<(Tenure, bool), AcquireRefusal> {
        let mut publishing = self.hub.publishing();
        let (over, acquired) = {
            let mut interests = self.interests.lock();
            // If the key was acquired, or capacity freed, in the meantime, nothing is evicted.
            match interests.acquire(key) {
                Err(AcquireRefusal::TooMany(_)) => (interests.evict_lingering(), interests.acquire(key)),
                acquired => (None, acquired),
            }
        };
        let notifications = over.map(|over| self.release_objects(&mut publishing, now, &over));
        drop(publishing);
        drop(notifications);
        acquired
    }

    /// Drops an interest. If it was the last, its objects are released and handlers notified before
    /// this returns.
    pub(crate) fn release(&self, key: &F, tenure: Tenure, now: Instant) {
        // Without `publishing` where other interests remain: no object is released.
        if self.interests.lock().release_one_of_many(key, tenure) {
            return;
        }
        let mut publishing = self.hub.publishing();
        let is_over = self.interests.lock().release(key, tenure, now, self.linger);
        let notifications = is_over.then(|| self.release_objects(&mut publishing, now, key));
        drop(publishing);
        drop(notifications);
        self.interests_changed.notify_all();
    }

    /// Releases the keys with an expired linger time. Returns the earliest end of a linger time
    /// among the remaining keys.
    pub(crate) fn expire_lingering(&self, now: Instant) -> Option<Instant> {
        let due = self.interests.lock().due();
        if due.is_none_or(|due| due > now) {
            return due;
        }
        let mut publishing = self.hub.publishing();
        let over = self.interests.lock().overdue(now);
        let notifications: Vec<_> =
            over.iter().map(|key| self.release_objects(&mut publishing, now, key)).collect();
        drop(publishing);
        drop(notifications);
        self.interests_changed.notify_all();
        self.interests.lock().due()
    }

    /// Releases the objects of a key. Returns the notifications, to be dropped outside locks: they
    /// may hold the last references to the objects.
    fn release_objects(
        &self,
        publishing: &mut Publishing<'_, Name<F>, Arc<T>>,
        now: Instant,
        key: &F,
    ) -> Vec<Notification<Name<F>, Arc<T>>> {
        let notifications: Vec<_> = self
            .names
            .release(key)
            .into_iter()
            .filter_map(|changed| {
                let last = changed.before?;
                let before = Some(last.clone());
                let change = Change::Removed { last, removal: Removal::Left(LeaveReason::Released) };
                Some(Notification { key: (changed.key, changed.name), before, change })
            })
            .collect();
        publishing.publish(now, &notifications);
        notifications
    }

    /// Runs a function while the tenure cannot end; `None` if it is over.
    pub(crate) fn with_tenure<R>(
        &self,
        key: &F,
        tenure: Tenure,
        change: impl FnOnce(&mut Publishing<'_, Name<F>, Arc<T>>) -> R,
    ) -> Option<R> {
        let mut publishing = self.hub.publishing();
        let is_its = self.interests.lock().tenure(key) == Some(tenure);
        is_its.then(|| change(&mut publishing))
    }

    pub(crate) fn tenure(&self, key: &F) -> Option<Tenure> {
        self.interests.lock().tenure(key)
    }

    /// Marks keys complete after all their objects were published, and notifies handlers.
    pub(crate) fn complete(&self, keys: impl ExactSizeIterator<Item = (F, Tenure)>) {
        if keys.len() == 0 {
            return;
        }
        let mut publishing = self.hub.publishing();
        let mut interests = self.interests.lock();
        let mut any = false;
        for (key, tenure) in keys {
            any |= interests.complete(&key, tenure);
        }
        let mark = Bookmark::Complete(interests.last_complete());
        drop(interests);
        if any {
            publishing.mark(&mark);
            drop(publishing);
            self.completed_changed.notify_all();
        }
    }

    /// Marks keys incomplete, as their objects predate a restore; the objects stay until relisted.
    pub(crate) fn outdate(&self, keys: Vec<(F, Tenure)>) {
        if keys.is_empty() {
            return;
        }
        let mut interests = self.interests.lock();
        keys.iter().for_each(|(key, tenure)| interests.outdate(key, *tenure));
    }

    /// Repeats the last completion mark, for a handler that was just added.
    pub(crate) fn mark_complete(&self) {
        let mut publishing = self.hub.publishing();
        let last = self.interests.lock().last_complete();
        if last > EditNumber::FIRST {
            publishing.mark(&Bookmark::Complete(last));
        }
    }

    /// Returns the completion number of a key, if complete; `None` if the tenure is over.
    pub(crate) fn completed(&self, key: &F, tenure: Tenure) -> Option<Option<EditNumber>> {
        self.interests.lock().completed(key, tenure)
    }

    /// Returns the complete keys with a greater number, in order.
    #[cfg(feature = "tokio")]
    pub(crate) fn complete_since(&self, number: EditNumber) -> Vec<(EditNumber, F)> {
        self.interests.lock().complete_since(number)
    }

    /// Returns whether any key is or was complete.
    pub(crate) fn any_was_complete(&self) -> bool {
        self.interests.lock().any_was_complete()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.interests.lock().is_closed()
    }

    pub(crate) fn was_complete(&self, key: &F) -> bool {
        self.interests.lock().was_complete(key)
    }

    /// Returns a listener for completions and for the close.
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.completed_changed.listen()
    }

    /// Wakes the waiters for completions, as one of their keys is refused.
    pub(crate) fn notify_waiters(&self) {
        self.completed_changed.notify_all();
    }

    /// Returns a listener for changes of the set of keys.
    pub(crate) fn listen_interests(&self) -> Listener<'_> {
        self.interests_changed.listen()
    }

    pub(crate) fn take_changed(&self) -> Vec<(F, Option<Tenure>)> {
        self.interests.lock().take_changed()
    }

    /// Returns the numbers of keys, interests and complete keys.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let interests = self.interests.lock();
        (interests.len(), interests.guards(), interests.count_complete())
    }

    /// Releases all keys and closes the cache.
    pub(crate) fn close(&self, now: Instant) {
        let mut publishing = self.hub.publishing();
        let over = self.interests.lock().close();
        let notifications: Vec<_> =
            over.iter().map(|key| self.release_objects(&mut publishing, now, key)).collect();
        drop(publishing);
        drop(notifications);
        self.hub.close();
        self.completed_changed.notify_all();
        self.interests_changed.notify_all();
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::cache::{AppliedChanges, ObjectStore as _, StoreTransaction as _};
    use crate::keyed::keyed_store::{KeyPerObject, KeyedStore};
    use crate::reflect::SourceObject;

    /// An object that uses, in its drop, the cache that held it.
    struct ReentrantHolding(Arc<KeyedCache<u8, ReentrantHolding>>);

    impl Drop for ReentrantHolding {
        fn drop(&mut self) {
            assert_eq!(self.0.counts().0, 0);
            drop(self.0.hub.publishing());
        }
    }

    #[test]
    fn released_objects_are_dropped_outside_locks() {
        let (done_sender, done) = mpsc::channel();
        // On a thread of its own, so that a deadlock fails the test.
        let thread = std::thread::spawn(move || {
            let now = tokio::time::Instant::now().into_std();
            for linger in [Duration::ZERO, Duration::from_secs(1)] {
                let keyed_cache = Arc::new(KeyedCache::new(1, 9, linger));
                let tenure = keyed_cache.acquire(&17, now).unwrap();
                let object = Arc::new(ReentrantHolding(keyed_cache.clone()));
                keyed_cache.with_tenure(&17, tenure, |_| {
                    let mut change = keyed_cache.names.change();
                    change.put(&17, &"a".parse().unwrap(), object, None);
                    change.commit()
                });
                keyed_cache.release(&17, tenure, now);
                keyed_cache.expire_lingering(now + linger);
                assert!(keyed_cache.names.read().is_empty());
            }
            done_sender.send(()).unwrap();
        });
        done.recv_timeout(Duration::from_secs(20)).expect("it locks up nowhere");
        thread.join().unwrap();
    }

    #[test]
    fn unassigned_objects_are_dropped_outside_locks() {
        let (done_sender, done) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let keyed_cache = Arc::new(KeyedCache::new(1, 9, Duration::ZERO));
            let requested = Arc::default();
            let assignment =
                KeyPerObject { keyed_cache: keyed_cache.clone(), find: Arc::new(|_| Some(18)), requested };
            let store = KeyedStore { keyed_cache: keyed_cache.clone(), assignment, ordered: true, limit: 9 };
            let object = Arc::new(ReentrantHolding(keyed_cache.clone()));
            let publishing = keyed_cache.hub.publishing();
            let mut change = store.change(AppliedChanges::default());
            change.put(SourceObject { key: "a".parse().unwrap(), version: None, object }, false, 0);
            let changed = change.commit();
            drop(publishing);
            assert_eq!(changed.displaced.len(), 1);
            drop(changed);
            done_sender.send(()).unwrap();
        });
        done.recv_timeout(Duration::from_secs(20)).expect("it locks up nowhere");
        thread.join().unwrap();
    }

    #[test]
    fn acquiring_a_key_held_meanwhile_evicts_nothing() {
        let now = tokio::time::Instant::now().into_std();
        let keyed_cache: KeyedCache<u8, ()> = KeyedCache::new(1, 2, Duration::from_secs(5));
        let [lingers, held] = [16, 17].map(|key| keyed_cache.acquire(&key, now).unwrap());
        keyed_cache.release(&16, lingers, now);
        keyed_cache.take_changed();
        // As after a refusal, when the same key was acquired in the meantime.
        assert_eq!(keyed_cache.acquire_evicting(&17, now), Ok((held, false)));
        assert_eq!((keyed_cache.tenure(&16), keyed_cache.take_changed()), (Some(lingers), Vec::new()));
        // Evicting begins a tenure, so streams learn of both keys.
        let (new, is_first) = keyed_cache.acquire_evicting(&18, now).unwrap();
        assert!(is_first);
        assert_eq!(keyed_cache.take_changed(), [(16, None), (18, Some(new))]);
    }

    #[test]
    fn a_million_interests_in_a_held_key_change_nothing() {
        let now = tokio::time::Instant::now().into_std();
        let keyed_cache: KeyedCache<u8, ()> = KeyedCache::new(1, 9, Duration::ZERO);
        let tenure = keyed_cache.acquire(&17, now).unwrap();
        assert_eq!(keyed_cache.take_changed(), [(17, Some(tenure))]);
        for _ in 0..1_000_000 {
            assert_eq!(keyed_cache.acquire(&17, now), Ok(tenure));
            keyed_cache.release(&17, tenure, now);
        }
        assert!(keyed_cache.take_changed().is_empty());
        assert_eq!(keyed_cache.counts(), (1, 1, 0));
        keyed_cache.release(&17, tenure, now);
        assert_eq!((keyed_cache.counts(), keyed_cache.take_changed()), ((0, 0, 0), vec![(17, None)]));
    }
}
