//! What is held under the keys that are wanted, and who is told: everything that threads share.
//!
//! Whoever changes what is held has [`Hub::publishing`], and looks at the key's tenure under it. So a stream whose tenure is over
//! changes nothing any more once the release that ended it has returned.
//!
//! Lock order: publishing, then the names, then `wanted`, under which nothing else is locked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machinery_objects::{Departure, EditNumber, Mark, ObjectKey};
use machinery_sync::{Listener, Mutex, Notify};

pub(crate) use super::wanted::Refused;
use super::wanted::{Tenure, Wanted};
use crate::deliver::{Change, Gone, Hub, News, Publishing};
use crate::lookup::Names;

/// By what handlers of keyed informers know an object.
pub(crate) type Name<F> = (F, ObjectKey);

pub(crate) struct Holdings<F, T> {
    pub(crate) hub: Hub<Name<F>, Arc<T>>,
    pub(crate) names: Names<F, Arc<T>>,
    wanted: Mutex<Wanted<F>>,
    linger: Duration,
    /// Other keys are wanted.
    wants: Notify,
    /// A key is complete, or all is over.
    came: Notify,
}

impl<F, T> Holdings<F, T>
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
            names: Names::new(seed),
            wanted: Mutex::new(Wanted::new(limit)),
            linger,
            wants: Notify::new(),
            came: Notify::new(),
        }
    }

    pub(crate) fn acquire(&self, key: &F, now: Instant) -> Result<Tenure, Refused> {
        let acquired = self.wanted.lock().acquire(key);
        let (tenure, is_first) = match acquired {
            Err(Refused::TooMany(_)) => self.acquire_in_place_of_another(key, now)?,
            acquired => acquired?,
        };
        if is_first {
            self.wants.notify_all();
        }
        Ok(tenure)
    }

    /// One that only lingers is let go for one that somebody holds.
    fn acquire_in_place_of_another(&self, key: &F, now: Instant) -> Result<(Tenure, bool), Refused> {
        let mut publishing = self.hub.publishing();
        let (over, acquired) = {
            let mut wanted = self.wanted.lock();
            // Meanwhile others may want it, or there may be room: then nothing is let go.
            match wanted.acquire(key) {
                Err(Refused::TooMany(_)) => (wanted.make_room(), wanted.acquire(key)),
                acquired => (None, acquired),
            }
        };
        let news = over.map(|over| self.let_go(&mut publishing, now, &over));
        drop(publishing);
        drop(news);
        acquired
    }

    /// One less who wants it. If it was the last, all that is held under the key is let go, and told of, before this returns.
    pub(crate) fn release(&self, key: &F, tenure: Tenure, now: Instant) {
        if self.wanted.lock().release_one_of_many(key, tenure) {
            return;
        }
        let mut publishing = self.hub.publishing();
        let is_over = self.wanted.lock().release(key, tenure, now, self.linger);
        let news = is_over.then(|| self.let_go(&mut publishing, now, key));
        drop(publishing);
        drop(news);
        self.wants.notify_all();
    }

    /// Lets go of those that have lingered long enough. Returns when the next will have.
    pub(crate) fn let_linger(&self, now: Instant) -> Option<Instant> {
        let due = self.wanted.lock().due();
        if due.is_none_or(|due| due > now) {
            return due;
        }
        let mut publishing = self.hub.publishing();
        let over = self.wanted.lock().overdue(now);
        let news: Vec<_> = over.iter().map(|key| self.let_go(&mut publishing, now, key)).collect();
        drop(publishing);
        drop(news);
        self.wants.notify_all();
        self.wanted.lock().due()
    }

    /// Returns what was told: it may be the last of the objects, to be dropped where nothing is locked.
    fn let_go(
        &self,
        publishing: &mut Publishing<'_, Name<F>, Arc<T>>,
        now: Instant,
        key: &F,
    ) -> Vec<News<Name<F>, Arc<T>>> {
        let news: Vec<_> = self
            .names
            .release(key)
            .into_iter()
            .filter_map(|changed| {
                let last = changed.before?;
                let before = Some(last.clone());
                let change = Change::Gone { last, why: Gone::Left(Departure::Released) };
                Some(News { key: (changed.key, changed.name), before, change })
            })
            .collect();
        publishing.publish(now, &news);
        news
    }

    /// Does something for a key while its tenure cannot end. `None`: it is over.
    pub(crate) fn during<R>(
        &self,
        key: &F,
        tenure: Tenure,
        change: impl FnOnce(&mut Publishing<'_, Name<F>, Arc<T>>) -> R,
    ) -> Option<R> {
        let mut publishing = self.hub.publishing();
        let is_its = self.wanted.lock().tenure(key) == Some(tenure);
        is_its.then(|| change(&mut publishing))
    }

    pub(crate) fn tenure(&self, key: &F) -> Option<Tenure> {
        self.wanted.lock().tenure(key)
    }

    /// All of these keys has come, and was told. Handlers are told that, too.
    pub(crate) fn complete(&self, keys: impl ExactSizeIterator<Item = (F, Tenure)>) {
        if keys.len() == 0 {
            return;
        }
        let mut publishing = self.hub.publishing();
        let mut wanted = self.wanted.lock();
        let mut came = false;
        for (key, tenure) in keys {
            came |= wanted.complete(&key, tenure);
        }
        let mark = Mark::Complete(wanted.last_complete());
        drop(wanted);
        if came {
            publishing.mark(&mark);
            drop(publishing);
            self.came.notify_all();
        }
    }

    /// What is held under these is of a time that never was. It stays, and they are not complete before all of them has come anew.
    pub(crate) fn outdate(&self, keys: Vec<(F, Tenure)>) {
        if keys.is_empty() {
            return;
        }
        let mut wanted = self.wanted.lock();
        keys.iter().for_each(|(key, tenure)| wanted.outdate(key, *tenure));
    }

    /// Tells handlers once more which keys are complete: one of them has only come.
    pub(crate) fn mark_complete(&self) {
        let mut publishing = self.hub.publishing();
        let last = self.wanted.lock().last_complete();
        if last > EditNumber::FIRST {
            publishing.mark(&Mark::Complete(last));
        }
    }

    /// With which number a key has become complete, if it is. `None`: its tenure is over.
    pub(crate) fn completed(&self, key: &F, tenure: Tenure) -> Option<Option<EditNumber>> {
        self.wanted.lock().completed(key, tenure)
    }

    /// Which keys have become complete after this number, and are so, in that order.
    #[cfg(feature = "tokio")]
    pub(crate) fn complete_since(&self, number: EditNumber) -> Vec<(EditNumber, F)> {
        self.wanted.lock().complete_since(number)
    }

    /// Whether any key is complete, or has been.
    pub(crate) fn knows_any(&self) -> bool {
        self.wanted.lock().knows_any()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.wanted.lock().is_closed()
    }

    pub(crate) fn is_known(&self, key: &F) -> bool {
        self.wanted.lock().is_known(key)
    }

    /// Woken when a key is complete, or all is over.
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.came.listen()
    }

    /// Woken when other keys are wanted.
    pub(crate) fn listen_wants(&self) -> Listener<'_> {
        self.wants.listen()
    }

    pub(crate) fn take_changed(&self) -> Vec<(F, Option<Tenure>)> {
        self.wanted.lock().take_changed()
    }

    /// How many keys are wanted, by how many, and how many are complete.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let wanted = self.wanted.lock();
        (wanted.len(), wanted.guards(), wanted.count_complete())
    }

    /// All is let go, and nothing changes any more.
    pub(crate) fn close(&self, now: Instant) {
        let mut publishing = self.hub.publishing();
        let over = self.wanted.lock().close();
        let news: Vec<_> = over.iter().map(|key| self.let_go(&mut publishing, now, key)).collect();
        drop(publishing);
        drop(news);
        self.hub.close();
        self.came.notify_all();
        self.wants.notify_all();
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::cache::{Change as _, Changed, Shelf as _};
    use crate::keyed::shelves::{Each, Shelved};
    use crate::reflect::Found;

    /// An object whose drop uses what held it.
    struct Meddler(Arc<Holdings<u8, Meddler>>);

    impl Drop for Meddler {
        fn drop(&mut self) {
            assert_eq!(self.0.counts().0, 0);
            drop(self.0.hub.publishing());
        }
    }

    #[test]
    fn what_is_let_go_is_dropped_where_no_lock_is_held() {
        let (tell, told) = mpsc::channel();
        // On a thread, so that a deadlock is a failure.
        let thread = std::thread::spawn(move || {
            let now = tokio::time::Instant::now().into_std();
            for linger in [Duration::ZERO, Duration::from_secs(1)] {
                let holdings = Arc::new(Holdings::new(1, 9, linger));
                let tenure = holdings.acquire(&17, now).unwrap();
                let object = Arc::new(Meddler(holdings.clone()));
                holdings.during(&17, tenure, |_| {
                    let mut change = holdings.names.change();
                    change.put(&17, &"a".parse().unwrap(), object, None);
                    change.commit()
                });
                holdings.release(&17, tenure, now);
                holdings.let_linger(now + linger);
                assert!(holdings.names.read().is_empty());
            }
            tell.send(()).unwrap();
        });
        told.recv_timeout(Duration::from_secs(20)).expect("it locks up nowhere");
        thread.join().unwrap();
    }

    #[test]
    fn what_nobody_wants_is_dropped_where_no_lock_is_held() {
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let holdings = Arc::new(Holdings::new(1, 9, Duration::ZERO));
            let asked = Arc::default();
            let under = Each { holdings: holdings.clone(), find: Arc::new(|_| Some(18)), asked };
            let shelf = Shelved { holdings: holdings.clone(), under, ordered: true, limit: 9 };
            let object = Arc::new(Meddler(holdings.clone()));
            let publishing = holdings.hub.publishing();
            let mut change = shelf.change(Changed::default());
            change.put(Found { key: "a".parse().unwrap(), version: None, object }, false, 0);
            let changed = change.commit();
            drop(publishing);
            assert_eq!(changed.displaced.len(), 1);
            drop(changed);
            tell.send(()).unwrap();
        });
        told.recv_timeout(Duration::from_secs(20)).expect("it locks up nowhere");
        thread.join().unwrap();
    }

    #[test]
    fn for_a_key_that_others_want_by_now_none_is_let_go() {
        let now = tokio::time::Instant::now().into_std();
        let holdings: Holdings<u8, ()> = Holdings::new(1, 2, Duration::from_secs(5));
        let [lingers, held] = [16, 17].map(|key| holdings.acquire(&key, now).unwrap());
        holdings.release(&16, lingers, now);
        holdings.take_changed();
        // As it goes on for one that was refused before others came for the same key.
        assert_eq!(holdings.acquire_in_place_of_another(&17, now), Ok((held, false)));
        assert_eq!((holdings.tenure(&16), holdings.take_changed()), (Some(lingers), Vec::new()));
        // In place of another it is the first of its tenure, so who keeps streams hears of both.
        let (new, is_first) = holdings.acquire_in_place_of_another(&18, now).unwrap();
        assert!(is_first);
        assert_eq!(holdings.take_changed(), [(16, None), (18, Some(new))]);
    }

    #[test]
    fn a_million_interests_in_a_key_leave_nothing_to_do() {
        let now = tokio::time::Instant::now().into_std();
        let holdings: Holdings<u8, ()> = Holdings::new(1, 9, Duration::ZERO);
        let tenure = holdings.acquire(&17, now).unwrap();
        assert_eq!(holdings.take_changed(), [(17, Some(tenure))]);
        for _ in 0..1_000_000 {
            assert_eq!(holdings.acquire(&17, now), Ok(tenure));
            holdings.release(&17, tenure, now);
        }
        assert!(holdings.take_changed().is_empty());
        assert_eq!(holdings.counts(), (1, 1, 0));
        holdings.release(&17, tenure, now);
        assert_eq!((holdings.counts(), holdings.take_changed()), ((0, 0, 0), vec![(17, None)]));
    }
}
