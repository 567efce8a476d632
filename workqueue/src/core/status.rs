//! Inspection: the status of keys, and the queue's statistics.

use super::slab::{NEVER, State};
use super::{Core, Stats};
use crate::Priority;
use crate::cause::Causes;
use std::time::Duration;

/// A snapshot of the status of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyStatus<K> {
    /// The key.
    pub key: K,
    /// Its state.
    pub state: KeyState,
    /// Time since it entered the state.
    pub age: Duration,
    /// Number of failures in a row.
    pub attempts: u16,
    /// Its priority.
    pub priority: Priority,
    /// Causes of its run; of a key in flight, of the current one.
    pub causes: Causes,
}

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Queued for the next worker.
    Ready,
    /// Delayed.
    Delayed {
        /// Time until it is ready.
        next: Duration,
    },
    /// Handed to a worker and not yet completed, or held.
    InFlight {
        /// Time until its next run, if it was added meanwhile.
        rerun: Option<Duration>,
    },
}

impl<K: Eq + Clone> Core<K> {
    /// Returns the counters and sizes, and the sums that depend on the time.
    pub(crate) fn stats(&mut self, now: u64) -> Stats {
        self.advance(now);
        let longest =
            self.in_flight.iter(&self.entries).next().map_or(self.now, |slot| self.entries[slot].since);
        let all = u128::from(self.now) * self.in_flight_len as u128;
        Stats {
            ready: self.ready.len(),
            delayed: self.wheel.len(),
            in_flight: self.in_flight_len,
            held: self.held_len,
            unfinished_us: u64::try_from(all.saturating_sub(self.in_flight_since)).unwrap_or(u64::MAX),
            longest_us: self.now - longest,
            ..self.stats.clone()
        }
    }

    /// Returns the causes of the run of a key in flight.
    pub(crate) fn causes(&self, slot: u32) -> Causes {
        self.entries[slot].causes()
    }

    pub(crate) fn status(&self, hash: u32, key: &K) -> Option<KeyStatus<K>> {
        self.slot_status(self.find(hash, key)?)
    }

    /// Lists the keys in `slots`; returns whether there may be more after them.
    pub(crate) fn list_slots(&self, slots: std::ops::Range<u32>, into: &mut Vec<KeyStatus<K>>) -> bool {
        let end = slots.end.min(self.entries.slots());
        into.extend((slots.start..end).filter_map(|slot| self.slot_status(slot)));
        end < self.entries.slots()
    }

    fn slot_status(&self, slot: u32) -> Option<KeyStatus<K>> {
        let entry = &self.entries[slot];
        let until = |due: u64| Duration::from_micros(due.saturating_sub(self.now));
        let (state, level) = match entry.state {
            State::Free => return None,
            State::Ready => (KeyState::Ready, entry.level),
            State::Delayed => (KeyState::Delayed { next: until(entry.due) }, entry.level),
            State::InFlight | State::Held => {
                let rerun = (entry.due != NEVER).then(|| until(entry.due));
                (KeyState::InFlight { rerun }, entry.level.max(entry.rerun_level))
            }
        };
        Some(KeyStatus {
            key: entry.key.clone()?,
            state,
            age: Duration::from_micros(self.now.saturating_sub(entry.since)),
            attempts: entry.attempts,
            priority: Priority::from_level(level),
            causes: entry.causes(),
        })
    }
}
