//! Hand-outs: takes ready keys for workers.

use super::slab::{NEVER, State};
use super::{Core, Signals};

/// A key as it is handed to a worker.
#[derive(Debug)]
pub(crate) struct Handout<K> {
    pub slot: u32,
    pub key: K,
    pub attempts: u16,
    pub level: u8,
    /// Time that it was ready, in microseconds.
    pub waited: u64,
}

#[derive(Debug)]
pub(crate) enum Take<T> {
    Handout(T),
    /// No key is ready.
    Empty,
    /// No key is ready, and none will be.
    Ended,
    /// A key is ready, but the getter must yield first.
    Yield,
}

/// Number of hand-outs without a wait after which a getter yields once. A worker that always finds
/// a key would otherwise starve the other tasks of its thread, and could not be aborted.
const STREAK: u32 = 64;

struct PassWakeOn<'a>(&'a mut Signals);

impl Drop for PassWakeOn<'_> {
    fn drop(&mut self) {
        self.0.ready += 1;
    }
}

impl<K: Eq + Clone> Core<K> {
    #[inline]
    pub(crate) fn take(&mut self, now: u64, may_yield: bool) -> Take<Handout<K>> {
        self.advance(now);
        if self.phase.stopped() {
            return Take::Ended;
        }
        let Some((slot, level)) = self.ready.peek(&self.entries) else {
            self.streak = 0;
            return if self.phase.ends_empty() { Take::Ended } else { Take::Empty };
        };
        if may_yield {
            self.streak += 1;
            if self.streak > STREAK {
                self.streak = 0;
                return Take::Yield;
            }
        }
        // The key's clone is the user's code: it runs before any change, in case it panics. The key
        // then stays ready, and another waiter must be woken, because this one has consumed its
        // wake.
        let pass_on = PassWakeOn(&mut self.signals);
        let key = self.entries[slot].key.clone().expect("an entry that is in a list has its key");
        std::mem::forget(pass_on);
        self.ready.pop(&mut self.entries, level);
        let entry = &mut self.entries[slot];
        let waited = self.now.saturating_sub(entry.since);
        let (attempts, level) = (entry.attempts, entry.level);
        entry.state = State::InFlight;
        entry.since = self.now;
        entry.due = NEVER;
        entry.hard = NEVER;
        entry.rerun_level = 0;
        self.in_flight.push_back(&mut self.entries, slot);
        self.in_flight_len += 1;
        self.in_flight_since += u128::from(self.now);
        self.stats.handed_out += 1;
        self.stats.waited.record(waited);
        Take::Handout(Handout { slot, key, attempts, level, waited })
    }
}
