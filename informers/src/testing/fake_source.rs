//! The source, as tests have it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use machinery_objects::{
    Capabilities, Fields, Object, ObjectKey, ResourceVersion, Revision, Uid, WriteToken, Wrote,
};
use machinery_sync::Mutex;

use super::fault::{Fault, Faults};
use super::history::{History, StoredObject};
use super::interest::InterestEdits;
use super::{OnEvent, TestObject};

/// A source in memory that keeps all that was, tells it as a server does, and misbehaves as it is told to. Cheap to clone.
///
/// It has no clock: watches end, and bookmarks come, when the test says so. Nothing of it waits for readers: a watch is a
/// place in the history, which [`FakeSource::compact`] shortens.
pub struct FakeSource<T>(pub(super) Arc<FakeSourceShared<T>>);

pub(super) struct FakeSourceShared<T> {
    pub(super) can: Capabilities,
    pub(super) fields: Fields<T>,
    stamp: fn(&mut T, ResourceVersion, &str),
    pub(super) inner: Mutex<FakeSourceState<T>>,
}

pub(super) struct FakeSourceState<T> {
    pub(super) history: History<T>,
    pub(super) faults: Faults,
    pub(super) calls: SourceCalls,
    /// How often it was restored.
    pub(super) era: u64,
    /// How often all watches were ended.
    pub(super) ended: u64,
    /// How often all watches were to tell how far they are.
    pub(super) marks: u64,
    pub(super) watches: u64,
    pub(super) wakers: BTreeMap<u64, Waker>,
    /// Of watches by interest: what is to become of their keys.
    pub(super) edits: BTreeMap<u64, InterestEdits>,
    /// So many keys may be in a request.
    pub(super) max_keys: usize,
    /// Of an interest.
    pub(super) refused_keys: BTreeSet<Arc<str>>,
}

/// What a [`FakeSource`] was asked for, and what it told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceCalls {
    /// Lists that were begun.
    pub lists: u64,
    /// Pages after the first.
    pub pages: u64,
    /// Single objects.
    pub gets: u64,
    /// Watches.
    pub watches: u64,
    /// Edits of interests.
    pub edits: u64,
    /// Objects in pages.
    pub listed: u64,
    /// Objects of the state, and changes, on watches.
    pub events: u64,
    /// Bookmarks.
    pub bookmarks: u64,
    /// Watches that are under way now.
    pub open_watches: u64,
    /// Faults that were met.
    pub faults: u64,
    /// Those of them that an edit met.
    pub faulty_edits: u64,
}

impl FakeSource<TestObject> {
    /// An empty one, of [`TestObject`]s.
    #[must_use]
    pub fn of_test_objects(can: Capabilities) -> Self {
        Self::new(can, TestObject::fields(), |thing, version, uid| {
            thing.version = Some(version);
            thing.uid = uid.into();
        })
    }
}

impl<T: Object + Clone> FakeSource<T> {
    /// An empty one that can do so much, selects by these fields, and puts a version and a UID into an object so.
    ///
    /// Where its versions are not ordered they are texts from which nobody can tell.
    #[must_use]
    pub fn new(can: Capabilities, fields: Fields<T>, stamp: fn(&mut T, ResourceVersion, &str)) -> Self {
        let inner = FakeSourceState {
            history: History::new(),
            faults: Faults::default(),
            calls: SourceCalls::default(),
            era: 0,
            ended: 0,
            marks: 0,
            watches: 0,
            wakers: BTreeMap::new(),
            edits: BTreeMap::new(),
            max_keys: usize::MAX,
            refused_keys: BTreeSet::new(),
        };
        Self(Arc::new(FakeSourceShared { can, fields, stamp, inner: Mutex::new(inner) }))
    }

    /// Creates or replaces an object.
    pub fn put(&self, object: T) -> WriteToken {
        self.write(object, true)
    }

    /// The same, of one that nobody can read.
    pub fn put_unreadable(&self, object: T) -> WriteToken {
        self.write(object, false)
    }

    /// Deletes an object, if it is there.
    pub fn delete(&self, key: &ObjectKey) -> Option<WriteToken> {
        self.change(|inner| {
            let there = inner.history.now().get(key)?;
            let uid = there.object.uid().and_then(Uid::new);
            let at = inner.history.commit(key.clone(), None);
            let wrote = Wrote::Removed(Some(self.0.version(inner.era, at)));
            Some(WriteToken { key: key.clone(), uid, wrote })
        })
    }

    /// How many writes there have been.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.0.inner.lock().history.revision()
    }

    /// The version after so many writes.
    #[must_use]
    pub fn version(&self, revision: u64) -> ResourceVersion {
        let era = self.0.inner.lock().era;
        self.0.version(era, revision)
    }

    /// The objects that can be read, as they are now.
    #[must_use]
    pub fn state(&self) -> BTreeMap<ObjectKey, Arc<T>> {
        self.0.inner.lock().history.objects(true)
    }

    /// Those that cannot.
    #[must_use]
    pub fn unreadable(&self) -> BTreeMap<ObjectKey, Arc<T>> {
        self.0.inner.lock().history.objects(false)
    }

    /// Forgets all that was: who is not up to date has expired.
    pub fn compact(&self) {
        self.change(|inner| inner.history.compact(inner.history.revision()));
    }

    /// Forgets all but so many revisions.
    pub fn compact_but(&self, revisions: u64) {
        self.change(|inner| inner.history.compact(inner.history.revision().saturating_sub(revisions)));
    }

    /// Goes back to how it was so many revisions ago, if that is kept; watches end. What comes now has revisions again that
    /// others had before.
    pub fn restore(&self, revisions: u64) {
        self.change(|inner| {
            let first = inner.history.first();
            let to = inner.history.revision().saturating_sub(revisions).max(first);
            inner.history.restore(to);
            inner.era += 1;
            inner.ended += 1;
        });
    }

    /// Has every watch that wants bookmarks say how far it is.
    pub fn bookmark(&self) {
        self.change(|inner| inner.marks += 1);
    }

    /// Ends every watch, as servers do when its time is over.
    pub fn end_watches(&self) {
        self.change(|inner| inner.ended += 1);
    }

    /// Refuses requests with more keys of an interest, as servers refuse bodies that are too long.
    pub fn refuse_more_keys_than(&self, keys: usize) {
        self.0.inner.lock().max_keys = keys;
    }

    /// Misbehaves once, when it next can so. Of several for one occasion each has its turn.
    pub fn once(&self, fault: Fault) {
        self.0.inner.lock().faults.add(fault, false);
    }

    /// Misbehaves whenever it can so, until it is to [behave](Self::clear_faults).
    pub fn always(&self, fault: Fault) {
        self.0.inner.lock().faults.add(fault, true);
    }

    /// Behaves from now on: no fault is to come any more, no key is refused, and watches that are silent end.
    pub fn clear_faults(&self) {
        self.change(|inner| {
            inner.faults = Faults::default();
            inner.refused_keys.clear();
            inner.ended += 1;
        });
    }

    /// What it was asked for so far.
    #[must_use]
    pub fn calls(&self) -> SourceCalls {
        self.0.inner.lock().calls
    }

    fn write(&self, mut object: T, readable: bool) -> WriteToken {
        self.change(|inner| {
            let key = object.key();
            let at = inner.history.revision() + 1;
            let version = self.0.version(inner.era, at);
            let there = inner.history.now().get(&key).and_then(|kept| kept.object.uid());
            let uid = there.map_or_else(|| format!("uid-{}-{at}", inner.era), str::to_owned);
            (self.0.stamp)(&mut object, version.clone(), &uid);
            inner.history.commit(key.clone(), Some(StoredObject { object: Arc::new(object), readable }));
            WriteToken { key, uid: Uid::new(&uid), wrote: Wrote::Stored(version) }
        })
    }

    /// Changes it, and then wakes every watch.
    fn change<R>(&self, change: impl FnOnce(&mut FakeSourceState<T>) -> R) -> R {
        let mut inner = self.0.inner.lock();
        let result = change(&mut inner);
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_values().for_each(Waker::wake);
        result
    }

    /// Wakes one watch.
    pub(super) fn wake(&self, watch: u64) {
        let waker = self.0.inner.lock().wakers.remove(&watch);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T: Object + Clone> FakeSourceShared<T> {
    pub(super) fn version(&self, era: u64, revision: u64) -> ResourceVersion {
        if self.can.versions_are_ordered {
            return Revision(revision).into();
        }
        ResourceVersion::new(&format!("{era}:{revision}")).expect("it is not empty")
    }

    /// The revision of a version; `None` if it is of another time.
    pub(super) fn revision(&self, era: u64, version: &ResourceVersion) -> Option<u64> {
        if self.can.versions_are_ordered {
            return version.revision().map(|Revision(revision)| revision);
        }
        let text = version.to_string();
        let (of, revision) = text.split_once(':')?;
        let revision = revision.parse().ok()?;
        (of.parse() == Ok(era)).then_some(revision)
    }

    /// The last state of an object that went at a revision.
    pub(super) fn last(&self, era: u64, revision: u64, object: &T) -> T {
        let mut last = object.clone();
        let uid = object.uid().unwrap_or_default().to_owned();
        (self.stamp)(&mut last, self.version(era, revision), &uid);
        last
    }
}

impl<T> FakeSourceState<T> {
    /// What is to go wrong when a watch tells something.
    pub(super) fn on_event(&mut self) -> Option<OnEvent> {
        let fault = self.faults.event.next();
        self.calls.faults += u64::from(fault.is_some());
        fault
    }
}

impl<T> Clone for FakeSource<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for FakeSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.0.inner.lock();
        f.debug_struct("FakeSource")
            .field("revision", &inner.history.revision())
            .field("asked", &inner.calls)
            .finish_non_exhaustive()
    }
}
