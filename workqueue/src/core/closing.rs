//! The end: cancel one key, or close the queue.

use super::Core;
use super::slab::{NEVER, State};
use std::time::Duration;

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    /// No more adds; what is ready, or becomes so, is handed out; nobody waits.
    Closed,
    /// No more adds; waits for what is ready, out, or delayed to before the deadline.
    Draining {
        until: u64,
    },
    /// Nothing goes in or out.
    Stopped,
}

impl Phase {
    pub(crate) fn refuses(self) -> bool {
        self != Self::Open
    }

    pub(crate) fn stopped(self) -> bool {
        self == Self::Stopped
    }

    /// Whether an empty queue is the end. While draining it is not: what is out may come back.
    pub(crate) fn ends_empty(self) -> bool {
        self == Self::Closed
    }
}

impl<K: Eq + Clone> Core<K> {
    /// Takes back what is queued for a key: ready, delayed, or to be run again. What is out stays out.
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

    /// Forgets a key's failures; says how many there were.
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

    /// Refuses adds from now on, and stops after `within`, or when nothing is left that could run before. Of several
    /// deadlines the earliest counts.
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

    /// Stops a drain that has come to its end.
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
