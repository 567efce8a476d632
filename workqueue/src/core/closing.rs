//! Cancels one key, closes or drains the queue.

use super::Core;
use super::slab::{NEVER, State};
use std::time::Duration;

/// The phase of a queue, from open to stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    /// Refuses adds; ready keys are handed out, also those that become ready; getters do not wait.
    Closed,
    /// Refuses adds; waits for keys that are ready, in flight, or delayed to before the deadline.
    Draining {
        until: u64,
    },
    /// Refuses adds and hands nothing out.
    Stopped,
}

impl Phase {
    pub(crate) fn refuses(self) -> bool {
        self != Self::Open
    }

    pub(crate) fn stopped(self) -> bool {
        self == Self::Stopped
    }

    /// Returns whether an empty queue ends getters. A draining one does not: a key in flight may be
    /// retried.
    pub(crate) fn ends_empty(self) -> bool {
        self == Self::Closed
    }
}

impl<K: Eq + Clone> Core<K> {
    /// Removes the queued run of a key: ready, delayed, or added while in flight. A key in flight
    /// stays in flight.
    pub(crate) fn cancel(&mut self, now: u64, hash: u32, key: &K) -> (bool, Option<K>) {
        self.advance(now);
        let Some(slot) = self.find(hash, key) else { return (false, None) };
        let ended = match self.entries[slot].state {
            State::InFlight | State::Held => {
                let entry = &mut self.entries[slot];
                let pending = entry.due != NEVER;
                entry.due = NEVER;
                entry.hard = NEVER;
                entry.rerun_level = 0;
                self.rerun_causes.take(&mut self.entries, slot);
                self.stats.cancelled += u64::from(pending);
                return (pending, None);
            }
            State::Ready => {
                self.ready.remove(&mut self.entries, slot);
                self.end(slot)
            }
            State::Delayed => {
                self.wheel.remove(&mut self.entries, slot);
                self.refund(slot);
                self.end(slot)
            }
            State::Free => unreachable!("the table holds no free slot"),
        };
        self.stats.cancelled += 1;
        self.settle();
        (true, ended)
    }

    /// Resets the failures of a key; returns their number.
    pub(crate) fn forget(&mut self, hash: u32, key: &K) -> u16 {
        self.find(hash, key).map_or(0, |slot| std::mem::take(&mut self.entries[slot].attempts))
    }

    /// Refuses adds from now on. Ends a drain.
    pub(crate) fn close(&mut self) {
        if !self.phase.stopped() {
            self.phase = Phase::Closed;
        }
        self.signals.wake_all = true;
    }

    /// Refuses adds from now on, and stops after `within`, or when no key is left that could run
    /// before. Of several deadlines the earliest counts.
    pub(crate) fn drain(&mut self, now: u64, within: Duration) {
        self.advance(now);
        let until = self.later_by(within);
        self.phase = match self.phase {
            Phase::Open | Phase::Closed => Phase::Draining { until },
            Phase::Draining { until: other } => Phase::Draining { until: until.min(other) },
            Phase::Stopped => Phase::Stopped,
        };
        self.settle();
        self.rearm();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.phase.stopped()
    }

    pub(crate) fn drains(&self) -> bool {
        matches!(self.phase, Phase::Draining { .. })
    }

    /// Stops a drain that is complete or at its deadline.
    #[inline]
    pub(super) fn settle(&mut self) {
        let Phase::Draining { until } = self.phase else { return };
        if self.now >= until || self.is_drained(until) {
            self.phase = Phase::Stopped;
            self.signals.wake_all = true;
        }
    }

    fn is_drained(&self, until: u64) -> bool {
        self.ready.len() == 0
            && self.in_flight_len == 0
            && self.held_len == 0
            && self.wheel.earliest(&self.entries).is_none_or(|due| due >= until)
    }
}
