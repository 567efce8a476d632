//! Adds: inserts a new key, or merges the add into the key's entry.

use super::slab::{Entry, State};
use super::{Core, spread};
use crate::add::{Add, Added, When};
use hashbrown::hash_table::Entry as TableEntry;

/// A source of a key: compared first, and taken only if the key is new.
pub(crate) trait KeySource<K> {
    fn key(&self) -> &K;
    fn take(&mut self) -> K;
}

/// The hash and tenant of a key, computed before the lock is taken.
#[derive(Clone, Copy)]
pub(crate) struct HashedKey {
    pub hash: u32,
    pub tenant: u32,
}

/// The reason for which an add is refused.
#[derive(Clone, Copy)]
pub(crate) enum Refusal {
    Closed,
    Full { limit: usize },
}

/// The time of a run: at `due`, but not after `hard`. A debounced schedule may move `due` later.
#[derive(Clone, Copy)]
struct Schedule {
    due: u64,
    hard: u64,
    debounces: bool,
}

impl<K: Eq + Clone> Core<K> {
    /// `now` may be a tick late. `exact` returns the true time: it is called only for adds with a
    /// deadline that is not merged into an earlier one.
    #[inline]
    pub(crate) fn add(
        &mut self,
        now: u64,
        exact: impl FnOnce() -> u64,
        known: HashedKey,
        given: &mut impl KeySource<K>,
        add: &Add,
    ) -> Result<Added, Refusal> {
        self.advance(now);
        if self.phase.refuses() {
            self.stats.refused_closed += 1;
            return Err(Refusal::Closed);
        }
        let HashedKey { hash, tenant } = known;
        let full = self.table.len() >= self.capacity;
        let Self { table, entries, .. } = self;
        let key = given.key();
        let same = |&slot: &u32| entries[slot].hash == hash && entries[slot].key.as_ref() == Some(key);
        let slot = match table.entry(spread(hash), same, |&slot| spread(entries[slot].hash)) {
            TableEntry::Occupied(found) => {
                let slot = *found.get();
                return Ok(self.merge(slot, exact, add));
            }
            // After the lookup: a full queue still merges adds of the keys that it holds.
            TableEntry::Vacant(_) if full => {
                self.stats.refused_full += 1;
                return Err(Refusal::Full { limit: self.capacity });
            }
            TableEntry::Vacant(vacant) => {
                let slot = entries.insert(given.take(), hash);
                vacant.insert(slot);
                self.ready.assign(slot, tenant);
                slot
            }
        };
        let entry = &mut self.entries[slot];
        entry.level = add.priority.level();
        entry.merge_cause(add.cause);
        if let Some(schedule) = self.deadline(add, exact) {
            let entry = &mut self.entries[slot];
            (entry.due, entry.hard) = (schedule.due, schedule.hard);
            self.schedule(slot);
        } else {
            self.make_ready(slot, self.now);
        }
        Ok(Added::Queued)
    }

    #[inline]
    fn merge(&mut self, slot: u32, exact: impl FnOnce() -> u64, add: &Add) -> Added {
        self.stats.merged += 1;
        let level = add.priority.level();
        let entry = &mut self.entries[slot];
        match entry.state {
            State::InFlight | State::Held => {
                // Kept in the entry and not queued: no two workers have the same key.
                entry.rerun_level = entry.rerun_level.max(level);
                let schedule = self.deadline(add, exact).unwrap_or(Schedule::at(self.now));
                self.entries[slot].merge_schedule(schedule);
                if let Some(cause) = add.cause {
                    self.rerun_causes.merge(&mut self.entries, slot, cause);
                }
                Added::Rerun
            }
            State::Ready => {
                entry.merge_cause(add.cause);
                if level > entry.level {
                    self.ready.remove(&mut self.entries, slot);
                    self.entries[slot].level = level;
                    self.ready.push(&mut self.entries, slot);
                }
                Added::Merged
            }
            State::Delayed => {
                entry.merge_cause(add.cause);
                entry.level = entry.level.max(level);
                self.reschedule(slot, exact, add);
                Added::Merged
            }
            State::Free => unreachable!("the table holds no free slot"),
        }
    }

    /// Moves a delayed entry to another time, if the add changes it.
    #[inline]
    fn reschedule(&mut self, slot: u32, exact: impl FnOnce() -> u64, add: &Add) {
        let hard = self.entries[slot].hard;
        if let When::After(delay) = add.when
            && self.later_by(delay) >= hard
        {
            // Later even by a time that lags: it changes nothing.
            return;
        }
        let schedule = self.deadline(add, exact).unwrap_or(Schedule::at(self.now));
        let entry = &mut self.entries[slot];
        let (due, hard) = entry.merged(schedule);
        if due == entry.due {
            entry.hard = hard;
            return;
        }
        // The time that its token paid for is replaced, so the token goes back.
        self.wheel.remove(&mut self.entries, slot);
        self.refund(slot);
        let entry = &mut self.entries[slot];
        (entry.due, entry.hard) = (due, hard);
        self.schedule(slot);
    }

    /// Returns the schedule of an add that is not for now. Advances the time to the exact one.
    #[inline]
    fn deadline(&mut self, add: &Add, exact: impl FnOnce() -> u64) -> Option<Schedule> {
        if add.when.is_now(self.debounce.is_some()) {
            return None;
        }
        // Counted from a late tick, the delay would end too early.
        self.now = self.now.max(exact());
        Some(match (add.when, self.debounce) {
            (When::Debounced(debounce), _) | (When::Configured, Some(debounce)) => Schedule {
                due: self.later_by(debounce.quiet()),
                hard: self.later_by(debounce.max_wait()),
                debounces: true,
            },
            (When::After(delay), _) => Schedule::at(self.later_by(delay)),
            (When::Now | When::Configured, _) => Schedule::at(self.now),
        })
    }
}

impl Schedule {
    fn at(due: u64) -> Self {
        Self { due, hard: due, debounces: false }
    }
}

impl<K> KeySource<K> for Option<K> {
    #[inline]
    fn key(&self) -> &K {
        self.as_ref().expect("it is taken at most once, and looked at before")
    }

    #[inline]
    fn take(&mut self) -> K {
        Option::take(self).expect("it is taken at most once")
    }
}

impl<K: Clone> KeySource<K> for &K {
    #[inline]
    fn key(&self) -> &K {
        self
    }

    #[inline]
    fn take(&mut self) -> K {
        (*self).clone()
    }
}

impl<K> Entry<K> {
    /// Returns `due` and `hard` after one more schedule: the earliest hard time stands; a debounced
    /// schedule moves `due` to its quiet time, within that; a plain one never moves it later.
    fn merged(&self, schedule: Schedule) -> (u64, u64) {
        let hard = self.hard.min(schedule.hard);
        let due = if schedule.debounces { schedule.due } else { self.due };
        (due.min(hard), hard)
    }

    pub(super) fn merge_due(&mut self, due: u64) {
        self.merge_schedule(Schedule::at(due));
    }

    fn merge_schedule(&mut self, schedule: Schedule) {
        (self.due, self.hard) = self.merged(schedule);
    }
}
