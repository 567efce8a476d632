//! Recent revisions, shared by all watchers of a kind.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use machinery_objects::Revision;
use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicUsize, Ordering};

use super::{EventType, ObjectState};
use crate::accept;
use crate::table::Include;

/// The changes of one revision to objects of a kind; never empty.
pub(crate) struct RevisionChanges {
    pub(crate) revision: Revision,
    pub(crate) changes: Box<[WatchChange]>,
}

/// The change of one object. At least one of the two states is present.
pub(crate) struct WatchChange {
    pub(crate) before: Option<Arc<ObjectState>>,
    pub(crate) after: Option<Arc<ObjectState>>,
    /// Encodings for watches, by format. `None`: no longer cached.
    encodings: Mutex<Option<Vec<(EventEncoding, Bytes)>>>,
}

/// The format of a change in a watch over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventEncoding {
    pub(crate) answer: accept::ResponseFormat,
    pub(crate) include: Include,
    pub(crate) what: EventType,
}

impl WatchChange {
    pub(crate) fn new(before: Option<Arc<ObjectState>>, after: Option<Arc<ObjectState>>) -> Self {
        Self { before, after, encodings: Mutex::new(Some(Vec::new())) }
    }

    /// Returns the encoding, cached by the first caller.
    pub(crate) fn encoded<E>(
        &self,
        form: EventEncoding,
        write: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let mut encodings = self.encodings.lock();
        let Some(kept) = &mut *encodings else {
            drop(encodings);
            return write();
        };
        if let Some((_, bytes)) = kept.iter().find(|(other, _)| *other == form) {
            return Ok(bytes.clone());
        }
        // Encoded under the lock: concurrent watchers wait for the result instead of encoding too.
        let bytes = write()?;
        kept.push((form, bytes.clone()));
        Ok(bytes)
    }

    /// Drops the cached encodings; later callers encode again.
    fn drop_encodings(&self) {
        let _forms = self.encodings.lock().take();
    }

    fn bytes(&self) -> usize {
        let bytes =
            |state: &Option<Arc<ObjectState>>| state.as_ref().map_or(0, |state| state.entry.value.len());
        bytes(&self.before) + bytes(&self.after)
    }
}

impl RevisionChanges {
    fn bytes(&self) -> usize {
        self.changes.iter().map(WatchChange::bytes).sum()
    }
}

/// The newest revisions, numbered consecutively.
pub(super) struct Ring {
    revised: VecDeque<Arc<RevisionChanges>>,
    /// The number of the first revision in the ring.
    first: u64,
    /// All revisions after this one are in the ring.
    since: Revision,
    bytes: usize,
    /// The number of the first revision with cached encodings, and the bytes of objects from there
    /// on.
    encoded_from: u64,
    encoded_bytes: usize,
    limits: RingLimits,
    all: AllRings,
}

/// Limits of revisions with cached encodings: nearly all watchers read within them.
const ENCODED_LIMITS: RingLimits = RingLimits { revisions: 1024, bytes: 4 << 20 };

/// Limits on revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingLimits {
    pub(crate) revisions: usize,
    /// Bytes of the objects' states.
    pub(crate) bytes: usize,
}

/// The limits of a ring, and the memory that all rings share.
#[derive(Clone, Debug)]
pub(crate) struct RingBudget {
    pub(crate) each: RingLimits,
    pub(crate) all: AllRings,
}

/// The bytes of the objects' states in all rings, and their limit.
#[derive(Clone, Debug)]
pub(crate) struct AllRings {
    bytes: Arc<AtomicUsize>,
    limit: usize,
}

impl AllRings {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Arc::new(AtomicUsize::new(0)), limit }
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.limit
    }
}

/// A ring that shares its memory with no other.
impl From<RingLimits> for RingBudget {
    fn from(each: RingLimits) -> Self {
        Self { each, all: AllRings::new(usize::MAX) }
    }
}

impl Ring {
    pub(super) fn new(since: Revision, budget: RingBudget) -> Self {
        let RingBudget { each: limits, all } = budget;
        Self {
            revised: VecDeque::new(),
            first: 0,
            since,
            bytes: 0,
            encoded_from: 0,
            encoded_bytes: 0,
            limits,
            all,
        }
    }

    pub(super) fn push(&mut self, revised: Arc<RevisionChanges>) {
        let bytes = revised.bytes();
        self.bytes += bytes;
        self.all.add(bytes);
        self.encoded_bytes += bytes;
        self.revised.push_back(revised);
        while self.end() - self.encoded_from > ENCODED_LIMITS.revisions as u64
            || self.encoded_bytes > ENCODED_LIMITS.bytes && self.end() - self.encoded_from > 1
        {
            self.drop_encodings();
        }
        while self.revised.len() > self.limits.revisions.max(1)
            || (self.bytes > self.limits.bytes || self.all.is_over()) && self.revised.len() > 1
        {
            if self.encoded_from == self.first {
                self.drop_encodings();
            }
            let Some(gone) = self.revised.pop_front() else { break };
            self.bytes -= gone.bytes();
            self.all.remove(gone.bytes());
            self.first += 1;
            self.since = gone.revision;
        }
    }

    /// Drops the encodings of the oldest revision that has them.
    fn drop_encodings(&mut self) {
        if let Some(old) = self.get(self.encoded_from) {
            let bytes = old.bytes();
            old.changes.iter().for_each(WatchChange::drop_encodings);
            self.encoded_bytes -= bytes;
        }
        self.encoded_from += 1;
    }

    /// Returns the number of the next revision.
    pub(super) fn end(&self) -> u64 {
        self.first + self.revised.len() as u64
    }

    /// Returns a revision by number, if still in the ring.
    pub(super) fn get(&self, number: u64) -> Option<&Arc<RevisionChanges>> {
        self.revised.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Returns the number of the first revision after a revision, if the ring has all of them.
    pub(super) fn after(&self, revision: Revision) -> Option<u64> {
        let known = self.revised.partition_point(|revised| revised.revision <= revision);
        (revision >= self.since).then_some(self.first + known as u64)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.all.remove(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_store::Entry;

    #[test]
    fn all_rings_share_their_memory() {
        let each = RingLimits { revisions: 100, bytes: 1000 };
        let all = AllRings::new(1500);
        let ring = || Ring::new(Revision(0), RingBudget { each, all: all.clone() });
        let (mut idle, mut busy) = (ring(), ring());
        (1..=10).for_each(|revision| idle.push(revised(revision, 100)));
        (1..=10).for_each(|revision| busy.push(revised(revision, 100)));
        assert_eq!((idle.bytes, busy.bytes), (1000, 500));
        busy.push(revised(11, 900));
        assert_eq!((busy.bytes, busy.after(Revision(10))), (900, Some(10)), "the newest is always there");
        drop(idle);
        (12..=30).for_each(|revision| busy.push(revised(revision, 100)));
        assert_eq!((busy.bytes, all.bytes.load(Ordering::Relaxed)), (1000, 1000));
        drop(busy);
        assert_eq!(all.bytes.load(Ordering::Relaxed), 0);
    }

    fn revised(revision: u64, bytes: usize) -> Arc<RevisionChanges> {
        let (created, modified) = (Revision(1), Revision(revision));
        let entry = Entry { key: "k".into(), value: vec![0; bytes].into(), created, modified };
        let change = WatchChange::new(None, Some(Arc::new(ObjectState::bare(Arc::new(entry)))));
        Arc::new(RevisionChanges { revision: modified, changes: [change].into() })
    }

    #[test]
    fn the_ring_keeps_the_newest_revisions_within_its_limits() {
        let mut ring = Ring::new(Revision(5), RingLimits { revisions: 3, bytes: 100 }.into());
        assert_eq!((ring.after(Revision(5)), ring.after(Revision(4)), ring.end()), (Some(0), None, 0));
        for revision in [7, 9, 10] {
            ring.push(revised(revision, 10));
        }
        let after = |ring: &Ring, revision| ring.after(Revision(revision));
        assert_eq!(
            [5, 6, 7, 8, 9, 10, 11].map(|revision| after(&ring, revision)),
            [0, 0, 1, 1, 2, 3, 3].map(Some)
        );
        ring.push(revised(12, 10));
        assert_eq!((after(&ring, 6), after(&ring, 7), ring.end()), (None, Some(1), 4));
        assert!(ring.get(0).is_none() && ring.get(4).is_none());
        assert_eq!(ring.get(1).map(|revised| revised.revision), Some(Revision(9)));
        ring.push(revised(13, 85));
        assert_eq!((after(&ring, 9), after(&ring, 10), ring.bytes), (None, Some(3), 95));
        ring.push(revised(14, 1000));
        assert_eq!((after(&ring, 13), ring.get(5).is_some()), (Some(5), true), "the newest is always there");
    }

    #[test]
    fn encodings_are_kept_for_the_newest_revisions() {
        let mut ring = Ring::new(Revision(0), RingLimits { revisions: 3, bytes: usize::MAX }.into());
        let is_kept = |ring: &Ring, number| {
            ring.get(number)
                .is_some_and(|revised: &Arc<RevisionChanges>| revised.changes[0].encodings.lock().is_some())
        };
        let megabyte = 1 << 20;
        for (revision, bytes) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 4 * megabyte - 2)] {
            ring.push(revised(revision, bytes));
        }
        assert_eq!([2, 3, 4].map(|number| is_kept(&ring, number)), [true; 3]);
        assert_eq!(ring.encoded_bytes, 4 * megabyte, "as much as may be");
        ring.push(revised(6, 2));
        assert_eq!([3, 4, 5].map(|number| is_kept(&ring, number)), [false, true, true]);
        ring.push(revised(7, 5 * megabyte));
        assert_eq!([4, 5, 6].map(|number| is_kept(&ring, number)), [false, false, true], "the newest always");

        let mut ring = Ring::new(Revision(0), RingLimits { revisions: 2000, bytes: usize::MAX }.into());
        (0..1500).for_each(|revision| ring.push(revised(revision, 1)));
        assert_eq!([475, 476, 1499].map(|number| is_kept(&ring, number)), [false, true, true]);
        assert_eq!(ring.encoded_bytes, 1024);
    }

    #[test]
    fn a_change_is_encoded_once_per_format() {
        let change = WatchChange::new(None, None);
        let mut times = 0;
        for what in
            [EventType::Added, EventType::Modified, EventType::Added, EventType::Modified, EventType::Added]
        {
            let form = EventEncoding {
                answer: accept::ResponseFormat::default(),
                include: Include::default(),
                what,
            };
            let bytes = || Bytes::from(format!("{what:?}"));
            let written: Result<_, ()> = change.encoded(form, || {
                times += 1;
                Ok(bytes())
            });
            assert_eq!(written, Ok(bytes()));
        }
        assert_eq!(times, 2);
        change.drop_encodings();
        for _ in 0..2 {
            let form = EventEncoding {
                answer: accept::ResponseFormat::default(),
                include: Include::default(),
                what: EventType::Left,
            };
            let written: Result<_, ()> = change.encoded(form, || {
                times += 1;
                Ok(Bytes::new())
            });
            assert_eq!(written, Ok(Bytes::new()));
        }
        assert_eq!(times, 4, "nothing is kept any more");
    }
}
