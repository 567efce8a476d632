//! The state of a cache: objects, ring and watchers at one revision. No clock, no lock, no waiting.

use std::sync::Arc;
use std::task::Waker;

use machinery_objects::Revision;
use machinery_store::{Change as Changed, Event, Key, WatchError};

use super::objects::IndexedObjects;
use super::pending::PendingRevisions;
use super::ring::{RevisionChanges, Ring, RingBudget, WatchChange};
use super::watchers::Watchers;
use super::{ObjectState, View};
use crate::kind::Kind;

/// The state of a cache. Objects, ring and watchers are always at the same revision.
pub(super) struct Hub {
    kind: Arc<Kind>,
    objects: IndexedObjects,
    ring: Ring,
    pub(super) watches: Watchers,
    /// The revision that the cache has reached.
    pub(super) reached: Revision,
    /// The last revision before the kind was replaced.
    last: Option<Revision>,
    ended: Option<StopReason>,
}

/// The reason that a cache stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The server stops.
    Stopped,
    /// The kind was replaced or deleted.
    Replaced,
    /// The store's watch was lost. Watchers can resume with another cache.
    Lost(WatchError),
}

/// A change of one object, already parsed.
pub(super) struct ObjectChange {
    key: Key,
    after: Option<Arc<ObjectState>>,
}

impl ObjectChange {
    pub(super) fn of(event: Event, state: impl Fn(Arc<machinery_store::Entry>) -> ObjectState) -> Self {
        match event.change {
            Changed::Put(entry) => Self { key: entry.key.clone(), after: Some(Arc::new(state(entry))) },
            Changed::Deleted(key) => Self { key, after: None },
        }
    }
}

impl Hub {
    /// Creates the state with all objects at a revision.
    pub(super) fn new(
        kind: Arc<Kind>,
        objects: IndexedObjects,
        at: Revision,
        limits: RingBudget,
        seed: u64,
    ) -> Self {
        let (ring, watches) = (Ring::new(at, limits), Watchers::new(seed));
        Self { kind, objects, ring, watches, reached: at, last: None, ended: None }
    }

    /// Applies the changes of one revision. Adds wakers to `wake`.
    pub(super) fn apply(&mut self, revision: Revision, steps: Vec<ObjectChange>, wake: &mut Vec<Waker>) {
        if self.is_past(revision) {
            return self.advance(revision, wake);
        }
        let before = self.objects.change(steps.iter().map(|step| (&step.key, step.after.clone())));
        let changes =
            before.into_iter().zip(steps).map(|(before, step)| WatchChange::new(before, step.after));
        let changes: Box<[WatchChange]> =
            changes.filter(|change| change.before.is_some() || change.after.is_some()).collect();
        let revised = Arc::new(RevisionChanges { revision, changes });
        let number = self.ring.end();
        self.watches.note(&self.kind, &revised, number, wake);
        self.ring.push(revised);
        self.reached = revision;
    }

    /// Advances to a revision without changes.
    pub(super) fn advance(&mut self, revision: Revision, wake: &mut Vec<Waker>) {
        // Not past the end of a replaced kind: later writes belong to its successor.
        self.reached = self.reached.max(self.last.map_or(revision, |last| last.min(revision)));
        self.watches.report_progress(wake);
        if self.is_past(revision.next()) {
            self.end(StopReason::Replaced, wake);
        }
    }

    /// Sets the last revision of the kind. Watchers continue up to it.
    pub(super) fn replaced(&mut self, last: Revision, wake: &mut Vec<Waker>) {
        self.last = Some(last);
        if self.reached >= last {
            self.end(StopReason::Replaced, wake);
        }
    }

    /// Stops the cache; watchers still receive their pending events.
    pub(super) fn end(&mut self, why: StopReason, wake: &mut Vec<Waker>) {
        self.ended.get_or_insert(why);
        wake.extend(self.watches.take_wakers());
    }

    pub(super) const fn ended(&self) -> Option<&StopReason> {
        self.ended.as_ref()
    }

    /// Returns a view of the current objects.
    pub(super) fn view(&self) -> View {
        self.objects.view(self.reached)
    }

    /// Starts an indexed watcher after a revision. Returns false if the ring no longer has
    /// all later revisions: then the watcher starts at the current one.
    pub(super) fn begin(&mut self, number: u32, after: Revision) -> bool {
        let place = self.ring.after(after);
        let all =
            place.and_then(|number| Some(PendingRevisions::all(number, self.ring.get(number)?.revision)));
        self.watches.slot(number).pending = all;
        place.is_some()
    }

    /// Moves a watcher that is too far behind to the end of the ring.
    pub(super) fn skip(&mut self, number: u32) -> Revision {
        self.watches.slot(number).pending = None;
        self.reached
    }

    /// Returns the next pending revision of a watcher.
    pub(super) fn read_next(&mut self, number: u32) -> RingRead {
        let slot = self.watches.slot(number);
        let Some(pending) = slot.pending.take() else { return RingRead::Nothing };
        let Some(revised) = self.ring.get(pending.number).cloned() else {
            let first = pending.revision;
            slot.pending = Some(pending);
            return RingRead::TooFarBehind(first);
        };
        let revision = |number| Some(self.ring.get(number)?.revision);
        self.watches.slot(number).pending = pending.rest(revision);
        RingRead::At(revised)
    }

    fn is_past(&self, revision: Revision) -> bool {
        self.last.is_some_and(|last| revision > last)
    }
}

/// The next pending revision of a watcher.
pub(super) enum RingRead {
    At(Arc<RevisionChanges>),
    /// The ring no longer has the pending revisions, of which this is the first.
    TooFarBehind(Revision),
    Nothing,
}
