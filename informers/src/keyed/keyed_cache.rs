//! What is held under the keys that are wanted, and who is told: everything that threads share.
//!
//! Whoever changes what is held has [`Hub::publishing`], and looks at the key's tenure under it. So a stream whose tenure is over
//! changes nothing any more once the release that ended it has returned.
//!
//! Lock order: publishing, then the names, then `interests`, under which nothing else is locked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machinery_objects::{Departure, EditNumber, Mark, ObjectKey};
use machinery_sync::{Listener, Mutex, Notify};

pub(crate) use super::interest_counts::AcquireRefusal;
use super::interest_counts::{InterestCounts, Tenure};
use crate::deliver::{Change, Hub, Notification, Publishing, Removal};
use crate::lookup::NameTable;

/// By what handlers of keyed informers know an object.
pub(crate) type Name<F> = (F, ObjectKey);

pub(crate) struct KeyedCache<F, T> {
    pub(crate) hub: Hub<Name<F>, Arc<T>>,
    pub(crate) names: NameTable<F, Arc<T>>,
    interests: Mutex<InterestCounts<F>>,
    linger: Duration,
    /// Other keys are wanted.
    interests_changed: Notify,
    /// A key is complete, or all is over.
    completed_changed: Notify,
}

impl<F, T> KeyedCache<F, T>
where
    F: Ord + Clone + std::hash::Hash + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    pub(crate) fn new(seed: u64, limit: usize, linger: Duration) -> Self {
        let hub = Hub::new(seed);
        // Whoever comes is told of what is held, and then that this was all.
        hub.publishing().mark(&Mark::Synced);
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

    /// One that only lingers is let go for one that somebody holds.
    fn acquire_evicting(&self, key: &F, now: Instant) -> Result<(Tenure, bool), AcquireRefusal> {
        let mut publishing = self.hub.publishing();
        let (over, acquired) = {
            let mut interests = self.interests.lock();
            // Meanwhile others may want it, or there may be room: then nothing is let go.
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

    /// One less who wants it. If it was the last, all that is held under the key is let go, and told of, before this returns.
    pub(crate) fn release(&self, key: &F, tenure: Tenure, now: Instant) {
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

    /// Lets go of those that have lingered long enough. Returns when the next will have.
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

    /// Returns what was told: it may be the last of the objects, to be dropped where nothing is locked.
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
                let change = Change::Removed { last, removal: Removal::Left(Departure::Released) };
                Some(Notification { key: (changed.key, changed.name), before, change })
            })
            .collect();
        publishing.publish(now, &notifications);
        notifications
    }

    /// Does something for a key while its tenure cannot end. `None`: it is over.
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

    /// All of these keys has come, and was told. Handlers are told that, too.
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
        let mark = Mark::Complete(interests.last_complete());
        drop(interests);
        if any {
            publishing.mark(&mark);
            drop(publishing);
            self.completed_changed.notify_all();
        }
    }

    /// What is held under these is of a time that never was. It stays, and they are not complete before all of them has come anew.
    pub(crate) fn outdate(&self, keys: Vec<(F, Tenure)>) {
        if keys.is_empty() {
            return;
        }
        let mut interests = self.interests.lock();
        keys.iter().for_each(|(key, tenure)| interests.outdate(key, *tenure));
    }

    /// Tells handlers once more which keys are complete: one of them has only come.
    pub(crate) fn mark_complete(&self) {
        let mut publishing = self.hub.publishing();
        let last = self.interests.lock().last_complete();
        if last > EditNumber::FIRST {
            publishing.mark(&Mark::Complete(last));
        }
    }

    /// With which number a key has become complete, if it is. `None`: its tenure is over.
    pub(crate) fn completed(&self, key: &F, tenure: Tenure) -> Option<Option<EditNumber>> {
        self.interests.lock().completed(key, tenure)
    }

    /// Which keys have become complete after this number, and are so, in that order.
    #[cfg(feature = "tokio")]
    pub(crate) fn complete_since(&self, number: EditNumber) -> Vec<(EditNumber, F)> {
        self.interests.lock().complete_since(number)
    }

    /// Whether any key is complete, or has been.
    pub(crate) fn any_was_complete(&self) -> bool {
        self.interests.lock().any_was_complete()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.interests.lock().is_closed()
    }

    pub(crate) fn was_complete(&self, key: &F) -> bool {
        self.interests.lock().was_complete(key)
    }

    /// Woken when a key is complete, or all is over.
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.completed_changed.listen()
    }

    /// Woken when other keys are wanted.
    pub(crate) fn listen_interests(&self) -> Listener<'_> {
        self.interests_changed.listen()
    }

    pub(crate) fn take_changed(&self) -> Vec<(F, Option<Tenure>)> {
        self.interests.lock().take_changed()
    }

    /// How many keys are wanted, by how many, and how many are complete.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let interests = self.interests.lock();
        (interests.len(), interests.guards(), interests.count_complete())
    }

    /// All is let go, and nothing changes any more.
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

    /// An object whose drop uses what held it.
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
        // On a thread, so that a deadlock is a failure.
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
            let under =
                KeyPerObject { keyed_cache: keyed_cache.clone(), find: Arc::new(|_| Some(18)), requested };
            let store = KeyedStore { keyed_cache: keyed_cache.clone(), under, ordered: true, limit: 9 };
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
        // As it goes on for one that was refused before others came for the same key.
        assert_eq!(keyed_cache.acquire_evicting(&17, now), Ok((held, false)));
        assert_eq!((keyed_cache.tenure(&16), keyed_cache.take_changed()), (Some(lingers), Vec::new()));
        // In place of another it is the first of its tenure, so who keeps streams hears of both.
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
