//! The fake source, as tests use it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use machinery_objects::{
    Capabilities, Fields, Object, ObjectKey, ResourceVersion, Revision, Uid, WriteOutcome, WriteToken,
};
use machinery_sync::Mutex;

use super::fault::{Fault, Faults};
use super::history::{History, StoredObject};
use super::interest::InterestEdits;
use super::{OnEvent, TestObject};

/// A list/watch source in memory that keeps its history and injects [faults](Fault).
///
/// Cheap to clone. It has no clock: watches end, and bookmarks are sent, when the test says so. It
/// never waits for readers: a watch is a position in the history, which [`FakeSource::compact`]
/// shortens.
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
    /// Number of restores.
    pub(super) era: u64,
    /// How often all watches were ended.
    pub(super) ended: u64,
    /// How often bookmarks were requested.
    pub(super) marks: u64,
    pub(super) watches: u64,
    pub(super) wakers: BTreeMap<u64, Waker>,
    /// The pending edits of each interest watch.
    pub(super) edits: BTreeMap<u64, InterestEdits>,
    /// Maximum number of keys in a request.
    pub(super) max_keys: usize,
    /// Keys of an interest that are refused.
    pub(super) refused_keys: BTreeSet<Arc<str>>,
}

/// Counts the requests to a [`FakeSource`], and the events that it sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceCalls {
    /// First pages of lists.
    pub lists: u64,
    /// Later pages.
    pub pages: u64,
    /// Reads of single objects.
    pub gets: u64,
    /// Watches.
    pub watches: u64,
    /// Edits of interests.
    pub edits: u64,
    /// Objects sent in pages.
    pub listed: u64,
    /// Objects and changes sent on watches.
    pub events: u64,
    /// Bookmarks sent.
    pub bookmarks: u64,
    /// Watches that are open now.
    pub open_watches: u64,
    /// Faults injected.
    pub faults: u64,
    /// Faults injected into edits.
    pub faulty_edits: u64,
}

impl FakeSource<TestObject> {
    /// Creates an empty source of [`TestObject`]s.
    #[must_use]
    pub fn of_test_objects(can: Capabilities) -> Self {
        Self::new(can, TestObject::fields(), |thing, version, uid| {
            thing.version = Some(version);
            thing.uid = uid.into();
        })
    }
}

impl<T: Object + Clone> FakeSource<T> {
    /// Creates an empty source with these capabilities and selectable fields; `stamp` sets the
    /// version and UID of an object.
    ///
    /// Versions are opaque texts unless the capabilities say that they are ordered.
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

    /// Creates or replaces an object that is sent as unreadable.
    pub fn put_unreadable(&self, object: T) -> WriteToken {
        self.write(object, false)
    }

    /// Deletes an object, if it exists.
    pub fn delete(&self, key: &ObjectKey) -> Option<WriteToken> {
        self.change(|inner| {
            let there = inner.history.now().get(key)?;
            let uid = there.object.uid().and_then(Uid::new);
            let at = inner.history.commit(key.clone(), None);
            let wrote = WriteOutcome::Removed(Some(self.0.version(inner.era, at)));
            Some(WriteToken { key: key.clone(), uid, wrote })
        })
    }

    /// Returns the number of writes.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.0.inner.lock().history.revision()
    }

    /// Returns the version after this many writes.
    #[must_use]
    pub fn version(&self, revision: u64) -> ResourceVersion {
        let era = self.0.inner.lock().era;
        self.0.version(era, revision)
    }

    /// Returns the readable objects.
    #[must_use]
    pub fn state(&self) -> BTreeMap<ObjectKey, Arc<T>> {
        self.0.inner.lock().history.objects(true)
    }

    /// Returns the unreadable objects.
    #[must_use]
    pub fn unreadable(&self) -> BTreeMap<ObjectKey, Arc<T>> {
        self.0.inner.lock().history.objects(false)
    }

    /// Compacts the whole history: watches that are not current expire.
    pub fn compact(&self) {
        self.change(|inner| inner.history.compact(inner.history.revision()));
    }

    /// Compacts all but this many revisions.
    pub fn compact_but(&self, revisions: u64) {
        self.change(|inner| inner.history.compact(inner.history.revision().saturating_sub(revisions)));
    }

    /// Restores the state of this many revisions ago, if it is kept, as from a backup; watches end.
    /// Later writes reuse revisions.
    pub fn restore(&self, revisions: u64) {
        self.change(|inner| {
            let first = inner.history.first();
            let to = inner.history.revision().saturating_sub(revisions).max(first);
            inner.history.restore(to);
            inner.era += 1;
            inner.ended += 1;
        });
    }

    /// Sends a bookmark on each watch that requested bookmarks.
    pub fn bookmark(&self) {
        self.change(|inner| inner.marks += 1);
    }

    /// Ends all watches, as servers do after their timeout.
    pub fn end_watches(&self) {
        self.change(|inner| inner.ended += 1);
    }

    /// Refuses requests with more keys of an interest, as servers refuse long bodies.
    pub fn refuse_more_keys_than(&self, keys: usize) {
        self.0.inner.lock().max_keys = keys;
    }

    /// Injects a fault once, at its next occasion. Several for one occasion are injected in turn.
    pub fn once(&self, fault: Fault) {
        self.0.inner.lock().faults.add(fault, false);
    }

    /// Injects a fault on each occasion, until [cleared](Self::clear_faults).
    pub fn always(&self, fault: Fault) {
        self.0.inner.lock().faults.add(fault, true);
    }

    /// Clears all faults and refused keys, and ends silent watches.
    pub fn clear_faults(&self) {
        self.change(|inner| {
            inner.faults = Faults::default();
            inner.refused_keys.clear();
            inner.ended += 1;
        });
    }

    /// Returns the counts of requests.
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
            WriteToken { key, uid: Uid::new(&uid), wrote: WriteOutcome::Stored(version) }
        })
    }

    /// Changes the state, and then wakes all watches.
    fn change<R>(&self, change: impl FnOnce(&mut FakeSourceState<T>) -> R) -> R {
        let mut inner = self.0.inner.lock();
        let result = change(&mut inner);
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_values().for_each(Waker::wake);
        result
    }

    /// Wakes a watch.
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

    /// Parses a version; `None` if it is from before a restore.
    pub(super) fn revision(&self, era: u64, version: &ResourceVersion) -> Option<u64> {
        if self.can.versions_are_ordered {
            return version.revision().map(|Revision(revision)| revision);
        }
        let text = version.to_string();
        let (of, revision) = text.split_once(':')?;
        let revision = revision.parse().ok()?;
        (of.parse() == Ok(era)).then_some(revision)
    }

    /// Returns the last state of an object that was deleted at a revision.
    pub(super) fn last(&self, era: u64, revision: u64, object: &T) -> T {
        let mut last = object.clone();
        let uid = object.uid().unwrap_or_default().to_owned();
        (self.stamp)(&mut last, self.version(era, revision), &uid);
        last
    }
}

impl<T> FakeSourceState<T> {
    /// Takes the fault of the next watch event.
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
            .field("calls", &inner.calls)
            .finish_non_exhaustive()
    }
}
