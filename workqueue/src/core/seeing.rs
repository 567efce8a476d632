//! Looking in.

use super::slab::{NEVER, State};
use super::{Core, Stats};
use crate::Priority;
use crate::cause::Causes;
use std::time::Duration;

/// One key, as it was when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen<K> {
    /// The key.
    pub key: K,
    /// Where it is.
    pub state: SeenState,
    /// How long it has been there.
    pub age: Duration,
    /// How often it has failed in a row.
    pub attempts: u16,
    /// How urgent it is.
    pub priority: Priority,
    /// Why it will run; of a key that is out, why it does.
    pub causes: Causes,
}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenState {
    /// Queued for the next worker.
    Ready,
    /// Queued in so long.
    Delayed {
        /// Until it is ready.
        next: Duration,
    },
    /// With a worker, or held.
    Out {
        /// In how long it will run again, as far as is known before the answer.
        rerun: Option<Duration>,
    },
}

impl<K: Eq + Clone> Core<K> {
    /// The counts, and the sums that depend on the time.
    pub(crate) fn stats(&mut self, now: u64) -> Stats {
        self.turn(now);
        let longest = self.out.iter(&self.entries).next().map_or(self.now, |slot| self.entries[slot].since);
        let all = u128::from(self.now) * self.out_len as u128;
        Stats {
            ready: self.ready.len(),
            delayed: self.wheel.len(),
            out: self.out_len,
            held: self.held_len,
            unfinished_us: u64::try_from(all.saturating_sub(self.out_since)).unwrap_or(u64::MAX),
            longest_us: self.now - longest,
            ..self.stats.clone()
        }
    }

    /// Why a key that is out runs.
    pub(crate) fn causes(&self, slot: u32) -> Causes {
        self.entries[slot].causes()
    }

    pub(crate) fn see(&self, hash: u32, key: &K) -> Option<Seen<K>> {
        self.seen(self.find(hash, key)?)
    }

    /// The keys in `slots`, and whether there may be more after them.
    pub(crate) fn see_some(&self, slots: std::ops::Range<u32>, into: &mut Vec<Seen<K>>) -> bool {
        let end = slots.end.min(self.entries.slots());
        into.extend((slots.start..end).filter_map(|slot| self.seen(slot)));
        end < self.entries.slots()
    }

    fn seen(&self, slot: u32) -> Option<Seen<K>> {
        let entry = &self.entries[slot];
        let until = |due: u64| Duration::from_micros(due.saturating_sub(self.now));
        let (state, level) = match entry.state {
            State::Free => return None,
            State::Ready => (SeenState::Ready, entry.level),
            State::Delayed => (SeenState::Delayed { next: until(entry.due) }, entry.level),
            State::Out | State::Held => {
                let rerun = (entry.due != NEVER).then(|| until(entry.due));
                (SeenState::Out { rerun }, entry.level.max(entry.rerun_level))
            }
        };
        Some(Seen {
            key: entry.key.clone()?,
            state,
            age: Duration::from_micros(self.now.saturating_sub(entry.since)),
            attempts: entry.attempts,
            priority: Priority::from_level(level),
            causes: entry.causes(),
        })
    }
}
