//! The watchers of a cache: each has pending revisions, index entries and a waker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Waker};

use foldhash::fast::FixedState;

use super::index::Index;
use super::pending::Pending;
use super::ring::Revised;
use super::term::each_term;
use super::wanted::Filed;
use super::{Term, Wanted};
use crate::kind::Kind;

/// All running watchers.
pub(super) struct Watches {
    seed: FixedState,
    index: Index,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Watchers by the tick of their alarm. An entry whose watcher is scheduled elsewhere is stale.
    alarms: BTreeMap<u32, Vec<u32>>,
    /// Watchers with an open progress request.
    asking: Vec<u32>,
    pub(super) looked_at: u64,
}

/// One watcher.
#[derive(Default)]
pub(super) struct Slot {
    wanted: Option<Arc<Wanted>>,
    pub(super) pending: Option<Pending>,
    pub(super) waker: Option<Waker>,
    /// An open progress request, and its completion.
    asks: bool,
    pub(super) told: bool,
    /// The tick of the alarm, and the tick under which it is scheduled.
    alarm: Option<u32>,
    kept: Option<u32>,
}

impl Slot {
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

impl Watches {
    pub(super) fn new(seed: u64) -> Self {
        let seed = FixedState::with_seed(seed);
        let (slots, free, asking) = (Vec::new(), Vec::new(), Vec::new());
        Self { seed, index: Index::new(), slots, free, alarms: BTreeMap::new(), asking, looked_at: 0 }
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
    pub(super) fn add(&mut self, wanted: &Arc<Wanted>, by_keys: bool) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                // Doubling would be much of the memory of idle watchers.
                self.slots.reserve_exact(FEW + self.slots.len() / 8);
            }
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[number as usize] = Slot { wanted: Some(wanted.clone()), ..Slot::default() };
        if !by_keys {
            self.each_filed(wanted, |index, term| index.add(term, number));
        }
        number
    }

    /// Removes a watcher whose keys are already removed.
    pub(super) fn remove(&mut self, wanted: &Wanted, by_keys: bool, number: u32) -> Slot {
        if !by_keys {
            self.each_filed(wanted, |index, term| index.remove(term, number));
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

    pub(super) fn slot(&mut self, number: u32) -> &mut Slot {
        &mut self.slots[number as usize]
    }

    /// Marks a revision as pending for all watchers that it concerns, found by the terms of the old
    /// and the new state, and adds their wakers to `wake`.
    pub(super) fn note(&mut self, kind: &Kind, revised: &Revised, number: u64, wake: &mut Vec<Waker>) {
        let Self { seed, index, slots, looked_at, .. } = self;
        for change in &revised.changes {
            for state in [&change.before, &change.after].into_iter().flatten() {
                each_term(kind, state, |term| {
                    index.each(term.hash(seed), |watch| {
                        let slot = &mut slots[watch as usize];
                        *looked_at += 1;
                        let knows = slot.pending.as_ref().is_some_and(|pending| pending.has(number));
                        if knows || !slot.wanted.as_ref().is_some_and(|wanted| wanted.sees(state)) {
                            return;
                        }
                        match &mut slot.pending {
                            Some(pending) => pending.note(number),
                            None => {
                                slot.pending = Some(Pending::one(number, revised.revision));
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
    pub(super) fn ask(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        if !std::mem::replace(&mut slot.asks, true) {
            self.asking.push(number);
        }
    }

    /// Completes all progress requests; adds wakers to `wake`.
    pub(super) fn tell(&mut self, wake: &mut Vec<Waker>) {
        for number in self.asking.drain(..) {
            let slot = &mut self.slots[number as usize];
            // The slot may have been reused.
            if std::mem::take(&mut slot.asks) {
                slot.told = true;
                wake.extend(slot.waker.take());
            }
        }
    }

    /// Sets an alarm. Returns whether it is the earliest of all.
    pub(super) fn set_alarm(&mut self, number: u32, now: u32, tick: u32) -> bool {
        let slot = &mut self.slots[number as usize];
        slot.alarm = Some(tick);
        let tick = tick.min(now.saturating_add(FARTHEST));
        if slot.kept.is_some_and(|kept| kept <= tick) {
            return false;
        }
        slot.kept = Some(tick);
        let first = self.next_alarm().is_none_or(|first| tick < first);
        self.alarms.entry(tick).or_default().push(number);
        first
    }

    /// Returns the tick of the earliest alarm.
    pub(super) fn next_alarm(&self) -> Option<u32> {
        self.alarms.first_key_value().map(|(tick, _)| *tick)
    }

    /// Fires the alarms up to this tick; adds wakers to `wake`.
    pub(super) fn ring(&mut self, now: u32, wake: &mut Vec<Waker>) {
        while let Some(entry) = self.alarms.first_entry().filter(|entry| *entry.key() <= now) {
            let (under, numbers) = entry.remove_entry();
            for number in numbers {
                let slot = &mut self.slots[number as usize];
                if slot.kept != Some(under) {
                    continue;
                }
                slot.kept = None;
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

    fn each_filed(&mut self, wanted: &Wanted, mut each: impl FnMut(&mut Index, u64)) {
        match wanted.filed() {
            Filed::Under(terms) => {
                for term in terms {
                    each(&mut self.index, term.hash(&self.seed));
                }
            }
            Filed::Everywhere(term) => each(&mut self.index, term.hash(&self.seed)),
        }
    }
}
