//! Completion: a key in flight is done, requeued, retried or a dead letter.

use super::Core;
use super::slab::{Entry, NEVER, State};
use crate::cause::{self, Cause, Marks};
use crate::limiter::{Delay, Reservation};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The outcome of a failure. Its keys are to be dropped outside the lock.
#[derive(Debug)]
pub(crate) struct FailureOutcome<K> {
    pub retried: Retried,
    /// The key of a dead letter, and its number of failures.
    pub dead: Option<(K, u16)>,
    /// The key, if its entry was removed.
    pub ended: Option<K>,
    /// A panic of the user's code, to be resumed outside the lock. The operation was completed
    /// without that code.
    pub panicked: Option<Box<dyn Any + Send>>,
}

/// The delay of a key after a panic of its limiter.
const FALLBACK_DELAY: Duration = Duration::from_secs(1);

/// The outcome of a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// The key is handed out again after this time.
    After(Duration),
    /// The key is ready again at once: it was added meanwhile, or its limiter returned no delay.
    /// The failure still counts.
    AtOnce,
    /// The key has failed [`crate::Config::max_tries`] times in a row, and is not retried.
    DeadLetter,
}

impl<K: Eq + Clone> Core<K> {
    /// Marks a key in flight as held: its work is finished, its completion is not.
    pub(crate) fn hold(&mut self, now: u64, slot: u32) {
        self.advance(now);
        if self.entries[slot].state == State::Held {
            return;
        }
        // The wait of a held key counts neither as work nor as unfinished work.
        self.leave_in_flight(slot);
        let entry = &mut self.entries[slot];
        entry.state = State::Held;
        entry.since = self.now;
        self.held_len += 1;
    }

    /// Completes a run. Returns the key, to be dropped outside the lock, unless it runs again.
    #[inline]
    pub(crate) fn done(&mut self, now: u64, slot: u32) -> Option<K> {
        self.advance(now);
        self.leave_in_flight(slot);
        let ended = self.finish(slot);
        self.settle();
        ended
    }

    /// Completes a run and requeues the key.
    pub(crate) fn after(&mut self, now: u64, slot: u32, delay: Duration) {
        self.advance(now);
        self.leave_in_flight(slot);
        self.start_next_causes(slot);
        let due = self.later_by(delay);
        let entry = &mut self.entries[slot];
        entry.attempts = 0;
        entry.keep_level();
        entry.merge_cause(Some(cause::AFTER));
        entry.merge_due(due);
        self.requeue(slot);
        self.settle();
    }

    /// Counts a failure, and requeues the key.
    pub(crate) fn fail(&mut self, now: u64, slot: u32, abandoned: bool) -> FailureOutcome<K> {
        self.advance(now);
        let attempts = self.entries[slot].attempts.saturating_add(1);
        if self.max_tries.is_some_and(|max| attempts >= max.get()) {
            let (key, panicked) = catch_panic(|| self.entries[slot].key.clone());
            let dead = key.flatten().map(|key| (key, attempts));
            let ended = self.dead_letter(slot, abandoned);
            return FailureOutcome { retried: Retried::DeadLetter, dead, ended, panicked };
        }
        // A key that was added meanwhile runs at once, and takes no token.
        let (mut delay, mut panicked) = (None, None);
        if self.entries[slot].due > self.now {
            let context = self.retry_context(attempts);
            (delay, panicked) = catch_panic(|| self.limiter.take(&context));
            delay = delay.or(Some(Delay { wait: FALLBACK_DELAY, reservation: None }));
        }
        let due = delay.map_or(self.now, |delay| self.later_by(delay.wait));
        self.count_failure(abandoned);
        self.leave_in_flight(slot);
        let rerun = self.rerun_causes.take(&mut self.entries, slot);
        let why: fn(u16) -> Cause = if abandoned { cause::abandoned } else { cause::retry };
        let entry = &mut self.entries[slot];
        entry.attempts = attempts;
        entry.keep_level();
        entry.merge_cause(Some(why(attempts)));
        if let Some(rerun) = rerun {
            for (cause, count) in rerun.iter() {
                entry.marks.merge(&mut entry.why, cause, count);
            }
        }
        let overtaken = entry.due < due;
        entry.merge_due(due);
        let wait = entry.due.saturating_sub(self.now);
        entry.reservation = Reservation::to_bits(delay.and_then(|delay| delay.reservation));
        // An add set an earlier time: the token was not needed.
        if overtaken {
            self.refund(slot);
        }
        self.requeue(slot);
        self.settle();
        let retried = if wait == 0 { Retried::AtOnce } else { Retried::After(Duration::from_micros(wait)) };
        FailureOutcome { retried, dead: None, ended: None, panicked }
    }

    /// Ends a run that failed for the last time. If its key was added meanwhile, it starts without
    /// failures.
    fn dead_letter(&mut self, slot: u32, abandoned: bool) -> Option<K> {
        self.count_failure(abandoned);
        self.stats.dead_letters += 1;
        self.leave_in_flight(slot);
        let ended = self.finish(slot);
        self.settle();
        ended
    }

    /// Removes the entry of a completed run, unless its key was added meanwhile.
    #[inline]
    fn finish(&mut self, slot: u32) -> Option<K> {
        if self.entries[slot].due == NEVER {
            return self.end(slot);
        }
        self.entries[slot].attempts = 0;
        self.start_next_causes(slot);
        self.requeue(slot);
        None
    }

    /// Queues an entry that has just left the in-flight list, by its `due`.
    fn requeue(&mut self, slot: u32) {
        let entry = &mut self.entries[slot];
        entry.level = entry.rerun_level;
        self.schedule(slot);
    }

    fn count_failure(&mut self, abandoned: bool) {
        self.stats.retries += 1;
        self.stats.abandoned += u64::from(abandoned);
    }

    /// Replaces the causes of the completed run by those of the next one.
    fn start_next_causes(&mut self, slot: u32) {
        match self.rerun_causes.take(&mut self.entries, slot) {
            Some(rerun) => {
                let entry = &mut self.entries[slot];
                (entry.why, entry.marks) = (rerun.items, rerun.marks);
            }
            None => self.entries[slot].marks = Marks::NONE,
        }
    }

    /// Removes an entry from the in-flight list, or from the held ones.
    #[inline]
    fn leave_in_flight(&mut self, slot: u32) {
        let since = self.entries[slot].since;
        if self.entries[slot].state == State::Held {
            self.held_len -= 1;
            self.stats.was_held.record(self.now.saturating_sub(since));
            return;
        }
        self.in_flight.unlink(&mut self.entries, slot);
        self.in_flight_len -= 1;
        self.in_flight_since -= u128::from(since);
        self.stats.worked.record(self.now.saturating_sub(since));
    }
}

/// Returns the result of the user's code, or its panic.
fn catch_panic<T>(code: impl FnOnce() -> T) -> (Option<T>, Option<Box<dyn Any + Send>>) {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(given) => (Some(given), None),
        Err(panic) => (None, Some(panic)),
    }
}

impl<K> Entry<K> {
    /// Gives the next run at least the priority of this one.
    fn keep_level(&mut self) {
        self.rerun_level = self.rerun_level.max(self.level);
    }
}
