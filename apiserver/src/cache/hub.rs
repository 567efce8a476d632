//! A kind's objects and its watches, at one moment: what happens to both, without a clock, a lock or a wait.

use std::sync::Arc;
use std::task::Waker;

use machinery_objects::Revision;
use machinery_store::{Change as Changed, Event, Key, WatchError};

use super::objects::Objects;
use super::pending::Pending;
use super::ring::{Change, Most, Revised, Ring};
use super::watches::Watches;
use super::{State, View};
use crate::kind::Kind;

/// The state of a cache. The objects, the ring and the watches are as of the same revision, always.
pub(super) struct Hub {
    kind: Arc<Kind>,
    objects: Objects,
    ring: Ring,
    pub(super) watches: Watches,
    /// All up to here is known.
    pub(super) reached: Revision,
    /// The kind is another one after this.
    last: Option<Revision>,
    ended: Option<Ended>,
}

/// Why a cache is one no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The server stops.
    Stopped,
    /// Its kind is another one now, or is gone.
    Replaced,
    /// The store does not tell what happens any more. Whoever watches can go on from where it is, by another cache.
    Lost(WatchError),
}

/// A change, with the states before and after it taken apart already.
pub(super) struct Step {
    key: Key,
    after: Option<Arc<State>>,
}

impl Step {
    pub(super) fn of(event: Event, state: impl Fn(Arc<machinery_store::Entry>) -> State) -> Self {
        match event.change {
            Changed::Put(entry) => Self { key: entry.key.clone(), after: Some(Arc::new(state(entry))) },
            Changed::Deleted(key) => Self { key, after: None },
        }
    }
}

impl Hub {
    /// With all that was there at a revision.
    pub(super) fn new(kind: Arc<Kind>, objects: Objects, at: Revision, most: Most, seed: u64) -> Self {
        let (ring, watches) = (Ring::new(at, most), Watches::new(seed));
        Self { kind, objects, ring, watches, reached: at, last: None, ended: None }
    }

    /// All that one revision did. Adds whom to wake.
    pub(super) fn take(&mut self, revision: Revision, steps: Vec<Step>, wake: &mut Vec<Waker>) {
        if self.is_past(revision) {
            return self.reach(revision, wake);
        }
        let before = self.objects.change(steps.iter().map(|step| (&step.key, step.after.clone())));
        let changes = before.into_iter().zip(steps).map(|(before, step)| Change::new(before, step.after));
        let changes: Box<[Change]> =
            changes.filter(|change| change.before.is_some() || change.after.is_some()).collect();
        let revised = Arc::new(Revised { revision, changes });
        let number = self.ring.end();
        self.watches.note(&self.kind, &revised, number, wake);
        self.ring.push(revised);
        self.reached = revision;
    }

    /// Nothing happened up to here that is not known.
    pub(super) fn reach(&mut self, revision: Revision, wake: &mut Vec<Waker>) {
        self.reached = self.reached.max(self.last.map_or(revision, |last| last.min(revision)));
        self.watches.tell(wake);
        if self.is_past(revision.next()) {
            self.end(Ended::Replaced, wake);
        }
    }

    /// The kind is another one after this revision. Watches go on up to there.
    pub(super) fn replaced(&mut self, last: Revision, wake: &mut Vec<Waker>) {
        self.last = Some(last);
        if self.reached >= last {
            self.end(Ended::Replaced, wake);
        }
    }

    /// Ends all watches, once they have what there is.
    pub(super) fn end(&mut self, why: Ended, wake: &mut Vec<Waker>) {
        self.ended.get_or_insert(why);
        wake.extend(self.watches.take_wakers());
    }

    pub(super) const fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// The objects as of now.
    pub(super) fn view(&self) -> View {
        self.objects.view(self.reached)
    }

    /// A watch that is in the index begins with what comes after a revision. False: not all of that is in the ring, and it
    /// begins with what comes from now on.
    pub(super) fn begin(&mut self, number: u32, after: Revision) -> bool {
        let place = self.ring.after(after);
        let all = place.and_then(|number| Some(Pending::all(number, self.ring.get(number)?.revision)));
        self.watches.slot(number).pending = all;
        place.is_some()
    }

    /// Puts a watch that is too far behind to where the ring ends.
    pub(super) fn skip(&mut self, number: u32) -> Revision {
        self.watches.slot(number).pending = None;
        self.reached
    }

    /// What a watch has to look at next.
    pub(super) fn look(&mut self, number: u32) -> Look {
        let slot = self.watches.slot(number);
        let Some(pending) = slot.pending.take() else { return Look::Nothing };
        let Some(revised) = self.ring.get(pending.number).cloned() else {
            let first = pending.revision;
            slot.pending = Some(pending);
            return Look::TooFarBehind(first);
        };
        let revision = |number| Some(self.ring.get(number)?.revision);
        self.watches.slot(number).pending = pending.rest(revision);
        Look::At(revised)
    }

    fn is_past(&self, revision: Revision) -> bool {
        self.last.is_some_and(|last| revision > last)
    }
}

/// What a watch finds in the ring.
pub(super) enum Look {
    At(Arc<Revised>),
    /// What it has not looked at begins with this revision, and is not in the ring any more.
    TooFarBehind(Revision),
    Nothing,
}
