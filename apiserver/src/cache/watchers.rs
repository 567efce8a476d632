//! The watchers of a cache: each has pending revisions, index entries and a waker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Waker};

use foldhash::fast::FixedState;

use super::filter::IndexPlacement;
use super::index::Index;
use super::pending::PendingRevisions;
use super::ring::RevisionChanges;
use super::term::each_term;
use super::{ObjectFilter, Term};
use crate::kind::Kind;

/// All running watchers.
pub(super) struct Watchers {
    seed: FixedState,
    index: Index,
    slots: Vec<WatcherSlot>,
    free: Vec<u32>,
    /// Watchers by the tick of their alarm. Entries of watchers scheduled elsewhere
    /// are stale.
    alarms: BTreeMap<u32, Vec<u32>>,
    /// Watchers with an open progress request.
    progress_requests: Vec<u32>,
    pub(super) examined: u64,
}

/// One watcher.
#[derive(Default)]
pub(super) struct WatcherSlot {
    filter: Option<Arc<ObjectFilter>>,
    pub(super) pending: Option<PendingRevisions>,
    pub(super) waker: Option<Waker>,
    /// An open progress request, and its completion.
    progress_requested: bool,
    pub(super) progress_ready: bool,
    /// The tick of the alarm, and the tick under which it is scheduled.
    alarm: Option<u32>,
    scheduled: Option<u32>,
}

impl WatcherSlot {
    /// Sets the waker. Returns the old one, to be dropped without the lock.
    pub(super) fn wake(&mut self, cx: &Context<'_>) -> Option<Waker> {
        match &mut self.waker {
            Some(old) if old.will_wake(cx.waker()) => None,
            waker => waker.replace(cx.waker().clone()),
        }
    }
}

/// The initial number of slots.
const FEW: usize = 16;

/// The furthest scheduled tick, so that stale alarms are dropped in time.
const FARTHEST: u32 = 600;

impl Watchers {
    pub(super) fn new(seed: u64) -> Self {
        let seed = FixedState::with_seed(seed);
        let (slots, free, progress_requests) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            seed,
            index: Index::new(),
            slots,
            free,
            alarms: BTreeMap::new(),
            progress_requests,
            examined: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len() && self.index.is_empty()
    }

    #[cfg(test)]
    pub(super) fn terms(&self) -> usize {
        self.index.len()
    }

    /// Adds a watcher and, unless it has keys, its index entries.
    pub(super) fn add(&mut self, filter: &Arc<ObjectFilter>, by_keys: bool) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                // Doubling would be much of the memory of idle watchers.
                self.slots.reserve_exact(FEW + self.slots.len() / 8);
            }
            self.slots.push(WatcherSlot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[number as usize] = WatcherSlot { filter: Some(filter.clone()), ..WatcherSlot::default() };
        if !by_keys {
            self.each_indexed(filter, |index, term| index.add(term, number));
        }
        number
    }

    /// Removes a watcher after its keys.
    pub(super) fn remove(&mut self, filter: &ObjectFilter, by_keys: bool, number: u32) -> WatcherSlot {
        if !by_keys {
            self.each_indexed(filter, |index, term| index.remove(term, number));
        }
        self.free.push(number);
        std::mem::take(&mut self.slots[number as usize])
    }

    pub(super) fn add_term(&mut self, term: &Term<'_>, number: u32) {
        self.index.add(term.hash(&self.seed), number);
    }

    pub(super) fn remove_term(&mut self, term: &Term<'_>, number: u32) {
        self.index.remove(term.hash(&self.seed), number);
    }

    pub(super) fn slot(&mut self, number: u32) -> &mut WatcherSlot {
        &mut self.slots[number as usize]
    }

    /// Marks a revision as pending for all watchers that it concerns, found by the terms of the old
    /// and the new state, and adds their wakers to `wake`.
    pub(super) fn note(
        &mut self,
        kind: &Kind,
        revised: &RevisionChanges,
        number: u64,
        wake: &mut Vec<Waker>,
    ) {
        let Self { seed, index, slots, examined, .. } = self;
        for change in &revised.changes {
            for state in [&change.before, &change.after].into_iter().flatten() {
                each_term(kind, state, |term| {
                    index.each(term.hash(seed), |watch| {
                        let slot = &mut slots[watch as usize];
                        *examined += 1;
                        // Both states may lead to the same watcher, which gets the revision once.
                        let knows = slot.pending.as_ref().is_some_and(|pending| pending.has(number));
                        if knows || !slot.filter.as_ref().is_some_and(|filter| filter.sees(state)) {
                            return;
                        }
                        match &mut slot.pending {
                            Some(pending) => pending.note(number),
                            None => {
                                // Woken for the first one only: its poll reads the following ones.
                                slot.pending = Some(PendingRevisions::one(number, revised.revision));
                                wake.extend(slot.waker.take());
                            }
                        }
                    });
                });
            }
        }
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.slots.iter_mut().filter_map(|slot| slot.waker.take()).collect()
    }

    /// Opens a progress request.
    pub(super) fn request_progress(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        if !std::mem::replace(&mut slot.progress_requested, true) {
            self.progress_requests.push(number);
        }
    }

    /// Completes all progress requests; adds wakers to `wake`.
    pub(super) fn report_progress(&mut self, wake: &mut Vec<Waker>) {
        for number in self.progress_requests.drain(..) {
            let slot = &mut self.slots[number as usize];
            // The slot may have been reused.
            if std::mem::take(&mut slot.progress_requested) {
                slot.progress_ready = true;
                wake.extend(slot.waker.take());
            }
        }
    }

    /// Sets an alarm. Returns whether it is the earliest of all.
    pub(super) fn set_alarm(&mut self, number: u32, now: u32, tick: u32) -> bool {
        let slot = &mut self.slots[number as usize];
        slot.alarm = Some(tick);
        let tick = tick.min(now.saturating_add(FARTHEST));
        // The earlier entry reschedules itself when it fires: no entry per postponement.
        if slot.scheduled.is_some_and(|scheduled| scheduled <= tick) {
            return false;
        }
        slot.scheduled = Some(tick);
        let first = self.next_alarm().is_none_or(|first| tick < first);
        self.alarms.entry(tick).or_default().push(number);
        first
    }

    /// Returns the tick of the earliest alarm.
    pub(super) fn next_alarm(&self) -> Option<u32> {
        self.alarms.first_key_value().map(|(tick, _)| *tick)
    }

    /// Fires the alarms up to this tick; adds wakers to `wake`.
    pub(super) fn fire_alarms(&mut self, now: u32, wake: &mut Vec<Waker>) {
        while let Some(entry) = self.alarms.first_entry().filter(|entry| *entry.key() <= now) {
            let (under, numbers) = entry.remove_entry();
            for number in numbers {
                let slot = &mut self.slots[number as usize];
                if slot.scheduled != Some(under) {
                    continue;
                }
                slot.scheduled = None;
                match slot.alarm {
                    Some(tick) if tick > now => {
                        self.set_alarm(number, now, tick);
                    }
                    _ => {
                        slot.alarm = None;
                        wake.extend(slot.waker.take());
                    }
                }
            }
        }
    }

    fn each_indexed(&mut self, filter: &ObjectFilter, mut each: impl FnMut(&mut Index, u64)) {
        match filter.placement() {
            IndexPlacement::Under(terms) => {
                for term in terms {
                    each(&mut self.index, term.hash(&self.seed));
                }
            }
            IndexPlacement::Everywhere(term) => each(&mut self.index, term.hash(&self.seed)),
        }
    }
}
