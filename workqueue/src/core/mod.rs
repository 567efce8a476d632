//! The queue as a state machine, without clock, lock, await or log.
//!
//! Each operation is passed the time, in microseconds since the queue was created. Time never
//! decreases: an operation with an older time is treated as one of now. Wakes for the shell to send
//! are left in [`Signals`].

mod adding;
mod closing;
mod completion;
mod list;
mod ready;
mod rerun_causes;
mod slab;
mod stats;
mod status;
mod taking;
mod tenants;
mod wheel;

#[cfg(feature = "testing")]
mod invariants;

pub(crate) use adding::{HashedKey, KeySource, Refusal};
pub(crate) use completion::FailureOutcome;
pub(crate) use taking::{Handout, Take};

pub use completion::Retried;
pub use stats::{Histogram, Stats};
pub use status::{KeyState, KeyStatus};

use crate::Debounce;
use crate::config::{Config, MAX_DELAY};
use crate::limiter::{RateLimiter, Reservation, RetryContext};
use closing::Phase;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use list::List;
use ready::Ready;
use rerun_causes::RerunCauses;
use slab::{NEVER, Slab, State};
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU16;
use std::time::Duration;
use tenants::TenantRings;
use wheel::Wheel;

/// Fields in order of use: those of every operation share as few cache lines as possible.
#[repr(C)]
pub(crate) struct Core<K> {
    /// Key to slot, by the entry's stored hash.
    table: HashTable<u32>,
    entries: Slab<K>,
    now: u64,
    ready: Ready,
    /// Keys in flight, the longest first.
    in_flight: List,
    in_flight_len: usize,
    /// Sum of the times at which they were handed out.
    in_flight_since: u128,
    phase: Phase,
    signals: Signals,
    /// Hand-outs since a getter last had to wait.
    streak: u32,
    capacity: usize,
    debounce: Option<Debounce>,
    wheel: Wheel,
    /// The time of the clock driver's next wake-up.
    armed: u64,
    stats: Stats,
    /// Causes for which keys in flight will run again.
    rerun_causes: RerunCauses,
    limiter: Box<dyn RateLimiter>,
    chance: u64,
    max_tries: Option<NonZeroU16>,
    /// Number of keys in flight that are held.
    held_len: usize,
}

/// Wakes that an operation leaves for the shell to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals {
    /// Number of keys that became ready.
    pub ready: u32,
    /// Every waiter, for a key or for the end of a drain, must check again.
    pub wake_all: bool,
    /// A key is due before the clock driver's next wake-up.
    pub rearm: bool,
}

/// Hashes keys with the queue's seed, outside the lock.
#[derive(Clone, Debug)]
pub(crate) struct Hasher(FixedState);

impl Hasher {
    pub(crate) fn new(seed: u64) -> Self {
        Self(FixedState::with_seed(seed))
    }

    /// 32 bits distinguish enough keys, and fit an entry.
    #[inline]
    pub(crate) fn hash<K: Hash>(&self, key: &K) -> u32 {
        let hash = self.0.hash_one(key);
        (hash ^ (hash >> 32)) as u32
    }
}

/// The table takes its tag from the high bits and its bucket from the low ones.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl<K: Eq + Clone> Core<K> {
    pub(crate) fn new(config: Config<K>, seed: u64, tenants: bool) -> Self {
        let tenants = tenants.then(|| Box::new(TenantRings::new(seed)));
        let aging = i64::try_from(config.aging.as_micros()).expect("Config::check caps aging at a day");
        Self {
            now: 0,
            entries: Slab::new(),
            table: HashTable::new(),
            ready: Ready::new(aging, tenants),
            wheel: Wheel::new(),
            in_flight: List::EMPTY,
            in_flight_len: 0,
            in_flight_since: 0,
            held_len: 0,
            rerun_causes: RerunCauses::new(seed),
            phase: Phase::Open,
            stats: Stats::default(),
            signals: Signals::default(),
            armed: NEVER,
            streak: 0,
            limiter: config.backoff,
            chance: seed,
            capacity: config.capacity,
            max_tries: config.max_tries,
            debounce: config.debounce,
        }
    }

    /// Advances the time, and makes due keys ready.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        if self.wheel.is_due(self.now) {
            self.expire();
        }
        if self.phase.refuses() {
            self.settle();
        }
    }

    /// Returns the number of ready keys.
    pub(crate) fn ready_len(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Returns the signals since the last call.
    #[inline]
    pub(crate) fn signals(&mut self) -> Signals {
        std::mem::take(&mut self.signals)
    }

    /// Returns when to call [`Core::advance`] next, if no operation does before and `tick` is not
    /// sooner. The caller must do so.
    #[cfg(feature = "tokio")]
    pub(crate) fn arm(&mut self, tick: Option<u64>) -> Option<u64> {
        let next = [self.next_wake(), tick].into_iter().flatten().min();
        self.armed = next.unwrap_or(NEVER);
        next
    }

    /// Returns the time at which a delay or a drain ends, or a little before it.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        let end = match self.phase {
            Phase::Draining { until } => Some(until),
            _ => None,
        };
        [self.wheel.next(), end].into_iter().flatten().min()
    }

    #[cold]
    fn expire(&mut self) {
        let Self { wheel, ready, entries, stats, signals, .. } = self;
        wheel.advance(entries, self.now, |entries, slot| {
            // Waiting since it was due: a late driver does not cost a key its turn.
            let due = entries[slot].due;
            make_ready(ready, entries, stats, signals, slot, due);
        });
    }

    /// Queues an entry that is in no list, by its `due`.
    #[inline]
    fn schedule(&mut self, slot: u32) {
        if self.entries[slot].due <= self.now {
            return self.make_ready(slot, self.now);
        }
        let entry = &mut self.entries[slot];
        entry.state = State::Delayed;
        entry.since = self.now;
        self.wheel.insert(&mut self.entries, slot, self.now);
        self.rearm();
    }

    #[inline]
    fn make_ready(&mut self, slot: u32, since: u64) {
        let Self { ready, entries, stats, signals, .. } = self;
        make_ready(ready, entries, stats, signals, slot, since);
    }

    fn rearm(&mut self) {
        // A wake-up that is too early does no harm, so only an earlier time is signalled.
        if let Some(next) = self.next_wake().filter(|&next| next < self.armed) {
            self.armed = next;
            self.signals.rearm = true;
        }
    }

    /// Removes an entry that is in no list. The caller drops the key, outside the lock.
    #[inline]
    fn end(&mut self, slot: u32) -> Option<K> {
        let hash = spread(self.entries[slot].hash);
        // By slot and stored hash, without hashing or comparing the key.
        if let Ok(found) = self.table.find_entry(hash, |&other| other == slot) {
            found.remove();
        }
        self.entries.remove(slot)
    }

    fn find(&self, hash: u32, key: &K) -> Option<u32> {
        let same =
            |&slot: &u32| self.entries[slot].hash == hash && self.entries[slot].key.as_ref() == Some(key);
        self.table.find(spread(hash), same).copied()
    }

    /// Refunds the token of an entry after a wait that was cut short.
    fn refund(&mut self, slot: u32) {
        let reservation = std::mem::take(&mut self.entries[slot].reservation);
        if let Some(reservation) = Reservation::from_bits(reservation) {
            self.limiter.refund(reservation);
        }
    }

    fn retry_context(&mut self, attempt: u16) -> RetryContext {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        RetryContext { attempt, now: Duration::from_micros(self.now), chance: mix(self.chance) }
    }

    #[inline]
    fn later_by(&self, delay: Duration) -> u64 {
        self.now.saturating_add(micros(delay.min(MAX_DELAY)))
    }
}

/// Converts to whole microseconds, saturating at 64 bits.
#[inline]
pub(crate) fn micros(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(duration.subsec_micros()))
}

/// Appends an entry that is in no list to its ready list.
#[inline]
fn make_ready<K>(
    ready: &mut Ready,
    entries: &mut Slab<K>,
    stats: &mut Stats,
    signals: &mut Signals,
    slot: u32,
    since: u64,
) {
    let entry = &mut entries[slot];
    entry.state = State::Ready;
    entry.since = since;
    entry.due = NEVER;
    entry.hard = NEVER;
    // The wait is over, and its token spent.
    entry.reservation = 0;
    ready.push(entries, slot);
    stats.adds += 1;
    signals.ready += 1;
}

/// SplitMix64's output function: any seed gives well-spread bits.
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
